"""The events of a run.

Durable events have a ``sequence``: within one run id they are numbered 1, 2, 3, ... in an order that
depends only on the graph and its inputs, never on timing. Live events (progress, log, provisional outputs,
checkpoints, custom events) have none; they appear at once. A sub-workflow's run has its own id
(``parent/executor.superstep.shard``), and so its own numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from agentic.core.graph.codec.codec import to_text
from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.names import between_colons
from agentic.core.types import JSONValue, RunId

INLINE_BYTES = 32 * 1024
"""A larger value is replaced by its hash in an event; :attr:`WorkflowEvent.contents` has the value."""

_SMALL = (int, float, bool, type(None))
_ATOMS = (str, *_SMALL)
_SHORT_CHARS = INLINE_BYTES // 12  # JSON in ASCII writes a character with at most twelve

CONTENT_KEY = "$content"


class EventKind(StrEnum):
    """Every kind of event."""

    RUN_STARTED = "run.started"
    RUN_RESUMED = "run.resumed"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"
    RUN_WAITING_INPUT = "run.waiting_input"
    SUPERSTEP_STARTED = "superstep.started"
    SUPERSTEP_COMPLETED = "superstep.completed"
    EXECUTOR_INVOKED = "executor.invoked"
    EXECUTOR_COMPLETED = "executor.completed"
    EXECUTOR_FAILED = "executor.failed"
    EXECUTOR_PARKED = "executor.parked"
    EXECUTOR_PROGRESS = "executor.progress"
    EXECUTOR_LOG = "executor.log"
    EDGE_ACTIVATED = "edge.activated"
    MESSAGE_UNDELIVERABLE = "message.undeliverable"
    MESSAGE_SUPERSEDED = "message.superseded"
    FAN_IN_WAITING = "fan_in.waiting"
    REQUEST_RAISED = "request.raised"
    REQUEST_ANSWERED = "request.answered"
    REQUEST_EXPIRED = "request.expired"
    CHECKPOINT_SAVED = "checkpoint.saved"
    CHECKPOINT_FAILED = "checkpoint.failed"
    OUTPUT = "output"
    OUTPUT_PROVISIONAL = "output.provisional"
    CUSTOM = "custom"


LIFECYCLE_ENDS = frozenset({EventKind.RUN_COMPLETED, EventKind.RUN_FAILED, EventKind.RUN_CANCELLED})
"""The kinds that end a run; exactly one of them is its last event, unless it waits for input."""

_encode = json.JSONEncoder(separators=(",", ":")).encode
"""Like ``json.dumps``, which makes an encoder for each call."""

_NO_DATA: Mapping[str, object] = {}
_NO_CONTENTS: dict[str, str] = {}

_FIELDS = (
    "run_id", "time", "sequence", "superstep", "path", "attempt", "shard", "duration_s", "data", "live_number"
)  # fmt: skip


class WorkflowEvent:
    """One event. Immutable: do not change it.

    Attributes:
        kind: The kind of event.
        run_id: The run, or sub-run, of the event.
        time: Seconds since the epoch.
        sequence: Number within ``run_id``, from 1 without gaps; None for live events.
        superstep: From 0.
        path: The executor, with the names of the sub-workflows around it: ``"impl/compile"``. For events of a
            whole run: the path of a sub-run (``"impl"``), and ``""`` for the outermost.
        attempt: Try of the activation, from 1; 0 without an activation.
        shard: Position among the activations of one executor in one superstep, from 0.
        duration_s: Seconds it took, if it took time.
        live_number: Position among the live events of one activation, from 1; 0 for durable ones.
    """

    __slots__ = (
        "_contents", "_data", "_facts", "attempt", "duration_s", "kind", "live_number", "path", "run_id",
        "sequence", "shard", "superstep", "time",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913, PLR0917  # one event, one call: there are five or more in each superstep
        self,
        kind: EventKind,
        run_id: RunId,
        time: float,
        sequence: int | None = None,
        superstep: int = 0,
        path: str = "",
        attempt: int = 0,
        shard: int = 0,
        duration_s: float | None = None,
        data: Mapping[str, object] = _NO_DATA,
        live_number: int = 0,
    ) -> None:
        self.kind = kind
        self.run_id = run_id
        self.time = time
        self.sequence = sequence
        self.superstep = superstep
        self.path = path
        self.attempt = attempt
        self.shard = shard
        self.duration_s = duration_s
        self.live_number = live_number
        self._facts = data
        self._data: Mapping[str, JSONValue] | None = None
        self._contents = _NO_CONTENTS

    @property
    def id(self) -> str:
        """Unique over all runs: ``run:sequence``, or the activation and a number for live events."""
        if self.sequence is not None:
            return f"{self.run_id}:{self.sequence}"
        where = f"{self.superstep}:{between_colons(self.path)}:{self.shard}:{self.attempt}"
        return f"{self.run_id}:{where}:live.{self.live_number}"

    @property
    def data(self) -> Mapping[str, JSONValue]:
        """Facts of the event; JSON. Made at the first access: most events of a run are never read.

        A value above ``INLINE_BYTES`` is ``{"$content": sha256, "bytes": size}``, see :attr:`contents`.
        """
        if self._data is None:
            found: dict[str, str] = {}
            data = {name: _inline(fact, found) for name, fact in self._facts.items()}
            self._contents = found  # set before the data, because another thread may read both
            self._data = data
        return self._data

    @property
    def contents(self) -> dict[str, str]:
        """The values too large for :attr:`data`: sha256 -> JSON text."""
        return {**self._contents} if self.data else {}

    def with_data(self, data: Mapping[str, JSONValue]) -> WorkflowEvent:
        """Return the same event with other facts."""
        return WorkflowEvent(
            self.kind, self.run_id, self.time, self.sequence, self.superstep, self.path, self.attempt,
            self.shard, self.duration_s, data, self.live_number,
        )  # fmt: skip

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the event as JSON-able data, with its id."""
        return {
            "id": self.id,
            "kind": str(self.kind),
            "run_id": self.run_id,
            "sequence": self.sequence,
            "time": self.time,
            "superstep": self.superstep,
            "path": self.path,
            "attempt": self.attempt,
            "shard": self.shard,
            "duration_s": self.duration_s,
            "data": dict(self.data),
            "live_number": self.live_number,
        }

    def to_json(self) -> bytes:
        """Return the event as JSON, in ASCII: text with invalid Unicode survives it, too."""
        return _encode(self.to_dict()).encode("ascii")

    @classmethod
    def from_json(cls, text: bytes | str) -> WorkflowEvent:
        """Return the event that :meth:`to_json` wrote; unknown keys are ignored.

        Raises:
            ValueError: ``text`` is not an event.
        """
        try:
            return cls.from_dict(json.loads(text))
        except RecursionError as exc:
            raise ValueError(f"not an event: {exc}") from exc

    @classmethod
    def from_dict(cls, facts: object) -> WorkflowEvent:
        """Return the event that :meth:`to_dict` gave; unknown keys are ignored.

        Raises:
            ValueError: ``facts`` lack a field of an event, or have a wrong one.
        """
        if not isinstance(facts, dict):
            raise ValueError(f"not an event: a {type(facts).__name__}")  # noqa: TRY004 - what is read is bad, not the call
        try:
            known = {name: facts[name] for name in _FIELDS if name in facts}
            return cls(**{**known, "kind": EventKind(facts["kind"])})
        except (KeyError, TypeError) as exc:
            raise ValueError(f"not an event: {exc}") from exc

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkflowEvent) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"WorkflowEvent({self.id} {self.kind} {self.path or '-'} superstep={self.superstep})"


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomEvent:
    """A custom event of the user, for ``ctx.add_event``.

    Attributes:
        type: Its name, such as ``"generation.progress"``; becomes part of its subject on the bus.
        data: JSON.
    """

    type: str
    data: Mapping[str, JSONValue] = field(default_factory=dict)


