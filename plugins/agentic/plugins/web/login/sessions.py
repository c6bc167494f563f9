"""Sessions in use: what pages change about a login is written down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import FetchError, HttpSession
from agentic.core.http.sessions.credentials import MIN_COOKIE_CHARS, learn_session
from agentic.core.masking import remember_secrets
from agentic.plugins.web.login.masking import secrets_of, without_secrets


@asynccontextmanager
async def used_session(ctx: ActorContext, name: str | None) -> AsyncIterator[HttpSession | None]:
    """Give the session of that name; at the end keep its cookies, if they are others by then.

    Errors of what is done with it tell none of its secrets.

    Raises:
        ActorError: There is none (``auth_required``).
    """
    session = await ctx.session(name)
    if session is not None:
        learn_session(session)
        remember_secrets(*(held for held in secrets_of(session) if len(held) >= MIN_COOKIE_CHARS))
    before = None if session is None else session.cookies.to_data()
    try:
        yield session
    except (ActorError, FetchError) as exc:
        # A site may send us on to an address that has in it what we sent.
        raise exc if session is None else without_secrets(exc, secrets_of(session)) from None
    if session is not None and session.cookies.to_data() != before:
        await ctx.sessions.keep(session)
