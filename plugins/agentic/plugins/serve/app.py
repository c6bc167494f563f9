"""The application behind the checks: its own routes, then the applications of plugins."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.routing import Mount as MountedRoute
from starlette.types import ASGIApp

from agentic.core.agents.errors import TaskFailedError
from agentic.core.errors import AgenticError, text_of
from agentic.executors.serving.answers import JsonAnswer
from agentic.executors.serving.mounts import Mount
from agentic.executors.serving.problems import code_of, problem, problem_of
from agentic.executors.serving.project import ServedProject
from agentic.plugins.serve.api.agents import agent_endpoints
from agentic.plugins.serve.api.endpoints import Endpoint
from agentic.plugins.serve.api.executions import execution_endpoints
from agentic.plugins.serve.api.runs import run_endpoints
from agentic.plugins.serve.chat_runs import ChatRuns, status_of_failure
from agentic.plugins.serve.openai_api import openai_routes
from agentic.plugins.serve.openapi import openapi_document

OWN_NAMES = frozenset({"api", "v1", "health", "openapi.json"})
"""Paths of this server; no application of a plugin can have them."""


def make_app(project: ServedProject, mounts: Sequence[Mount] = ()) -> ASGIApp:
    """Return the application of a project; put :class:`~agentic.executors.serving.Guarded` around it.

    Args:
        project: The project to show.
        mounts: Applications of plugins, which have been started.
    """
    chats = ChatRuns(project)
    endpoints = endpoints_of(chats)
    document = openapi_document(project.name, project.url, endpoints)
    running = [mount for mount in mounts if mount.app is not None and mount.name not in OWN_NAMES]

    async def index(request: Request) -> Response:
        del request
        names = {mount.name: f"/{mount.name}" for mount in running}
        return JsonAnswer({"project": project.name, "openapi": "/openapi.json", "applications": names})

    async def openapi(request: Request) -> Response:
        del request
        return JsonAnswer(document)

    routes: list[BaseRoute] = [
        Route("/", index, methods=["GET"]),
        Route("/health/live", _live, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
        *(Route(one.path, one.handler(project), methods=[one.method]) for one in endpoints),
        *openai_routes(project, chats),
    ]
    routes += [MountedRoute(f"/{mount.name}", app=mount.app) for mount in running]
    handlers = {HTTPException: _refused, AgenticError: _failed}
    return Starlette(routes=routes, exception_handlers=handlers)


def endpoints_of(chats: ChatRuns) -> Sequence[Endpoint]:
    """Return all endpoints of the API."""
    return [*agent_endpoints(chats), *execution_endpoints(), *run_endpoints()]


async def _live(request: Request) -> Response:
    del request
    return JsonAnswer({"status": "ok"})


async def _refused(request: Request, exc: Exception) -> Response:
    if not isinstance(exc, HTTPException):
        raise exc
    words = {404: "nothing is at this path; see /openapi.json", 405: f"{request.method} is not possible here"}
    return problem(exc.status_code, words.get(exc.status_code, exc.detail), headers=dict(exc.headers or {}))


async def _failed(request: Request, exc: Exception) -> Response:
    del request
    if isinstance(exc, TaskFailedError):
        return problem(status_of_failure(exc), text_of(exc), code=code_of(exc))
    if not isinstance(exc, AgenticError):
        raise exc
    return problem_of(exc)
