"""The progress of an activation from its earlier attempts and entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import ClassVar

from agentic.core.graph.codec.payload import Payload
from agentic.core.records import record
from agentic.core.types import RunId


@record
class FailedAttempt:
    """A try of an activation that failed.

    Attributes:
        number: The number of the try, from 1.
        error_type: Name of the exception's class.
        message: Its text.
        duration_s: Wall time it took.
        delay_s: Seconds until the next try; None for the last one.
    """

    __wire_name__: ClassVar[str] = "agentic.core.graph.progress.FailedAttempt"

    number: int
    error_type: str
    message: str
    duration_s: float = 0.0
    delay_s: float | None = None


@record
class InfoRequest:
    """A question an executor asked and waits for.

    Attributes:
        id: Unique over all runs; answers refer to it.
        path: The executor, with the sub-workflows around it.
        data: The question, from the executor.
        response_type: The type of the answer, as a person would write it.
        raised_at: Seconds since the epoch.
        deadline: Seconds since the epoch after which it expires; None for never.
    """

    id: str
    path: str
    data: object
    response_type: str
    raised_at: float
    deadline: float | None = None


@record
class Asked:
    """A request in the run's state: its name within the run, its question, its answer.

    Attributes:
        name: ``executor.superstep.shard.number``, after the names of outer activations: unique in the run.
        path: The executor, with the sub-workflows around it.
        question: The question.
        response_type: Name of the type the answer must have, see :mod:`agentic.core.graph.model.answers`.
        raised_at: Seconds since the epoch.
        deadline: Seconds since the epoch, or None.
        answer: Set once it is answered.
        answered_by: The name of the person who answered, if known.
        has_expired: Whether its deadline passed first.
    """

    name: str
    path: str
    question: Payload
    response_type: str
    raised_at: float
    deadline: float | None = None
    answer: Payload | None = None
    answered_by: str = ""
    has_expired: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it still waits."""
        return self.answer is None and not self.has_expired


@record
class BaseRunState:
    """The part of a run's state that the activation around it knows: each is a ``RunState``.

    Attributes:
        run_id: The run.
    """

    run_id: RunId

    @property
    def open_requests(self) -> Sequence[Asked]:
        """Every request that waits for an answer, oldest activation first."""
        raise NotImplementedError


@record
class SubRun:
    """A sub-workflow's run inside an activation: its state, and its outputs so far."""

    state: BaseRunState
    outputs: tuple[Payload, ...] = ()


@record
class Progress:
    """The progress of an activation that outlives an attempt, and an entry that was parked.

    Attributes:
        origin: ``executor.superstep.shard`` of its first entry; empty when this is the first.
        failures: Its failed tries.
        asked: Its own requests, in call order.
        surfaced: Requests of its sub-workflows.
        once: Results kept by ``ctx.once``, by key.
        sub_runs: Its sub-workflows' runs, by call order from 1.
        yielded: How many of its outputs already belong to the run, though its other work does not count.
        refused: How often a barrier refused its result.
    """

    origin: str = ""
    failures: tuple[FailedAttempt, ...] = ()
    asked: tuple[Asked, ...] = ()
    surfaced: tuple[Asked, ...] = ()
    once: Mapping[str, Payload] = field(default_factory=dict)
    sub_runs: Mapping[int, SubRun] = field(default_factory=dict)
    yielded: int = 0
    refused: int = 0

    @property
    def open_requests(self) -> Iterator[Asked]:
        """Its open requests."""
        return (asked for asked in (*self.asked, *self.surfaced) if asked.is_open)

    @property
    def is_ready(self) -> bool:
        """Whether it can continue: all its own requests are settled, or one of a sub-workflow's."""
        if any(not asked.is_open for asked in self.surfaced):
            return True
        return bool(self.asked) and not any(asked.is_open for asked in self.asked) and not self.surfaced

    # A handler with several requests is entered again when all are settled, so that it does not run for
    # nothing. A sub-workflow continues at once: its arms must not wait for each other's answers.


NEW = Progress()
"""An activation without a past."""


def without_open(progress: Progress) -> Progress:
    """Return the progress of an unfinished try: its requests were never raised."""
    if not any(asked.is_open for asked in progress.asked):
        return progress
    return replace(progress, asked=tuple(asked for asked in progress.asked if not asked.is_open))


def request_id(run_id: RunId, name: str) -> str:
    """Return the id of a request over all runs; it belongs to the outermost run, which gets the answer."""
    outermost, _, within = run_id.partition("/")
    return f"{outermost}:{within}/{name}" if within else f"{outermost}:{name}"
