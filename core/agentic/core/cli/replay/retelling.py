"""From the events of a run to its steps, whatever order they come in and whatever is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import pairwise

from agentic.core.cli.replay.steps import ANSWERS, ENDINGS, OPENINGS, is_shrunk, step_of
from agentic.core.cli.replay.story import Gap, ReplayedRun, ReplayedStep
from agentic.core.graph import EventKind, RunStatus, RunView, WorkflowEvent, replay
from agentic.core.types import RunId

# Told of the step that brought the run to rest, under the number of the next one.
_AT_REST = frozenset({*ENDINGS, EventKind.FAN_IN_WAITING})
_BEGINNING = frozenset({*OPENINGS, *ANSWERS, EventKind.EXECUTOR_INVOKED})


def replay_events(events: Iterable[WorkflowEvent], run_id: str) -> ReplayedRun | None:
    """Return a run step by step; None when there is no durable event of it.

    Args:
        events: Of the run, of its sub-runs and, for a fork, of the runs it was forked from; in any order,
            live ones and repetitions among them.
        run_id: The run, which may be the run of a sub-workflow.
    """
    known = list(_unique(events).values())
    told = _told(known, run_id)
    if not told:
        return None
    nested = [event for event in known if event.run_id.startswith(f"{run_id}/")]
    missing = _gaps(told)
    legs = _legs(told)
    views = _Views(told, nested, run_id, legs)
    nested_ids = sorted({event.run_id for event in nested if _is_durable(event)})
    steps = tuple(_placed([step_of(leg, nested_ids, run_id) for leg in legs], missing, views))
    return ReplayedRun(
        run_id=run_id,
        workflow=_workflow(told[0]),
        steps=steps,
        status=_status(steps[-1]),
        duration_s=told[-1].duration_s if told[-1].kind in ENDINGS else None,
        missing=missing,
        heard_at=max(event.time for event in known if _belongs(event, run_id)),
    )


def origin_of(events: Iterable[WorkflowEvent], run_id: str) -> RunId | None:
    """Return the run that a run was forked from, if it was."""
    own = [event for event in events if event.run_id == run_id and _is_durable(event)]
    if not own:
        return None
    forked_from = min(own, key=_number).data.get("forked_from")
    return RunId(forked_from.rpartition("@")[0]) if isinstance(forked_from, str) else None


def _unique(events: Iterable[WorkflowEvent]) -> dict[str, WorkflowEvent]:
    """Return each event once, by id; one that had to be shrunk for the bus gives way to the whole one."""
    found: dict[str, WorkflowEvent] = {}
    for event in events:
        if event.id not in found or is_shrunk(found[event.id]):
            found[event.id] = event
    return found


def _told(events: Sequence[WorkflowEvent], run_id: str) -> list[WorkflowEvent]:
    """Return a run's durable events in order; of what it was forked from, those that came before."""
    told: list[WorkflowEvent] = []
    seen: set[str] = set()
    part: str | None = run_id
    while part is not None and part not in seen:
        seen.add(part)
        before = _number(told[0]) if told else None
        own = [e for e in events if e.run_id == part and _is_durable(e)]
        told = sorted((e for e in own if before is None or _number(e) < before), key=_number) + told
        part = origin_of(own, part)
    return told


def _legs(told: Sequence[WorkflowEvent]) -> list[list[WorkflowEvent]]:
    """Cut a run's events where one step ends and another one begins."""
    legs: list[list[WorkflowEvent]] = []
    kinds: set[EventKind] = set()
    superstep = 0
    for event in told:
        if not legs or _begins(event, kinds, superstep):
            legs.append([])
            kinds = set()
        legs[-1].append(event)
        kinds.add(event.kind)
        superstep = event.superstep
    return legs


def _begins(event: WorkflowEvent, kinds: AbstractSet[EventKind], superstep: int) -> bool:
    """Return whether an event is the first one of another step.

    Args:
        event: The event.
        kinds: What was told of the step so far.
        superstep: The number that the event before was told under.
    """
    is_over = EventKind.SUPERSTEP_COMPLETED in kinds or not kinds.isdisjoint(ENDINGS)
    match event.kind:
        case EventKind.SUPERSTEP_STARTED:
            return is_over or event.kind in kinds or event.superstep != superstep
        case EventKind.RUN_RESUMED:
            return not kinds <= ANSWERS
        case kind if kind in _AT_REST:
            return event.superstep - superstep not in {0, 1}
        case _:
            # Apart from answers, only where events are missing in between.
            return is_over or event.superstep != superstep


