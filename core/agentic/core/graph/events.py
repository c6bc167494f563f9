"""What a run tells while it goes on.

Durable events carry a ``sequence``: within one run id they are numbered 1, 2, 3, ... in an order that
depends on the graph and its inputs alone, never on timing. Live events (progress, log) carry none; they
appear at once. A sub-workflow's run has its own id (``parent/executor.superstep.shard``), and so its own
numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from agentic.core.types import JSONValue, RunId


class EventKind(StrEnum):
    """Every kind of event."""

    RUN_STARTED = "run.started"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"
    SUPERSTEP_STARTED = "superstep.started"
    SUPERSTEP_COMPLETED = "superstep.completed"
    EXECUTOR_INVOKED = "executor.invoked"
    EXECUTOR_COMPLETED = "executor.completed"
    EXECUTOR_FAILED = "executor.failed"
    EXECUTOR_PROGRESS = "executor.progress"
    EXECUTOR_LOG = "executor.log"
    EDGE_ACTIVATED = "edge.activated"
    MESSAGE_UNDELIVERABLE = "message.undeliverable"
    FAN_IN_WAITING = "fan_in.waiting"
    OUTPUT = "output"
    CUSTOM = "custom"


LIFECYCLE_ENDS = frozenset({EventKind.RUN_COMPLETED, EventKind.RUN_FAILED, EventKind.RUN_CANCELLED})
"""The kinds that end a run; exactly one of them is its last event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowEvent:
    """One thing that happened.

    Attributes:
        kind: What happened.
        run_id: The run, or sub-run, it happened in.
        sequence: Number within ``run_id``, from 1 without gaps; None for live events.
        time: Seconds since the epoch.
        superstep: From 0.
        path: The executor, with the names of the sub-workflows around it: ``"impl/compile"``. For events of a
            run as a whole: where a sub-run lives (``"impl"``), and ``""`` for the outermost.
        attempt: Try of the activation, from 1; 0 where there is none.
        shard: Position among the activations of one executor in one superstep, from 0.
        duration_s: Seconds it took, where it took time.
        data: Facts of the kind; JSON.
        live_number: Position among the live events of one activation, from 1; 0 for durable ones.
    """

    kind: EventKind
    run_id: RunId
    time: float
    sequence: int | None = None
    superstep: int = 0
    path: str = ""
    attempt: int = 0
    shard: int = 0
    duration_s: float | None = None
    data: Mapping[str, JSONValue] = field(default_factory=dict)
    live_number: int = 0

    @property
    def id(self) -> str:
        """Unique over all runs: ``run:sequence``, or the activation and a number for live events."""
        if self.sequence is not None:
            return f"{self.run_id}:{self.sequence}"
        return f"{self.run_id}:{self.superstep}:{self.path}:{self.shard}:{self.attempt}:{self.live_number}"

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
        """Return the event as JSON, in ASCII: text that is no valid Unicode survives it, too."""
        return json.dumps(self.to_dict(), separators=(",", ":")).encode("ascii")

    @classmethod
    def from_json(cls, text: bytes | str) -> WorkflowEvent:
        """Read back what :meth:`to_json` wrote; keys added by others are ignored.

        Raises:
            ValueError: ``text`` is no event.
        """
        try:
            facts = json.loads(text)
            known = {name: facts[name] for name in cls.__slots__ if name in facts}
            return cls(**{**known, "kind": EventKind(facts["kind"])})
        except (KeyError, TypeError) as exc:
            raise ValueError(f"not an event: {exc}") from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomEvent:
    """An event of the user's own, given to ``ctx.add_event``.

    Attributes:
        type: Name of it, as ``"generation.progress"``; becomes part of its subject on the bus.
        data: JSON.
    """

    type: str
    data: Mapping[str, JSONValue] = field(default_factory=dict)
