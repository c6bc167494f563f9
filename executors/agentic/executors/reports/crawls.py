"""Reads a crawl's frontier: counts, failures, hosts, tries. The database does the counting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, String, case, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from agentic.executors.reports.facts import (
    FailureExample,
    FailureFacts,
    HostFacts,
    PageCounts,
    StrategyFacts,
    StrategyReport,
    TriedPage,
)
from agentic.executors.reports.masking import Shown
from agentic.mappers import ExecutionModel, FrontierModel, FrontierState
from agentic.mappers.tables.core import CrawlModel

EXAMPLES = 3
HOSTS = 20
TRIED_PAGES = 20
MOST_TRIES = 20_000
"""Maximum number of pages with several attempts to analyse."""


class UrlHost(FunctionElement[str]):
    """The host of a canonical address, with its port, as SQL."""

    type = String()
    inherit_cache = True


@compiles(UrlHost, "sqlite")
def _host_sqlite(element: UrlHost, compiler: SQLCompiler, **kw: object) -> str:
    url = compiler.process(element.clauses, **kw)
    rest = f"substr({url}, instr({url}, '://') + 3)"
    return f"substr({rest}, 1, instr({rest} || '/', '/') - 1)"


@compiles(UrlHost)
def _host(element: UrlHost, compiler: SQLCompiler, **kw: object) -> str:
    return f"split_part(split_part({compiler.process(element.clauses, **kw)}, '://', 2), '/', 1)"


@dataclass(frozen=True, slots=True)
class CrawlReader:
    """Reads the frontier of an execution's crawl.

    Attributes:
        session: Sees one state of the database.
        execution: The crawl's execution.
        shown: Masks secrets.
    """

    session: Session
    execution: ExecutionModel
    shown: Shown

    def counts(self) -> PageCounts | None:
        """Return how many pages there are; None if there is no crawl."""
        crawl = self.session.get(CrawlModel, (self.execution.project_id, self.execution.id))
        if crawl is None:
            return None
        return PageCounts(
            known=crawl.total,
            done=crawl.done,
            failed=crawl.failed,
            excluded=crawl.excluded,
            reread=crawl.reread,
            unstored=crawl.unstored,
        )

    def failures(self) -> list[FailureFacts]:
        """Return the classes of failed pages, the most frequent first, with the first pages of each."""
        word = FrontierModel.failure_class
        counted = self.session.execute(
            select(word, func.count()).where(*self._failed).group_by(word).order_by(func.count().desc(), word)
        )
        examples = self._examples()
        return [
            FailureFacts(failure_class=name or "error", count=count, examples=tuple(examples.get(name, ())))
            for name, count in counted
        ]

    def hosts(self) -> tuple[list[HostFacts], int]:
        """Return the hosts with the most pages, and how many hosts there are."""
        host, known = UrlHost(FrontierModel.url), func.count()
        done, failed = (
            func.sum(case((FrontierModel.state == state, 1), else_=0))
            for state in (FrontierState.DONE, FrontierState.FAILED)
        )
        grouped = (
            select(host.label("host"), known.label("known"), done.label("done"), failed.label("failed"))
            .where(*self._own)
            .group_by(host)
            .subquery()
        )
        query = select(grouped, func.count().over().label("hosts"))
        rows = self.session.execute(query.order_by(grouped.c.known.desc(), grouped.c.host).limit(HOSTS)).all()
        found = [
            HostFacts(host=row.host, done=row.done, failed=row.failed, left=row.known - row.done - row.failed)
            for row in rows
        ]
        return found, rows[0].hosts if rows else 0

    def strategies(self) -> StrategyReport:
        """Return the reactions to failures of pages that took more than one try."""
        columns = FrontierModel.url, FrontierModel.state, FrontierModel.tries
        tried = (*self._own, FrontierModel.tries.is_not(None))
        count = self.session.scalar(select(func.count()).where(*tried)) or 0
        if not count:
            return StrategyReport()
        query = select(*columns).where(*tried).order_by(FrontierModel.id).limit(MOST_TRIES)
        tally = _Tally(self.shown)
        for url, state, tries in self.session.execute(query).yield_per(1_000):
            tally.add(url, is_done=state is FrontierState.DONE, tries=_mappings(tries))
        return tally.report(count)

    def _examples(self) -> Mapping[str | None, Sequence[FailureExample]]:
        place = func.row_number().over(partition_by=FrontierModel.failure_class, order_by=FrontierModel.id)
        columns = FrontierModel.failure_class, FrontierModel.url, FrontierModel.message
        ranked = select(*columns, place.label("place")).where(*self._failed).subquery()
        found: dict[str | None, list[FailureExample]] = {}
        for name, url, message, _ in self.session.execute(
            select(ranked).where(ranked.c.place <= EXAMPLES).order_by(ranked.c.place)
        ):
            said = FailureExample(subject=self.shown.text(url), message=self.shown.text(message or ""))
            found.setdefault(name, []).append(said)
        return found

    @property
    def _own(self) -> tuple[ColumnElement[bool], ...]:
        of_project = FrontierModel.project_id == self.execution.project_id
        return (of_project, FrontierModel.run == self.execution.id)

    @property
    def _failed(self) -> tuple[ColumnElement[bool], ...]:
        return (*self._own, FrontierModel.state == FrontierState.FAILED)


class _Tally:
    """Counts the reactions to failures, page by page."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._pages_of: Counter[tuple[str, str, str]] = Counter()
        self._recovered: Counter[tuple[str, str, str]] = Counter()
        self._pages: list[TriedPage] = []
        self._count = 0
        self._done_count = 0

    def add(self, url: str, *, is_done: bool, tries: Sequence[Mapping[str, object]]) -> None:
        """Add a page."""
        self._count += 1
        self._done_count += is_done
        failed = [one for one in tries if one.get("failure_class")]
        kinds = [(str(one["failure_class"]), str(one.get("action", "")), _next(one)) for one in failed]
        self._pages_of.update(set(kinds))
        if is_done:
            self._recovered.update(set(kinds))
        if len(self._pages) < TRIED_PAGES:
            tried = TriedPage(url=self._shown.text(url), tries=tuple(map(_told, tries)), is_done=is_done)
            self._pages.append(tried)

    def report(self, page_count: int) -> StrategyReport:
        """Return the report of all added pages."""
        kinds = [
            StrategyFacts(
                failure_class=kind[0],
                action=kind[1],
                next=kind[2],
                count=count,
                recovered=self._recovered[kind],
            )
            for kind, count in sorted(self._pages_of.items(), key=lambda item: (-item[1], item[0]))
        ]
        return StrategyReport(
            page_count=page_count,
            looked_at=self._count,
            recovered=self._done_count,
            kinds=tuple(kinds),
            pages=tuple(self._pages),
        )


def _next(attempt: Mapping[str, object]) -> str:
    """Return the next actor or step; there was none if the page failed."""
    if attempt.get("action") == "give_up":
        return ""
    return str(attempt.get("next") or attempt.get("actor") or "")


def _told(attempt: Mapping[str, object]) -> str:
    """Return a try as text: ``fetch: timeout``."""
    return f"{attempt.get('actor', '')}: {attempt.get('failure_class') or 'ok'}"


def _mappings(tries: object) -> list[Mapping[str, object]]:
    return [one for one in tries if isinstance(one, Mapping)] if isinstance(tries, Iterable) else []