def _placed(steps: Iterable[ReplayedStep], missing: Sequence[Gap], views: _Views) -> Iterator[ReplayedStep]:
    """Yield steps with what only the steps before them tell."""
    legs: dict[int, int] = {}
    reached = 0
    for position, step in enumerate(steps):
        legs[step.number] = legs.get(step.number, 0) + 1
        yield replace(
            step,
            leg=legs[step.number],
            missing=tuple(gap for gap in missing if reached < gap[0] <= step.last),
            after=views.after(position, step),
        )
        reached = step.last


class _Views:
    """Where the run stood after each step, as far as no event before is missing.

    `replay` gives a view when a step was begun, and one whenever the run came to rest: the views of a step
    are counted to find them.
    """

    def __init__(
        self,
        told: Sequence[WorkflowEvent],
        nested: Sequence[WorkflowEvent],
        run_id: str,
        legs: Iterable[Sequence[WorkflowEvent]],
    ) -> None:
        self._run_id = RunId(run_id)
        whole = list(_unbroken(told))
        self._views = replay(_outermost([*whole, *nested], run_id))
        self._told_until = _number(told[-1]) + 1
        if len(whole) < len(told):
            self._told_until = _number(whole[-1]) if whole else 0
            if whole and whole[-1].kind in _BEGINNING:
                del self._views[-1:]  # what else was to be done then is not told
        self._begins = [0]
        for leg in legs:
            is_begun = any(event.kind in OPENINGS for event in leg)
            self._begins.append(self._begins[-1] + is_begun + sum(event.kind in ENDINGS for event in leg))

    def after(self, position: int, step: ReplayedStep) -> RunView | None:
        """Return the view of the end of a step."""
        if step.ending is None and step.last >= self._told_until:
            return None
        at = self._begins[position + 1] - 1
        if step.is_done and step.ending is None:
            at += 1  # where the next one was begun
        if not 0 <= at < len(self._views):
            return None
        return replace(self._views[at], run_id=self._run_id)


def _unbroken(told: Iterable[WorkflowEvent]) -> Iterator[WorkflowEvent]:
    """Yield the events up to the first one that is missing, or not there as a whole."""
    for expected, event in enumerate(told, start=1):
        if event.sequence != expected or is_shrunk(event):
            return
        yield event


def _outermost(events: Iterable[WorkflowEvent], run_id: str) -> Iterator[WorkflowEvent]:
    """Yield events as if the run of a sub-workflow were a run of its own."""
    above, slash, _ = run_id.rpartition("/")
    for event in events:
        if not slash:
            yield event
            continue
        own = event.run_id.removeprefix(f"{above}/")
        yield WorkflowEvent(
            event.kind, RunId(own), event.time, event.sequence, event.superstep, event.path, event.attempt,
            event.shard, event.duration_s, event.data, event.live_number,
        )  # fmt: skip


def _gaps(told: Sequence[WorkflowEvent]) -> tuple[Gap, ...]:
    numbers = [0, *map(_number, told)]
    return tuple((before + 1, after - 1) for before, after in pairwise(numbers) if after - before > 1)


def _status(last: ReplayedStep) -> RunStatus:
    if last.ending is None and last.after is not None:
        return last.after.status  # an answer that was not the last one leaves it waiting
    return last.ending or RunStatus.RUNNING


def _workflow(first: WorkflowEvent) -> str:
    facts = (first.data.get("workflow"), first.data.get("version"))
    return " ".join(str(fact) for fact in facts if fact is not None)


def _belongs(event: WorkflowEvent, run_id: str) -> bool:
    return f"{event.run_id}/".startswith(f"{run_id}/")


def _is_durable(event: WorkflowEvent) -> bool:
    return event.sequence is not None


def _number(event: WorkflowEvent) -> int:
    return event.sequence or 0
