"""Answers of sites in SQL, for all workers of a project."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import ParamSpec, TypeVar

from sqlalchemy import delete
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from agentic.core.http import CachedAnswer, CacheUnavailableError
from agentic.core.masking import mask_known
from agentic.mappers.content import clean_text
from agentic.mappers.database.database import Database
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.errors import DataError
from agentic.mappers.tables.http_cache import HttpCacheModel

P = ParamSpec("P")
R = TypeVar("R")

KEPT_S = 30 * 86_400.0
"""How long an unused answer is stored."""

SWEEP_EVERY = 500  # stored answers between two removals of old ones


class SqlHttpCache:
    """Implements :class:`agentic.core.http.HttpCache`, shared by all users of a project.

    Args:
        database: Migrated.
        project_id: Owns the answers.
        kept_s: Seconds after which an answer is removed if no site confirmed it meanwhile.
    """

    def __init__(self, database: Database, *, project_id: str, kept_s: float = KEPT_S) -> None:
        self._database = database
        self._project_id = project_id
        self._kept_s = kept_s
        self._writes = count()

    async def load(self, key: str) -> CachedAnswer | None:
        """See :meth:`HttpCache.load`."""
        return await self._in_thread(self._load, key)

    async def keep(self, key: str, answer: CachedAnswer) -> None:
        """See :meth:`HttpCache.keep`. An answer whose address contains a secret is not stored."""
        if mask_known(answer.url) != answer.url:
            return
        await self._in_thread(self._keep, key, answer)

    def _load(self, key: str) -> CachedAnswer | None:
        with self._database.reading() as session:
            row = session.get(HttpCacheModel, (self._project_id, key))
            if row is None:
                return None
            headers = tuple((name, value) for name, value in row.headers)
            return CachedAnswer(url=row.url, headers=headers, packed=row.packed, kept_at=row.kept_at)

    def _keep(self, key: str, answer: CachedAnswer) -> None:
        values = {
            "kept_at": answer.kept_at,
            "url": clean_text(answer.url),
            "headers": [[name, clean_text(value)] for name, value in answer.headers],
            "packed": answer.packed,
        }
        with self._database.writing() as session:
            is_postgresql = session.get_bind().dialect.name == "postgresql"
            new = insert_into(HttpCacheModel, is_postgresql=is_postgresql)
            row = new.values(project_id=self._project_id, key=key, **values)
            session.execute(row.on_conflict_do_update(index_elements=["project_id", "key"], set_=values))
            if next(self._writes) % SWEEP_EVERY == 0:
                self._sweep(session, answer.kept_at - self._kept_s)

    def _sweep(self, session: Session, before: float) -> None:
        session.execute(
            delete(HttpCacheModel)
            .where(HttpCacheModel.project_id == self._project_id, HttpCacheModel.kept_at < before)
            .execution_options(synchronize_session=False)
        )

    async def _in_thread(self, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await asyncio.to_thread(call, *args, **kwargs)
        except (DBAPIError, DataError) as exc:
            reason = f"the cached answers cannot be reached ({type(exc).__name__}); run `agentic doctor`"
            raise CacheUnavailableError(reason) from exc