def content_hash(text: str) -> str:
    """Return the name of a value that is kept by content."""
    return hashlib.sha256(text.encode()).hexdigest()


def _inline(fact: object, contents: dict[str, str]) -> JSONValue:
    """Return a fact as JSON, with large values named by their hash and put into ``contents``."""
    if isinstance(fact, _ATOMS):
        return fact
    if isinstance(fact, Payload):
        data = fact.data
        text = large_text_of(fact)
        if text is None:
            return data
        name = content_hash(text)
        contents[name] = text
        return {CONTENT_KEY: name, "bytes": len(text)}
    if isinstance(fact, (list, tuple)):
        return [_inline(part, contents) for part in fact]
    if isinstance(fact, Mapping):
        return {name: _inline(part, contents) for name, part in fact.items()}
    return fact  # type: ignore[return-value]  # all but payloads was JSON when the event was made


def large_text(data: JSONValue) -> str | None:
    """Return the JSON text of a value that is too large for an event, else None."""
    if isinstance(data, _SMALL) or (isinstance(data, str) and len(data) <= _SHORT_CHARS):
        return None
    text = to_text(data)
    return text if len(text) > INLINE_BYTES else None


def large_text_of(payload: Payload) -> str | None:
    """Do :func:`large_text` for the JSON of a payload; a small one is measured once."""
    if payload.is_small:
        return None
    text = large_text(payload.data)
    payload.is_small = text is None
    return text
