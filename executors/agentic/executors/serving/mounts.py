"""The applications of plugins under one server, each with its own start and end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message

from agentic.core.errors import line_of
from agentic.core.hooks import PluginRegistry
from agentic.core.logging import get_logger
from agentic.core.masking import mask_known
from agentic.executors.serving.errors import ServeError
from agentic.executors.serving.project import ServedProject

log = get_logger(__name__)

START_S = 30.0
STOP_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """An application of a plugin.

    Attributes:
        name: It is at ``/{name}``.
        app: The application; None if it could not start.
        error: Why not.
    """

    name: str
    app: ASGIApp | None = None
    error: str = ""


@asynccontextmanager
async def mounted(project: ServedProject, registry: PluginRegistry) -> AsyncIterator[Sequence[Mount]]:
    """Start the applications of all plugins, and stop them at the end of the block.

    One that cannot start is logged and left out; the others work.

    Args:
        project: The project to show.
        registry: The plugins.
    """
    async with AsyncExitStack() as stack:
        mounts = [Mount(name=name, error=str(clash)) for name, clash in registry.http_apps.clashes.items()]
        for name, factory in registry.http_apps.items():
            try:
                app = factory(project)
                await stack.enter_async_context(lifespan(app, name))
                mounts.append(Mount(name=name, app=app))
            except Exception as exc:  # of a plugin
                error = mask_known(line_of(exc))
                log.warning("mount.failed", name=name, error=error)
                mounts.append(Mount(name=name, error=error))
        yield sorted(mounts, key=lambda mount: mount.name)


@asynccontextmanager
async def lifespan(app: ASGIApp, name: str) -> AsyncIterator[None]:
    """Start an application by ASGI's lifespan protocol, and stop it at the end of the block.

    It starts and stops in one task of its own, as libraries with cancel scopes need it. An application
    without the protocol is used as it is.

    Args:
        app: The application.
        name: For errors.

    Raises:
        ServeError: It refused to start.
    """
    said: asyncio.Queue[Message] = asyncio.Queue()
    heard: asyncio.Queue[Message] = asyncio.Queue()
    scope: dict[str, Any] = {
        "type": "lifespan",
        "asgi": {"version": "3.0", "spec_version": "2.0"},
        "state": {},
    }
    task = asyncio.create_task(_run(app, scope, said, heard), name=f"lifespan-{name}")
    try:
        said.put_nowait({"type": "lifespan.startup"})
        async with asyncio.timeout(START_S):
            started = await heard.get()
        if started["type"] == "lifespan.startup.failed":
            raise ServeError(
                f"the application {name!r} did not start: {started.get('message') or 'no reason'}"
            )
        yield
        said.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait([task], timeout=STOP_S)
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _run(
    app: ASGIApp, scope: Mapping[str, Any], said: asyncio.Queue[Message], heard: asyncio.Queue[Message]
) -> None:
    has_started = False

    async def send(message: Message) -> None:
        nonlocal has_started
        has_started = has_started or message["type"] == "lifespan.startup.complete"
        heard.put_nowait(message)

    try:
        await app(dict(scope), said.get, send)
    except Exception as exc:  # by the protocol: an application without it raises
        if has_started:
            log.warning("mount.ended", error=mask_known(line_of(exc)))
    heard.put_nowait({"type": "lifespan.startup.complete"})
