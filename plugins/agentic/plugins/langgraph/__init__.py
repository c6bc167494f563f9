"""Graphs of LangGraph: as agents, as nodes of our graphs, and their threads in our stores.

from agentic.plugins.langgraph import LangGraphExecutor, SqlSaver, as_langgraph_node

saver = SqlSaver.open("sqlite:///runs.db")
graph = builder.compile(checkpointer=saver)
node = LangGraphExecutor(builder.compile(), id="plan", saver=saver)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agentic.core.hooks import Platform, hookimpl, platform_at
from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.plugins.langgraph.errors import (
        GraphNotLoadedError,
        LangGraphError,
        StoredStateError,
        ThreadTakenError,
        UnknownStateTypeError,
    )
    from agentic.plugins.langgraph.running.node import GraphOptions, LangGraphExecutor, LangGraphResult
    from agentic.plugins.langgraph.running.workflow_node import as_langgraph_node
    from agentic.plugins.langgraph.savers.nats import NatsSaver
    from agentic.plugins.langgraph.savers.sql import SqlSaver

_HERE = "agentic.plugins.langgraph"

_HOMES = {
    **dict.fromkeys(
        (
            "GraphNotLoadedError",
            "LangGraphError",
            "StoredStateError",
            "ThreadTakenError",
            "UnknownStateTypeError",
        ),
        "errors",
    ),
    **dict.fromkeys(("GraphOptions", "LangGraphExecutor", "LangGraphResult"), "running.node"),
    "NatsSaver": "savers.nats",
    "SqlSaver": "savers.sql",
    "as_langgraph_node": "running.workflow_node",
}

__all__ = [
    "GraphNotLoadedError",
    "GraphOptions",
    "LangGraphError",
    "LangGraphExecutor",
    "LangGraphResult",
    "NatsSaver",
    "SqlSaver",
    "StoredStateError",
    "ThreadTakenError",
    "UnknownStateTypeError",
    "as_langgraph_node",
]


def __getattr__(name: str) -> object:
    from agentic.plugins.langgraph.errors import MissingLangGraphError

    try:
        return loaded(__name__, _HOMES, name)
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] in {"langgraph", "langchain_core", "ormsgpack"}:
            raise MissingLangGraphError from exc
        raise


@hookimpl
def agentic_platforms() -> Iterable[Platform]:
    """Provide the platform ``langgraph``."""
    return [platform_at(f"{_HERE}.platform:PLATFORM", name="langgraph", migrations=f"{_HERE}.migrations")]
