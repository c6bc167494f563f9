"""Runs of random workflows, from the first leg to the last."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.property.graph.mail import Note
from tests.property.graph.virtual import in_virtual_time
from tests.property.graph.world import World, living_in

from agentic.core import RunResult, RunStatus, Workflow, WorkflowEvent
from agentic.core.graph import InfoRequest, MemoryCheckpointStore, RunStream
from agentic.core.graph.checkpoints.restore import restore
from agentic.core.graph.checkpoints.store import CheckpointStore
from agentic.core.graph.errors import error_type
from agentic.core.graph.model.state import RunState
from agentic.core.types import RunId

MAX_LEGS = 80
_SAME_ERRORS = 8


@dataclass(frozen=True)
class Story:
    """A run that was resumed until it was over, or until it always failed in the same way.

    Attributes:
        run_id: Its name.
        legs: What each leg came to.
        state: Where it stands in the end.
        events: All durable events, in order.
    """

    run_id: str
    legs: tuple[RunResult, ...]
    state: RunState
    events: Sequence[WorkflowEvent]

    @property
    def is_whole(self) -> bool:
        """Whether nothing more could come of it."""
        return len(self.legs) < MAX_LEGS

    @property
    def outcome(self) -> Outcome:
        """How it ended."""
        return outcome_of(self.legs[-1], self.state)


@dataclass(frozen=True)
class Outcome:
    """What of a run must not depend on how often it was interrupted."""

    status: RunStatus
    error: str
    outputs: tuple[object, ...]
    shared: Mapping[str, object] = field(default_factory=dict)
    local: Mapping[str, object] = field(default_factory=dict)

    @property
    def unordered(self) -> Outcome:
        """The same, whatever order the outputs came in."""
        return replace(self, outputs=tuple(sorted(self.outputs, key=str)))


def outcome_of(result: RunResult, state: RunState) -> Outcome:
    """Return how a run ended."""
    shared = {key: payload.data for key, payload in state.shared.items()}
    error = "" if result.error is None else error_type(result.error)
    local: dict[str, object] = {str(name): own for name, own in state.local.items()}
    return Outcome(result.status, error, result.outputs, shared, local)


def played(workflow: Workflow, seed: int = 0) -> Story:
    """Run a workflow to its end in virtual time; ``seed`` decides how long everything takes."""

    async def main() -> Story:
        with living_in(World(seed)):
            return await play(workflow)

    return in_virtual_time(main)


async def play(workflow: Workflow, *, store: CheckpointStore | None = None, run_id: str = "r") -> Story:
    """Run a workflow, and resume it with answers and after failures until neither helps."""
    store = MemoryCheckpointStore() if store is None else store
    first = await leg(workflow.run(Note("in"), run_id=run_id, checkpoints=store))
    return await go_on_with(workflow, first, store)


async def go_on_with(
    workflow: Workflow,
    first: RunResult,
    store: CheckpointStore,
    tell: Callable[[WorkflowEvent], None] | None = None,
) -> Story:
    """Resume a run, of which ``first`` is a leg, until that does not help.

    Args:
        workflow: Its workflow.
        first: Its first leg, or the first one that is of interest.
        store: Where it is kept.
        tell: Called with the events of the legs as they are told.
    """
    legs = [first]
    while len(legs) < MAX_LEGS and not is_over(legs):
        is_waiting = legs[-1].status is RunStatus.WAITING_INPUT
        responses = answers_to(legs[-1].pending_requests) if is_waiting else {}
        if tell is None:
            resumed = workflow.resume(first.run_id, checkpoints=store, responses=responses)
        else:
            stream = workflow.resume_stream(first.run_id, checkpoints=store, responses=responses)
            resumed = listening(stream, tell)
        legs.append(await leg(resumed))
    state = restore(await store.latest(RunId(first.run_id)), workflow).state
    return Story(first.run_id, tuple(legs), state, [event for one in legs for event in one.events])


async def listening(stream: RunStream, tell: Callable[[WorkflowEvent], None]) -> RunResult:
    """Return the result of a stream whose events are told to ``tell``, also when it is cancelled."""
    try:
        async for event in stream:
            tell(event)
    finally:
        async for event in stream:  # what was left when it was cancelled
            tell(event)
    return await stream.result()


async def leg(run: Awaitable[RunResult]) -> RunResult:
    """Return the result of one leg, also of one that failed."""
    try:
        return await run
    except Exception as exc:
        result = getattr(exc, "result", None)
        if not isinstance(result, RunResult):
            raise
        return result


def is_over(legs: Sequence[RunResult]) -> bool:
    """Whether nothing more comes of a run."""
    if legs[-1].status is RunStatus.COMPLETED:
        return True
    last = [_failure(leg) for leg in legs[-_SAME_ERRORS:] if leg.error is not None]
    return len(last) == _SAME_ERRORS and len(set(last)) == 1


def _failure(leg: RunResult) -> tuple[str, int, str]:
    """Return what is the same in each leg of a run that always fails in the same way."""
    return str(leg.error), leg.superstep_count, str(leg.events[-1].data.get("unfinished"))


def answers_to(requests: Sequence[InfoRequest]) -> Mapping[str, object]:
    """Answer what does not expire; the same to the same question."""
    return {request.id: f"yes to {request.data}" for request in requests if request.deadline is None}
