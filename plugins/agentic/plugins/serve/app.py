"""The application behind the checks: its own routes, then the applications of plugins."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.routing import Mount as MountedRoute
from starlette.types import ASGIApp

from agentic.core.errors import AgenticError
from agentic.executors.serving.mounts import Mount
from agentic.executors.serving.problems import problem, problem_of
from agentic.executors.serving.project import ServedProject


def make_app(project: ServedProject, mounts: Sequence[Mount] = ()) -> ASGIApp:
    """Return the application of a project; put :class:`~agentic.executors.serving.Guarded` around it.

    Args:
        project: The project to show.
        mounts: Applications of plugins, which have been started.
    """

    async def index(request: Request) -> Response:
        del request
        served = {mount.name: "failed" if mount.error else f"/{mount.name}" for mount in mounts}
        return JSONResponse({"project": project.name, "applications": served})

    routes: list[BaseRoute] = [
        Route("/", index, methods=["GET"]),
        Route("/health/live", _live, methods=["GET"]),
    ]
    routes += [MountedRoute(f"/{mount.name}", app=mount.app) for mount in mounts if mount.app is not None]
    handlers = {HTTPException: _refused, AgenticError: _failed}
    return Starlette(routes=routes, exception_handlers=handlers)


async def _live(request: Request) -> Response:
    del request
    return JSONResponse({"status": "ok"})


async def _refused(request: Request, exc: Exception) -> Response:
    if not isinstance(exc, HTTPException):
        raise exc
    words = {404: f"nothing is at {request.url.path}", 405: f"{request.method} is not possible here"}
    return problem(exc.status_code, words.get(exc.status_code, exc.detail), headers=dict(exc.headers or {}))


async def _failed(request: Request, exc: Exception) -> Response:
    del request
    if not isinstance(exc, AgenticError):
        raise exc
    return problem_of(exc)
