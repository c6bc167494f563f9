"""What is kept of a login besides its session: how it was made, how long it lasts, how it is renewed.

It is kept as a session, too, as that is encrypted, under a name no session of a user has; it has no hosts,
and so is never sent.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Secret, SecretStr, ValidationError

from agentic.core.actors import SessionStore
from agentic.core.http import HttpSession
from agentic.core.types import JSONValue
from agentic.plugins.web.login.logins import Login

MARGIN = timedelta(seconds=30)
"""A login is renewed this long before its end, so that it lasts for the work that starts with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeLogin:
    """A login that was made just now.

    Attributes:
        session: What to send from now on.
        expires_at: When it ends; None if nobody says.
        refresh_token: What the next one is made with, if that changed.
    """

    session: HttpSession
    expires_at: datetime | None = None
    refresh_token: SecretStr | None = None


class KeptLogin(BaseModel):
    """How a kept session was made."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    version: Literal[1] = 1
    strategy: str
    made_of: str
    expires_at: datetime | None = None
    refresh_token: SecretStr | None = None

    def is_good(self, login: Login, now: datetime) -> bool:
        """Whether it was made of ``login`` and lasts a while."""
        lasts = self.expires_at is None or now + MARGIN < self.expires_at
        return lasts and self.made_of == digest_of(login)


async def load_kept(sessions: SessionStore, name: str) -> KeptLogin | None:
    """Return how the session of that name was made; None if nobody knows."""
    found = await sessions.load(_beside(name))
    try:
        return None if found is None else KeptLogin.model_validate(found.storage)
    except ValidationError:  # of another version
        return None


async def keep_login(sessions: SessionStore, login: Login, made: MadeLogin) -> KeptLogin:
    """Write down a login and return what is known of it from now on."""
    kept = KeptLogin(
        strategy=login.strategy,
        made_of=digest_of(login),
        expires_at=made.expires_at,
        refresh_token=made.refresh_token,
    )
    # First what the next login needs: a refresh token may be good for one use only.
    storage = cast(JSONValue, json.loads(json.dumps(kept.model_dump(mode="python"), default=_revealed)))
    await sessions.keep(HttpSession(name=_beside(made.session.name), storage=storage))
    await sessions.keep(made.session)
    return kept


def digest_of(login: Login) -> str:
    """Return a digest of all there is to a login: another password gives another one."""
    text = json.dumps(login.model_dump(mode="python"), default=_revealed, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _beside(name: str) -> str:
    return f"{name}/login"


def _revealed(value: object) -> object:
    match value:
        case SecretStr() | Secret():
            revealed: object = value.get_secret_value()
            return revealed
        case datetime():
            return value.isoformat()
        case _:
            raise TypeError(f"a {type(value).__name__} cannot be part of a login")
