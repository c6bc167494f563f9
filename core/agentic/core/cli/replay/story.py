"""A run as the steps it took: what there is to show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from agentic.core.graph import RunStatus, RunView
from agentic.core.types import JSONValue

ReplayedOutcome = Literal["completed", "failed", "parked", "in hand"]

Gap = tuple[int, int]
"""First and last of some missing events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedAttempt:
    """A try of an activation that failed.

    Attributes:
        number: From 1.
        duration_s: Seconds it took.
        error: Its type and its words.
        will_retry: Whether another try follows.
    """

    number: int
    duration_s: float | None
    error: str
    will_retry: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedActivation:
    """An executor that was given a message.

    Attributes:
        path: The executor, with the names of the sub-workflows around it.
        shard: Position among its messages of the superstep, from 0.
        outcome: What became of it; ``in hand`` as long as nothing is told.
        attempt: The last try, or the one in hand, from 1.
        duration_s: Seconds that the last try took.
        sources: Who sent the message.
        input: The message.
        failures: Tries that failed.
        sends: What it sent.
        facts: What else is known of it: ``item``, ``pass``, ``origin``, ``again``, ``requests``.
        runs: Ids of runs of sub-workflows that belong to it.
    """

    path: str
    shard: int
    outcome: ReplayedOutcome
    attempt: int
    duration_s: float | None
    sources: tuple[str, ...]
    input: JSONValue
    failures: tuple[ReplayedAttempt, ...]
    sends: tuple[JSONValue, ...]
    facts: Mapping[str, JSONValue]
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedStep:
    """A superstep, or one leg of it when it was broken off and gone on with.

    Attributes:
        number: Of the superstep, from 0.
        leg: From 1.
        first: Sequence of its first event.
        last: Sequence of its last event.
        began_at: Seconds since the epoch.
        duration_s: Seconds to its end; None when that is not told.
        is_done: Whether all its executors were done, and their results merged.
        resumed_from: How the run stood before it was gone on with here, if it was.
        activations: In the order in which they were begun.
        edges: Name of an edge -> messages it carried.
        astray: Messages that reached nobody or were replaced, in words and as data.
        outputs: What was yielded: by whom, and the value.
        changes: ``state``, ``local``, ``fan_ins`` and ``maps``: what it changed of them.
        raised: Facts of requests that came up.
        settled: Facts of requests that were answered or expired.
        starving: Joins that will never fire: target -> missing sources.
        ending: How the run came to rest after it, if it did.
        error: What failed the run.
        bare: Sequences of events that were too large for the bus, and have no data.
        missing: Events that are missing before or within it.
        after: Where the run stood at its end; None when that cannot be told without missing events.
    """

    number: int
    leg: int
    first: int
    last: int
    began_at: float
    duration_s: float | None
    is_done: bool
    resumed_from: str | None
    activations: tuple[ReplayedActivation, ...]
    edges: Mapping[str, int]
    astray: tuple[tuple[str, JSONValue], ...]
    outputs: tuple[tuple[str, JSONValue], ...]
    changes: Mapping[str, Mapping[str, JSONValue]]
    raised: tuple[Mapping[str, JSONValue], ...]
    settled: tuple[Mapping[str, JSONValue], ...]
    starving: Mapping[str, tuple[str, ...]]
    ending: RunStatus | None
    error: str | None
    bare: tuple[int, ...]
    missing: tuple[Gap, ...]
    after: RunView | None

    @property
    def in_hand(self) -> tuple[ReplayedActivation, ...]:
        """Activations of which nothing more is told."""
        return tuple(one for one in self.activations if one.outcome == "in hand")

    def to_dict(self) -> dict[str, object]:
        """Return everything as JSON-able data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedRun:
    """A run from its first event to the last one that is known.

    Attributes:
        run_id: The run.
        workflow: Its workflow, and the version of that; empty when the first event is missing.
        steps: In the order they happened, at least one.
        status: How it stood after the last one; ``running`` when no end is told.
        duration_s: Seconds from its begin to its end, if that is told.
        missing: All events that are missing.
        heard_at: Time of the latest event, in seconds since the epoch; that may be a live one.
    """

    run_id: str
    workflow: str
    steps: tuple[ReplayedStep, ...]
    status: RunStatus
    duration_s: float | None
    missing: tuple[Gap, ...]
    heard_at: float

    @property
    def is_whole(self) -> bool:
        """Whether all is told, to the end."""
        return self.status.is_final and not self.missing and not any(step.bare for step in self.steps)
