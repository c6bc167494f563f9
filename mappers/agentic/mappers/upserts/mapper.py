"""Results to rows: the shared base of all platform mappers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError
from sqlalchemy import inspect, select
from sqlalchemy.orm import Session

from agentic.core.hooks import get_registry
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue, SaveCounts
from agentic.mappers.content import clean
from agentic.mappers.notifications.row_watch import RowWatch, WatchingRule, watching_rules
from agentic.mappers.tables.core import AgentModel, AgentResultModel, SourceColumns
from agentic.mappers.upserts.snapshots import Counters
from agentic.mappers.upserts.target import Row
from agentic.mappers.upserts.upsert import upsert

log = get_logger(__name__)

EntryT = TypeVar("EntryT", bound=BaseModel)


class ResultMapper(ABC):
    """Stores the results of one execution of one agent.

    A platform subclasses it, and in ``save_results`` stores the general result, then its own rows::

        def save_results(self, results):
            if not self.save_agent_result(results):
                return False
            self.save_rows(StoryModel, ({"id": s["id"], "title": s["title"]} for s in results["stories"]))
            return True

    It may call ``self.db_session.commit()`` or ``rollback()``; inside an execution these affect only its own
    writes (:meth:`Database.joined`). Its rows belong to the agent's project only.

    Attributes:
        counts: Rows so far.
        warnings: A sentence for each rejected row and each removed value so far.
    """

    def __init__(self, session: Session, execution_id: str, agent: AgentModel) -> None:
        self.db_session = session
        self.execution_id = execution_id
        self.agent = agent
        self.counts = SaveCounts()
        self.warnings: list[str] = []
        self._watching: list[WatchingRule] | None = None

    @abstractmethod
    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store all of ``results``; return False if they report a failure.

        A second call with the same results leaves the same rows.
        """

    def save_agent_result(self, results: Mapping[str, object]) -> bool:
        """Store a summary of ``results`` as the one general result of this execution.

        Returns:
            False if ``results`` contain an ``error``: it is stored, and nothing else needs storing.
        """
        summary, removed = summarise(results)
        for sentence in removed:
            self.warn(f"the result: {sentence}")
        known = self.db_session.scalar(
            select(AgentResultModel).where(
                AgentResultModel.project_id == self.agent.project_id,
                AgentResultModel.execution_id == self.execution_id,
            )
        )
        if known is None:
            known = AgentResultModel(
                project_id=self.agent.project_id, agent_id=self.agent.id, execution_id=self.execution_id
            )
            self.db_session.add(known)
        known.summary = summary
        self.db_session.flush()
        return not results.get("error")

    def save_rows(
        self,
        model: type[SourceColumns],
        rows: Iterable[Row],
        *,
        key: Sequence[str] = (),
        volatile: Sequence[str] = (),
        counters: Mapping[str, str] | None = None,
    ) -> SaveCounts:
        """Upsert ``rows`` as rows of this project, and add to ``counts`` and ``warnings``.

        Pass all rows of a table at once: then all writers on PostgreSQL lock rows in one order.

        Args:
            model: The platform's mapped class.
            rows: Column name -> value; project, agent and execution are filled in here.
            key: Columns of the natural key; by default the primary key.
            volatile: Columns whose change alone does not count, as in :func:`upsert`.
            counters: Numbers to record in ``metric_snapshots``: name there -> column of the table, such as
                ``{"score": "points", "comments": "replies"}``.
        """
        owner = {
            "project_id": self.agent.project_id,
            "agent_id": self.agent.id,
            "execution_id": self.execution_id,
        }
        watch = self._row_watch(model)
        counts = upsert(
            self.db_session,
            model,
            ({**row, **owner} for row in rows),
            key=key or [column.key for column in inspect(model).primary_key],
            volatile=volatile,
            counters=Counters(self.agent.agent_platform, counters) if counters else None,
            warn=self.warn,
            watch=watch,
        )
        if watch is not None:
            watch.write(self.db_session, self.agent.project_id, self.execution_id, self.warn)
        self.counts += counts
        return counts

    def _row_watch(self, model: type[SourceColumns]) -> RowWatch | None:
        """Return what notes rows for notifications; None if no rule waits for them."""
        if self._watching is None:
            self._watching = watching_rules(self.db_session, self.agent.project_id, self.agent.id)
        return RowWatch(self._watching, str(inspect(model).local_table)) if self._watching else None

    def accepted(self, model: type[EntryT], entries: Iterable[object], noun: str) -> Iterator[EntryT]:
        """Yield each entry as ``model``; reject others with a warning.

        Args:
            model: Required type of an entry.
            entries: As received.
            noun: Name of an entry in the warning: ``"story"``.
        """
        for index, entry in enumerate(entries):
            try:
                yield model.model_validate(entry)
            except ValidationError as exc:
                fault = exc.errors(include_url=False, include_input=False)[0]
                place = ".".join(map(str, fault["loc"]))
                self.warn(f"{noun} {index} was rejected: {place}: {fault['msg']}")
                self.counts = replace(self.counts, rejected=self.counts.rejected + 1)

    def warn(self, sentence: str) -> None:
        """Record a problem with a part of the results, and continue."""
        # No higher level: it is stored with the execution, and shown wherever the execution is.
        log.info("result.warned", execution_id=self.execution_id, reason=sentence)
        self.warnings.append(sentence)


def get_result_mapper(platform: str, session: Session, execution_id: str, agent: AgentModel) -> ResultMapper:
    """Return the mapper of ``platform`` for one execution of ``agent``.

    Raises:
        UnknownPlatformError: No installed plugin provides that platform.
    """
    mapper = cast(type[ResultMapper], get_registry().platform(platform).mapper)
    return mapper(session, execution_id, agent)


MAX_LISTED = 20
MAX_TEXT = 2_000


def summarise(results: Mapping[str, object]) -> tuple[dict[str, JSONValue], list[str]]:
    """Return a summary of ``results``, and a sentence for each part that is not JSON.

    A list of up to 20 plain values stays; any other list becomes its length, under its name plus
    ``_count``, because its items are rows of the platform's tables. Text is cut after 2,000 characters.
    """
    plain, removed = clean(dict(results))
    return (_short_mapping(plain) if isinstance(plain, dict) else {}), removed


def _short_mapping(mapping: Mapping[str, JSONValue]) -> dict[str, JSONValue]:
    short: dict[str, JSONValue] = {}
    for name, value in mapping.items():
        if isinstance(value, list) and not _is_listable(value):
            short[f"{name}_count"] = len(value)
        else:
            short[name] = _short(value)
    return short


def _is_listable(values: list[JSONValue]) -> bool:
    return len(values) <= MAX_LISTED and not any(isinstance(value, dict | list) for value in values)


def _short(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return _short_mapping(value)
    if isinstance(value, list):
        return [_short(item) for item in value]
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]}…"
    return value
