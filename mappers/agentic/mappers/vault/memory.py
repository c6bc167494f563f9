"""Small values that actors of a project remember from run to run."""

from __future__ import annotations

import json
from typing import cast

from agentic.core.threads import in_thread
from agentic.core.types import JSONValue
from agentic.mappers.content import clean_text
from agentic.mappers.database.database import Database
from agentic.mappers.tables.columns import utc_now
from agentic.mappers.tables.vault import ActorMemoryModel
from agentic.mappers.vault.rows import put_row


class SqlMemory:
    """The memory of one project. Implements :class:`agentic.core.actors.Memory`.

    Args:
        database: Migrated.
        project_id: Owns the memory.
    """

    def __init__(self, database: Database, project_id: str) -> None:
        self._database = database
        self._project_id = project_id

    async def get(self, key: str) -> JSONValue:
        """Return the value of ``key``, or None."""
        return await in_thread(self._get, clean_text(key))

    async def put(self, key: str, value: JSONValue) -> None:
        """Remember ``value``; None forgets it.

        Raises:
            ValueError: It contains a number that is not JSON: NaN or infinity.
        """
        text = None if value is None else json.dumps(value, allow_nan=False)
        await in_thread(self._put, clean_text(key), text)

    def _get(self, key: str) -> JSONValue:
        with self._database.reading() as session:
            row = session.get(ActorMemoryModel, (self._project_id, key))
        return None if row is None else cast(JSONValue, json.loads(row.value))

    def _put(self, key: str, text: str | None) -> None:
        with self._database.writing() as session:
            if text is not None:
                row = {"project_id": self._project_id, "key": key, "updated_at": utc_now(), "value": text}
                put_row(session, ActorMemoryModel, row)
            elif (known := session.get(ActorMemoryModel, (self._project_id, key))) is not None:
                session.delete(known)
