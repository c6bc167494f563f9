"""The resources of a project: the same facts as its tools, by URI."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from urllib.parse import unquote

from agentic.core.types import JSONValue
from agentic.plugins.mcp.serving.views import ProjectViews

SCHEME = "agentic://"
JSON = "application/json"

LISTED = {
    f"{SCHEME}project": ("project", "Names of the agents, pipelines and workflows"),
    f"{SCHEME}agents": ("agents", "Agents of the project"),
    f"{SCHEME}pipelines": ("pipelines", "Stored pipelines with their inputs"),
    f"{SCHEME}executions": ("executions", "Newest executions"),
    f"{SCHEME}requests": ("requests", "Questions that runs ask people"),
}
"""URI -> name and description."""

TEMPLATES = {
    f"{SCHEME}agents/{{name}}": ("agent", "An agent with its config, secrets masked"),
    f"{SCHEME}pipelines/{{name}}": ("pipeline", "The spec of a stored pipeline"),
    f"{SCHEME}executions/{{id}}": ("execution", "An execution with its open requests"),
    f"{SCHEME}executions/{{id}}/rows": ("rows", "The first rows of an execution"),
}


Reader = Callable[[], JSONValue]


def reader_of(views: ProjectViews, uri: str) -> Reader | None:
    """Return the function that reads a resource; None for an unknown URI."""
    if not uri.startswith(SCHEME):
        return None
    kind, *names = [unquote(part) for part in uri.removeprefix(SCHEME).split("/")]
    return _list_of(views, kind) if not names else _one_of(views, kind, names)


def _list_of(views: ProjectViews, kind: str) -> Reader | None:
    lists: dict[str, Reader] = {
        "project": views.overview,
        "agents": views.agents,
        "pipelines": views.pipelines,
        "executions": views.executions,
        "requests": views.requests,
    }
    return lists.get(kind)


def _one_of(views: ProjectViews, kind: str, names: list[str]) -> Reader | None:
    match kind, names:
        case "agents", [name]:
            return partial(views.agent, name)
        case "pipelines", [name]:
            return partial(views.pipeline, name)
        case "executions", [name]:
            return partial(views.execution, name)
        case "executions", [name, "rows"]:
            return partial(views.rows, name)
        case _:
            return None
