"""The parts of LangGraph's streams as live events of a run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langgraph.types import StreamMode

from agentic.core.agents.executor import UPDATE
from agentic.core.agents.responses import ChunkKind
from agentic.core.graph import CustomEvent
from agentic.core.graph.codec.codec import to_text
from agentic.core.types import JSONValue
from agentic.plugins.langgraph.running.values import json_of

MODES: list[StreamMode] = ["updates", "custom", "messages", "tasks"]

EVENT = "langgraph."
"""Begins the type of an event; the type of the part follows: ``langgraph.updates``."""

MAX_DATA_CHARS = 16_384


def events_of(part: Mapping[str, Any]) -> Iterator[CustomEvent]:
    """Yield the events of a part, as ``version="v2"`` gives it: ``{"type", "ns", "data"}``.

    Pieces of a model's text have the type of our agents' pieces, so that they are shown alike.
    """
    kind, ns, data = part["type"], [str(one) for one in part.get("ns") or ()], part["data"]
    match kind:
        case "messages":
            yield from _pieces(ns, *data)
        case "tasks":
            yield CustomEvent(type=f"{EVENT}tasks", data={"ns": list(ns), **_task(data)})
        case _:
            yield CustomEvent(type=f"{EVENT}{kind}", data={"ns": list(ns), "data": _bounded(data)})


def is_step_of(part: Mapping[str, Any]) -> bool:
    """Whether a part says that a node of the outermost graph has ended."""
    return part["type"] == "updates" and not part.get("ns")


def _pieces(ns: list[str], message: object, facts: Mapping[str, Any]) -> Iterator[CustomEvent]:
    if not isinstance(message, AIMessage) or not message.text:
        return
    text = str(message.text)  # a subclass of str until langchain-core 2
    node = str(facts.get("langgraph_node") or "")
    path: list[JSONValue] = [one.partition(":")[0] for one in ns]
    if isinstance(message, AIMessageChunk):
        piece: dict[str, JSONValue] = {"agent": node, "path": path, "kind": str(ChunkKind.TEXT), "text": text}
        yield CustomEvent(type=UPDATE, data=piece)
    else:  # a node has returned it, and no model has streamed it
        yield CustomEvent(type=f"{EVENT}message", data={"agent": node, "path": path, "text": text})


def _task(data: Mapping[str, Any]) -> dict[str, JSONValue]:
    found: dict[str, JSONValue] = {"id": str(data["id"]), "node": str(data["name"])}
    if "result" not in data:
        return {**found, "status": "started"}
    if error := data.get("error"):
        return {**found, "status": "failed", "error": str(error)[:500]}
    return {**found, "status": "interrupted" if data.get("interrupts") else "completed"}


def _bounded(data: object) -> JSONValue:
    found = json_of(data)
    size = len(to_text(found))
    return found if size <= MAX_DATA_CHARS else {"omitted": f"{size} characters"}
