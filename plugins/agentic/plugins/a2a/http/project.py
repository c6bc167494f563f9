"""The agents of a served project over A2A, at ``/a2a/AGENT``: for ``agentic serve``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agentic.core.errors import AgenticError
from agentic.core.threads import in_thread
from agentic.executors.agents.talking import can_talk
from agentic.executors.serving.problems import problem_of
from agentic.executors.serving.project import ServedProject
from agentic.mappers import list_agents
from agentic.plugins.a2a.http.app import agent_routes
from agentic.plugins.a2a.serving.service import AgentService
from agentic.plugins.a2a.tasks.log import BUCKET, KEPT_S, TaskLog

SWEEP_S = 5.0
MAX_AGENTS = 64
"""Agents that this server works for at a time; the one asked longest ago leaves its tasks to others."""


def project_app(project: ServedProject) -> ASGIApp:
    """Return the application of a project, for the hook ``agentic_http``."""
    agents = ProjectAgents(project)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        await agents.continue_tasks()
        try:
            yield
        finally:
            await agents.aclose()

    routes = [Route("/", agents.names, methods=["GET"]), Mount("/{agent}", app=agents.answer)]
    return Starlette(routes=routes, lifespan=lifespan)


@dataclass(slots=True)
class _Served:
    service: AgentService
    app: ASGIApp
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)


class ProjectAgents:
    """The agents of a project that take messages. Their turns are durable runs.

    Args:
        project: The project.
    """

    def __init__(self, project: ServedProject) -> None:
        self._project = project
        self._served: dict[str, _Served] = {}
        self._opening = asyncio.Lock()

    async def names(self, request: Request) -> Response:
        """Answer with the addresses of all agents."""
        del request
        names = await in_thread(self._names)
        return JSONResponse({"agents": {name: self._url(name) for name in names}})

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request to one agent."""
        try:
            served = await self._find(scope["path_params"]["agent"])
        except AgenticError as exc:
            await problem_of(exc)(scope, receive, send)
            return
        await served.app(scope, receive, send)

    async def continue_tasks(self) -> None:
        """Work on the tasks that another server has left."""
        bucket = self._project.bus.bucket(BUCKET, project=self._project.name, ttl_s=KEPT_S)
        for name in (await in_thread(self._names))[:MAX_AGENTS]:
            if await TaskLog(bucket, name).open_tasks():
                await self._find(name)

    async def aclose(self) -> None:
        """Leave all tasks to other servers."""
        for served in list(self._served.values()):
            await served.stack.aclose()
        self._served.clear()

    async def _find(self, name: str) -> _Served:
        """Return an agent of the current row.

        Raises:
            UnknownAgentError: The project has no such agent.
            NotTalkingError: It takes no messages.
            AgentConfigError: Its config cannot be used.
        """
        agent = await self._project.agents.get(name)
        async with self._opening:
            known = self._served.pop(name, None)
            if known is not None and known.service.agent is not agent:
                await known.stack.aclose()
                known = None
            if known is None:
                service = AgentService(
                    agent, self._project.bus, name=name, project=self._project.name, sweep_s=SWEEP_S
                )
                known = _Served(service, Starlette(routes=agent_routes(service, self._url(name))))
                await known.stack.enter_async_context(service.running())
            self._served[name] = known  # the newest comes last
            while len(self._served) > MAX_AGENTS:
                await self._served.pop(next(iter(self._served))).stack.aclose()
        return known

    def _names(self) -> list[str]:
        with self._project.database.reading() as session:
            rows = list_agents(session, self._project.id)
            return [row.agent_name for row in rows if can_talk(row)]

    def _url(self, name: str) -> str:
        return f"{self._project.url}/a2a/{name}"
