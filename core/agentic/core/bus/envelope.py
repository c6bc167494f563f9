"""The message format of an event: its own JSON with the project added."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

from agentic.core.bus.port import BusMessage, StoredMessage
from agentic.core.bus.subjects import subject_for, token
from agentic.core.graph import WorkflowEvent
from agentic.core.types import JSONValue


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedEvent:
    """An event that was read from the bus.

    Attributes:
        stream_sequence: Its place in the stream; reading can continue after it.
        project: The project its run belongs to.
        event: The event.
    """

    stream_sequence: int
    project: str
    event: WorkflowEvent

    def to_dict(self) -> dict[str, JSONValue]:
        """Return all fields as one JSON-able object."""
        return {"stream_sequence": self.stream_sequence, "project": self.project, **self.event.to_dict()}


def to_message(event: WorkflowEvent, project: str) -> BusMessage:
    """Return ``event`` ready to be published.

    Raises:
        TypeError, ValueError: Its data is not JSON.
    """
    # The event writes its own JSON object: the project goes in front, so the object is not built again.
    head = _head(project)
    return BusMessage(
        subject=subject_for(event, project),
        payload=head + event.to_json()[1:],
        message_id=_message_id(event, project),
    )


@lru_cache(maxsize=128)
def _head(project: str) -> bytes:
    return f'{{"project":{json.dumps(project)},'.encode()


def _message_id(event: WorkflowEvent, project: str) -> str:
    """Return the event's id in ASCII, for a header; tokens hold no colon, so ids stay unique."""
    if event.sequence is not None:
        return f"{_run_id(project, event.run_id)}%3A{event.sequence}"
    return f"{token(project)}:{quote(event.id, errors='surrogatepass')}"


@lru_cache(maxsize=1024)
def _run_id(project: str, run_id: str) -> str:
    return f"{token(project)}:{quote(run_id, errors='surrogatepass')}"


def from_message(message: StoredMessage) -> PublishedEvent:
    """Read a message of :func:`to_message`.

    Raises:
        ValueError: The message is not an event.
    """
    event = WorkflowEvent.from_json(message.payload)
    project = json.loads(message.payload).get("project")
    if not isinstance(project, str):
        raise ValueError(f"an event without project on {message.subject}")  # noqa: TRY004 - one error for all
    return PublishedEvent(stream_sequence=message.sequence, project=project, event=event)


def without_data(event: WorkflowEvent, size_bytes: int) -> WorkflowEvent:
    """Return ``event`` with its data replaced by the data's size: the event itself is still reported."""
    return event.with_data({"dropped_bytes": size_bytes})
