"""Sessions in use: what pages change about a login is written down."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentic.core.actors import ActorContext
from agentic.core.http import HttpSession


@asynccontextmanager
async def used_session(ctx: ActorContext, name: str | None) -> AsyncIterator[HttpSession | None]:
    """Give the session of that name; at the end keep its cookies, if they are others by then.

    Raises:
        ActorError: There is none (``auth_required``).
    """
    session = await ctx.session(name)
    before = None if session is None else session.cookies.to_data()
    yield session
    if session is not None and session.cookies.to_data() != before:
        await ctx.sessions.keep(session)
