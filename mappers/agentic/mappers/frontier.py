"""The frontier of a crawl in SQL: what to fetch, who fetches it, what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import ParamSpec, TypeVar

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session
from sqlalchemy.sql.elements import ColumnElement

from agentic.core.pipeline.crawl_store import (
    CrawlBatch,
    CrawledPage,
    FailedPage,
    FrontierCounts,
    FrontierEntry,
    FrontierLink,
)
from agentic.core.types import SaveCounts
from agentic.mappers.columns import StoreNow, new_id
from agentic.mappers.content import clean_text
from agentic.mappers.database import Database
from agentic.mappers.models import FrontierModel, FrontierState

P = ParamSpec("P")
R = TypeVar("R")
RowSink = Callable[[Session, Sequence[CrawledPage]], SaveCounts]

LEASE_S = 60.0
"""How long a page stays with the store that took it; twice what a slice of a crawl may take."""


class SqlCrawlStore:
    """The frontier of one crawl, shared by all stores with the same project and ``run``.

    Implements :class:`agentic.core.pipeline.crawl_store.CrawlStore`. Several processes may claim at once:
    each page is given to one of them, and again to another only after its lease ran out. When two fetched
    the same page all the same, the first commit counts; the later one stores nothing for that page.
    """

    def __init__(
        self, database: Database, *, project_id: str, run: str, save: RowSink, lease_s: float = LEASE_S
    ) -> None:
        """Remember where the crawl lives; nothing is read or written yet.

        Args:
            database: Migrated.
            project_id: Owns the crawl.
            run: Names the crawl within its project; a later store with the same name goes on with it.
            save: Stores the rows of the pages, in the transaction that marks them done.
            lease_s: After how many seconds another store may take what this one took and did not finish.
        """
        self._database = database
        self._project_id = project_id
        self._run = run
        self._save = save
        self._lease_s = lease_s
        self._holder = new_id()

    async def seed(self, urls: Sequence[FrontierLink]) -> int:
        """Add the pages not known yet, as new, and return how many those were."""
        return await _in_thread(self._seed, urls)

    async def claim(self, limit: int) -> Sequence[FrontierEntry]:
        """Take up to ``limit`` pages, in the order they were found.

        New ones, and ones another store took whose lease ran out. Empty: nothing to fetch at the moment.
        """
        return await _in_thread(self._claim, limit)

    async def commit(self, batch: CrawlBatch) -> SaveCounts:
        """Mark pages, add links and store rows in one transaction; return what the rows came to.

        A page another store has finished meanwhile is left as it is. One that failed there and was fetched
        here becomes done.
        """
        return await _in_thread(self._commit, batch)

    async def progress(self) -> FrontierCounts:
        """Return how many pages are in each state."""
        return await _in_thread(self._progress)

    def _seed(self, urls: Sequence[FrontierLink]) -> int:
        with self._database.writing() as session:
            self._take_turn(session)
            return self._add(session, urls)

    def _claim(self, limit: int) -> list[FrontierEntry]:
        with self._database.writing() as session:
            self._release_expired(session)
            # A CTE, as PostgreSQL may run a plain subquery with a limit more than once.
            oldest = (
                select(FrontierModel.id)
                .where(*self._mine(), FrontierModel.state == FrontierState.NEW)
                .order_by(FrontierModel.id)
                .limit(limit)
                .with_for_update(skip_locked=True)
                .cte("oldest")
            )
            taken = session.scalars(
                update(FrontierModel)
                .where(FrontierModel.id.in_(select(oldest.c.id)))
                .values(
                    state=FrontierState.TAKEN,
                    lease=StoreNow(self._lease_s),
                    holder=self._holder,
                    attempts=FrontierModel.attempts + 1,
                )
                .returning(FrontierModel)
                .execution_options(synchronize_session=False)
            ).all()
        return [
            FrontierEntry(url=page.url, url_key=page.url_key, depth=page.depth, attempts=page.attempts - 1)
            for page in sorted(taken, key=lambda page: page.id)
        ]

    def _release_expired(self, session: Session) -> None:
        expired = select(FrontierModel.id).where(
            *self._mine(),
            FrontierModel.state == FrontierState.TAKEN,
            FrontierModel.lease <= StoreNow(),
            FrontierModel.holder != self._holder,
        )
        session.execute(
            update(FrontierModel)
            .where(FrontierModel.id.in_(expired.with_for_update(skip_locked=True)))
            .values(state=FrontierState.NEW, lease=None, holder=None)
            .execution_options(synchronize_session=False)
        )

    def _commit(self, batch: CrawlBatch) -> SaveCounts:
        with self._database.joined() as session:
            self._take_turn(session)
            fresh = self._mark_done(session, batch.done)
            self._mark_failed(session, batch.failed)
            self._add(session, batch.links)
            session.commit()  # a row sink that rolls back must not undo the marks
            return self._save(session, fresh) if fresh else SaveCounts()

    def _progress(self) -> FrontierCounts:
        query = select(FrontierModel.state, func.count()).where(*self._mine()).group_by(FrontierModel.state)
        with self._database.reading() as session:
            return FrontierCounts(**{state.value: count for state, count in session.execute(query)})

    def _add(self, session: Session, links: Sequence[FrontierLink]) -> int:
        if not links:
            return 0
        new = (postgresql_insert if _is_postgresql(session) else sqlite_insert)(FrontierModel)
        rows = [
            {
                "project_id": self._project_id,
                "run": self._run,
                "url_key": link.url_key,
                "url": clean_text(link.url),
                "depth": link.depth,
            }
            for link in links
        ]
        unseen = new.on_conflict_do_nothing(index_elements=["project_id", "run", "url_key"])
        return len(session.scalars(unseen.returning(FrontierModel.id), rows).all())

    def _mark_done(self, session: Session, pages: Sequence[CrawledPage]) -> list[CrawledPage]:
        """Mark ``pages`` and return those that were not done before."""
        if not pages:
            return []
        marked = session.scalars(
            update(FrontierModel)
            .where(
                *self._mine(),
                FrontierModel.url_key.in_([page.url_key for page in pages]),
                # Not `in`: SQLite would then look at every open page instead of these.
                FrontierModel.state != FrontierState.DONE,
            )
            .values(state=FrontierState.DONE, lease=None, holder=None, failure_class=None, message=None)
            .returning(FrontierModel.url_key)
            .execution_options(synchronize_session=False)
        )
        fresh = set(marked)
        return [page for page in pages if page.url_key in fresh]

    def _mark_failed(self, session: Session, pages: Sequence[FailedPage]) -> None:
        for page in pages:
            session.execute(
                update(FrontierModel)
                .where(
                    *self._mine(),
                    FrontierModel.url_key == page.url_key,
                    FrontierModel.state.not_in([FrontierState.DONE, FrontierState.FAILED]),
                )
                .values(
                    state=FrontierState.FAILED,
                    lease=None,
                    holder=None,
                    failure_class=page.failure_class,
                    message=clean_text(page.message),
                )
                .execution_options(synchronize_session=False)
            )

    def _take_turn(self, session: Session) -> None:
        """Wait for others that add to this crawl: their links, in another order, would lock ours out.

        Who claims waits for nobody.
        """
        if _is_postgresql(session):
            name = f"{self._project_id}/{self._run}".encode()
            key = int.from_bytes(sha256(name).digest()[:8], signed=True)
            session.execute(select(func.pg_advisory_xact_lock(key)))

    def _mine(self) -> tuple[ColumnElement[bool], ...]:
        """Return the conditions for the pages of this crawl."""
        return FrontierModel.project_id == self._project_id, FrontierModel.run == self._run


def _is_postgresql(session: Session) -> bool:
    return session.get_bind().dialect.name == "postgresql"


async def _in_thread(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call in a thread; when cancelled meanwhile, the transaction ends before the cancellation goes on."""
    work = asyncio.ensure_future(asyncio.to_thread(call, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await work
        raise
