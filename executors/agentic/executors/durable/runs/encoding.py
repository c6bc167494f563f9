"""Encodes results, progress and events for the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from agentic.core.audit.deriving import decided_by
from agentic.core.graph.checkpoints.state_decoder import StateDecoder
from agentic.core.graph.checkpoints.state_encoder import StateEncoder
from agentic.core.graph.codec.codec import Codec, from_text, to_text
from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.errors import CorruptContentError
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.messages import Activation, ActivationResult
from agentic.core.graph.model.progress import Progress
from agentic.core.ledger import EventBatch
from agentic.core.ledger.batches import event_record
from agentic.core.types import JSONValue, RunId

# Large values are written separately, by their hash: each once.


def write_result(codec: Codec, result: ActivationResult) -> str:
    """Return an activation's result as JSON.

    Raises:
        UnencodableError: A part of it cannot be stored.
    """
    writer = StateEncoder(codec)
    return _packed(writer.result(result), writer)


def read_result(codec: Codec, activation: Activation, text: str) -> ActivationResult:
    """Read the output of :func:`write_result` for ``activation``.

    Raises:
        CorruptContentError: The text is something else.
        ValidationError: The text is something else.
    """
    data, reader = _unpacked(codec, text)
    return reader.result(activation, data)


def write_progress(codec: Codec, progress: Progress) -> str:
    """Return the progress of an activation, which outlives its tries, as JSON.

    Raises:
        UnencodableError: A part of it cannot be stored.
    """
    writer = StateEncoder(codec)
    return _packed(writer.progress(progress), writer)


def read_progress(codec: Codec, text: str) -> Progress:
    """Read the output of :func:`write_progress`. Raises as :func:`read_result`."""
    data, reader = _unpacked(codec, text)
    return reader.progress(data)


def write_value(codec: Codec, payload: Payload) -> str:
    """Return a value as JSON.

    Raises:
        UnencodableError: It cannot be stored.
    """
    return payload.stored_text(codec)


def read_value(codec: Codec, text: str) -> Payload:
    """Read the output of :func:`write_value`. Raises as :func:`read_result`."""
    return StateDecoder(codec, {}).value(from_text(text))


def batches(events: Sequence[WorkflowEvent]) -> list[EventBatch]:
    """Return durable events in batches for storage: one run each, without gaps."""
    by_run: dict[RunId, list[WorkflowEvent]] = {}
    for event in events:
        by_run.setdefault(event.run_id, []).append(event)
    return [_batch(run_id, of_run) for run_id, of_run in by_run.items()]


def contents_of(batches: Iterable[EventBatch]) -> dict[str, str]:
    """Return the values too large for events themselves: hash -> JSON text."""
    found: dict[str, str] = {}
    for batch in batches:
        data = from_text(batch.text)
        contents = data.get("contents") if isinstance(data, dict) else None
        if isinstance(contents, dict):
            found |= {name: str(text) for name, text in contents.items()}
    return found


def _batch(run_id: RunId, events: Sequence[WorkflowEvent]) -> EventBatch:
    contents: dict[str, JSONValue] = {}
    for event in events:
        contents |= event.contents
    data: dict[str, JSONValue] = {"events": [event_record(event) for event in events]}
    if contents:
        data["contents"] = contents
    first, last = events[0].sequence or 0, events[-1].sequence or 0
    decided_at, deciding = decided_by(events)
    return EventBatch(
        run_id=run_id, first=first, last=last, text=to_text(data), decided_at=decided_at, deciding=deciding
    )


def _packed(data: JSONValue, writer: StateEncoder) -> str:
    packed: dict[str, JSONValue] = {"value": data}
    if writer.contents:
        packed["contents"] = dict(writer.contents)
    return to_text(packed)


def _unpacked(codec: Codec, text: str) -> tuple[JSONValue, StateDecoder]:
    packed = from_text(text)
    if not isinstance(packed, dict) or "value" not in packed:
        raise CorruptContentError("it is not a result of an activation")
    contents = packed.get("contents", {})
    texts: Mapping[str, str] = (
        {name: str(held) for name, held in contents.items()} if isinstance(contents, dict) else {}
    )
    return packed["value"], StateDecoder(codec, texts)
