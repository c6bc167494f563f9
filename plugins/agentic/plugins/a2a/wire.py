"""Tasks and their events as the messages of A2A. Needs the SDK."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, TypeVar

from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import Message as ProtoMessage

from agentic.plugins.a2a.tasks.entries import EntryKind, Json, TaskEntry, TaskView
from agentic.plugins.a2a.vocabulary import SEQUENCE, cleaned

ProtoT = TypeVar("ProtoT", bound=ProtoMessage)

Event = pb.Task | pb.TaskStatusUpdateEvent | pb.TaskArtifactUpdateEvent


def task_message(view: TaskView, *, history: int | None = None, with_artifacts: bool = True) -> pb.Task:
    """Return a task.

    Args:
        view: The task.
        history: How many of the caller's messages, the newest; None for all.
        with_artifacts: Whether it has its artifacts.
    """
    said = view.messages if history is None else view.messages[-history:] if history else ()
    artifacts = (view.artifacts or {}).values() if with_artifacts else ()
    document: dict[str, Any] = {
        "id": view.facts.id,
        "contextId": view.facts.context,
        "status": _status(view),
        "artifacts": [_artifact(body) for body in artifacts],
        "history": [
            {**message, "taskId": view.facts.id, "contextId": view.facts.context} for message in said
        ],
        "metadata": _metadata(view.count),
    }
    return parsed(document, pb.Task)


def event_message(view: TaskView, number: int, entry: TaskEntry) -> Event:
    """Return an entry that is an event.

    Args:
        view: Its task.
        number: Its number.
        entry: The entry.
    """
    facts: dict[str, Any] = {"taskId": view.facts.id, "contextId": view.facts.context}
    if entry.kind is EntryKind.STATUS:
        usage = {key: entry.body[key] for key in ("usage", "tool") if key in entry.body}
        status = _status_of(view, entry)
        return parsed(
            {**facts, "status": status, "metadata": _metadata(number, **usage)}, pb.TaskStatusUpdateEvent
        )
    document = {
        **facts,
        "artifact": _artifact(entry.body),
        "append": bool(entry.body.get("append")),
        "lastChunk": bool(entry.body.get("last")),
        "metadata": _metadata(number),
    }
    return parsed(document, pb.TaskArtifactUpdateEvent)


def _status(view: TaskView) -> Json:
    if view.status is not None:
        return _status_of(view, view.status)
    return {"state": view.state.value, "timestamp": _time(view.facts.created_at)}


def _status_of(view: TaskView, entry: TaskEntry) -> Json:
    parts = list(_status_parts(entry))
    status: Json = {"state": str(entry.body["state"]), "timestamp": _time(entry.at)}
    if parts:
        status["message"] = {
            "messageId": f"{view.facts.id}-{entry.run}-{int(entry.at * 1000)}",
            "taskId": view.facts.id,
            "contextId": view.facts.context,
            "role": "ROLE_AGENT",
            "parts": parts,
        }
    return status


def _status_parts(entry: TaskEntry) -> Iterable[Json]:
    """Return the requests of a task, for people and for programs, or the reason of its end."""
    requests = entry.body.get("requests", [])
    if text := "\n".join([*filter(None, [str(entry.body.get("text", ""))]), *map(_question, requests)]):
        yield {"text": text}
    if requests:
        yield {"data": {"requests": cleaned(requests)}}


def _question(request: dict[str, Any]) -> str:
    call = request.get("call") or {}
    if request.get("kind") == "approval":
        arguments = ", ".join(f"{key}={value!r}" for key, value in (call.get("arguments") or {}).items())
        return f"May I call {call.get('name')}({arguments})? Answer yes or no."
    return str(
        request.get("question") or request.get("data") or f"The result of {call.get('name')} is needed."
    )


def _artifact(body: Json) -> Json:
    return {"artifactId": body["id"], "name": body["id"], "parts": body["parts"]}


def _metadata(sequence: int, **facts: object) -> dict[str, Any]:
    return {SEQUENCE: {"sequence": sequence, **facts}}


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def parsed(document: Any, kind: type[ProtoT]) -> ProtoT:  # noqa: ANN401  # JSON
    """Return a message from its JSON; unknown fields are ignored.

    Raises:
        ParseError: It is not one.
    """
    return ParseDict(document, kind(), ignore_unknown_fields=True)


def document_of(message: ProtoMessage) -> dict[str, Any]:
    """Return the JSON of a message."""
    return MessageToDict(message)


__all__ = ["Event", "ParseError", "document_of", "event_message", "parsed", "task_message"]
