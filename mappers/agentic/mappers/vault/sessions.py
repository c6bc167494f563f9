"""The sessions of a project with sites, encrypted."""

from __future__ import annotations

import asyncio
import json

from pydantic import BaseModel, ConfigDict, SecretStr

from agentic.core.http import CookieJar, HttpSession
from agentic.core.ids import new_id
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue
from agentic.mappers.database.database import Database
from agentic.mappers.tables.columns import utc_now
from agentic.mappers.tables.vault import SessionModel
from agentic.mappers.vault.errors import UnreadableSecretError
from agentic.mappers.vault.keys import Label, SecretKeys
from agentic.mappers.vault.rows import put_row


class _Stored(BaseModel):
    """A session as it is encrypted."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    version: int = 1
    hosts: tuple[str, ...]
    headers: dict[str, str]
    cookies: list[JSONValue]
    storage: JSONValue


class SqlSessions:
    """The sessions of one project. Implements :class:`agentic.core.actors.SessionStore`.

    All users of a session in one process share the object and its cookies, until another process writes it;
    the later write wins. For one event loop.

    Args:
        database: Migrated.
        project_id: Owns the sessions.
        keys: For encryption.
    """

    def __init__(self, database: Database, project_id: str, keys: SecretKeys) -> None:
        self._database = database
        self._project_id = project_id
        self._keys = keys
        self._live: dict[str, tuple[str, HttpSession]] = {}
        self._turn = asyncio.Lock()

    async def load(self, name: str) -> HttpSession | None:
        """Return the session with that name, or None.

        Raises:
            NoSecretKeyError: It exists, but no key does.
            UnreadableSecretError: It exists, but no key fits.
        """
        async with self._turn:
            row = await in_thread(self._read, name)
            if row is None:
                self._live.pop(name, None)
                return None
            revision, session = self._live.get(name, (None, None))
            if session is None or revision != row.revision:
                session = self._opened(row)
                self._live[name] = row.revision, session
            return session

    async def keep(self, session: HttpSession) -> None:
        """Store a session under its name; replace an earlier one.

        Raises:
            NoSecretKeyError: The key to encrypt with is missing.
        """
        async with self._turn:
            self._live[session.name] = await in_thread(self._write, session), session

    def _read(self, name: str) -> SessionModel | None:
        with self._database.reading() as session:
            return session.get(SessionModel, (self._project_id, name))

    def _write(self, kept: HttpSession) -> str:
        """Store a session and return its revision."""
        now, revision = utc_now(), new_id()
        row = {
            "project_id": self._project_id,
            "name": kept.name,
            "revision": revision,
            "created_at": now,
            "updated_at": now,
            "sealed": self._keys.seal(self._label(kept.name), _text_of(kept)),
        }
        with self._database.writing() as session:
            put_row(session, SessionModel, row, keep=["created_at"])
        return revision

    def _opened(self, row: SessionModel) -> HttpSession:
        text = self._keys.open(self._label(row.name), row.sealed)
        try:
            stored = _Stored.model_validate_json(text)
            return HttpSession(
                name=row.name,
                hosts=frozenset(stored.hosts),
                headers={name: SecretStr(value) for name, value in stored.headers.items()},
                cookies=CookieJar.from_data(stored.cookies),
                storage=stored.storage,
            )
        except ValueError:  # of another version; its message might quote the content
            raise UnreadableSecretError("session", row.name) from None

    def _label(self, name: str) -> Label:
        return Label(project_id=self._project_id, kind="session", name=name)


def _text_of(session: HttpSession) -> str:
    stored = _Stored(
        hosts=tuple(sorted(session.hosts)),
        headers={name: value.get_secret_value() for name, value in session.headers.items()},
        cookies=session.cookies.to_data(),
        storage=session.storage,
    )
    return json.dumps(stored.model_dump())
