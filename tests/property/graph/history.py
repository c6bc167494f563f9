"""What can be told from the events of a run, all its legs together."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from tests.property.graph.mail import Note, gist
from tests.property.graph.model import Done, Due, Model, failure_of
from tests.property.graph.shapes import Shape

from agentic.core import EventKind, Workflow, WorkflowEvent
from agentic.core.graph.codec.codec import from_text
from agentic.core.graph.model.events import CONTENT_KEY, LIFECYCLE_ENDS
from agentic.core.graph.model.state import RunState
from agentic.core.types import RunId

Place = tuple[int, str, int]
"""Superstep, executor, shard."""

RESTS = LIFECYCLE_ENDS | {EventKind.RUN_WAITING_INPUT}
_REFUSALS = {"StateConflictError", "UndeliverableMessageError", "RetriesExhaustedError"}
_BETWEEN = {EventKind.REQUEST_ANSWERED, EventKind.REQUEST_EXPIRED, EventKind.RUN_RESUMED}


class History:
    """The events of one run, without those of its sub-runs."""

    def __init__(self, workflow: Workflow, run_id: str, events: Sequence[WorkflowEvent]) -> None:
        self._codec = workflow.codec
        self.run_id = RunId(run_id)
        self.events = [event for event in events if event.run_id == run_id]

    def of(self, kind: EventKind, superstep: int | None = None) -> list[WorkflowEvent]:
        """Return the events of a kind, and of a superstep."""
        return [e for e in self.events if e.kind is kind and superstep in {None, e.superstep}]

    def of_barrier(self, kind: EventKind, superstep: int) -> list[WorkflowEvent]:
        """Return the events of a kind that the barrier of a superstep told of when it let all pass."""
        refused = [n for n, e in enumerate(self.events) if _goes_on(e, superstep)]
        after = self.events[refused[-1] :] if refused else self.events
        return [e for e in after if e.kind is kind and e.superstep == superstep]

    def told_by_refused(self) -> Counter[str]:
        """Return the outputs of activations that a barrier refused, in whichever leg they were told."""
        refused = {_place(event) for event in self.events if is_refusal(event)}
        told = (event for event in self.of(EventKind.OUTPUT) if _place(event) in refused)
        return Counter(repr(self.value(event.data["value"])) for event in told)

    def value(self, data: object) -> Any:
        """Return the value behind an event's JSON, also of one that is kept beside it."""
        if isinstance(data, dict) and CONTENT_KEY in data:
            data = from_text(self._contents[data[CONTENT_KEY]])
        return self._codec.decode(data)  # type: ignore[arg-type]  # it is JSON

    @cached_property
    def _contents(self) -> dict[str, str]:
        return {name: text for event in self.events for name, text in event.contents.items()}

    def due(self, superstep: int) -> list[Due]:
        """Return what was to be handled, in order."""
        begun = self.of(EventKind.EXECUTOR_INVOKED, superstep)
        return [self._due(event) for event in begun if not event.data.get("again")]

    def completed(self, superstep: int) -> list[WorkflowEvent]:
        """Return the activations that completed, in planner order."""
        order = {
            _place(e): n
            for n, e in enumerate(self.of(EventKind.EXECUTOR_INVOKED, superstep))
            if not e.data.get("again")
        }
        last = {_place(e): e for e in self.of(EventKind.EXECUTOR_COMPLETED, superstep)}
        return sorted(last.values(), key=lambda e: order[_place(e)])

    def _due(self, event: WorkflowEvent) -> Due:
        data: Any = event.data
        return Due(
            event.path,
            tuple(data["sources"]),
            self.value(data["input"]),
            item=tuple(data["item"]) if "item" in data else None,
            passes=data.get("pass", 0),
            origin=data.get("origin", ""),
        )

    def results(self, superstep: int, due: Sequence[Due]) -> list[Done]:
        """Return what came of ``due``, in order."""
        ends = {(e.path, e.shard): e for e in self.events if e.superstep == superstep and is_end(e)}
        shards = Counter[str]()
        found = []
        for one in due:
            found.append(self._done(one, ends[one.target, shards[one.target]]))
            shards[one.target] += 1
        return found

    def _done(self, due: Due, end: WorkflowEvent) -> Done:
        data: Any = end.data
        if end.kind is EventKind.EXECUTOR_PARKED:
            return Done(due, "parked", origin=data["origin"])
        if end.kind is EventKind.EXECUTOR_FAILED:
            failure = failure_of(due.target, data["error_type"], data["error"])
            return Done(due, "failed", ((failure, None),))
        return Done(due, "completed", self.sends(end))

    def sends(self, completed: WorkflowEvent) -> tuple[tuple[object, str | None], ...]:
        """Return what an activation sent, and to whom alone."""
        data: Any = completed.data
        return tuple((self.value(sent["message"]), sent.get("target")) for sent in data["sends"])


def is_end(event: WorkflowEvent) -> bool:
    """Whether an activation came to an end that the run went on with."""
    if event.kind is EventKind.EXECUTOR_FAILED:
        return not event.data["will_retry"] and bool(event.data["handled"])
    return event.kind in {EventKind.EXECUTOR_COMPLETED, EventKind.EXECUTOR_PARKED}


def is_refusal(event: WorkflowEvent) -> bool:
    """Whether a barrier refused what an activation came to, so that it ends once more."""
    is_unhandled = event.kind is EventKind.EXECUTOR_FAILED and not event.data["handled"]
    return is_unhandled and event.data["error_type"] in _REFUSALS


def follow(shape: Shape, history: History, state: RunState) -> Model:
    """Route every message of a run anew, and compare it with what the run did, superstep by superstep."""
    model = Model(shape, Note("in"))
    superstep = 0
    expect(model.due, history.due(0))
    while superstep < state.superstep:
        later = history.due(superstep + 1) or _not_begun(state, superstep + 1)
        origins = [due.origin for due in later if due.origin]
        if history.of(EventKind.SUPERSTEP_COMPLETED, superstep):
            is_idle = _is_idle(history, superstep + 1)
            model.barrier(history.results(superstep, model.due), [] if is_idle else origins)
            _expect_events(model, history, superstep)
            if is_idle:
                assert not model.due
                model.go_on(origins)
        expect(model.due, later)
        superstep += 1
    return model


def _is_idle(history: History, superstep: int) -> bool:
    """Whether a run waited for answers before a superstep."""
    return bool(history.of(EventKind.RUN_WAITING_INPUT, superstep))


def _not_begun(state: RunState, superstep: int) -> list[Due]:
    if state.superstep != superstep or state.is_begun:
        return []
    return [
        Due(
            delivery.target,
            tuple(delivery.sources),
            delivery.payload.value,
            item=None if delivery.item is None else (delivery.item.map_id, delivery.item.index),
            passes=len(delivery.feedback),
            origin=delivery.progress.origin,
        )
        for delivery in (activation.delivery for activation in state.activations)
    ]


def expect(predicted: Sequence[Due], seen: Sequence[Due]) -> None:
    """Compare what is due."""
    assert [due.facts for due in predicted] == [due.facts for due in seen]


def _expect_events(model: Model, history: History, superstep: int) -> None:
    lost = history.of_barrier(EventKind.MESSAGE_UNDELIVERABLE, superstep)
    assert sorted(gists(history, lost)) == sorted(map(gist, model.lost))
    superseded = history.of_barrier(EventKind.MESSAGE_SUPERSEDED, superstep)
    assert gists(history, superseded) == list(map(gist, model.superseded))


def gists(history: History, events: Sequence[WorkflowEvent]) -> list[str]:
    """Return the messages that events are about."""
    return [gist(history.value(event.data["message"])) for event in events]


def numbering_faults(events: Sequence[WorkflowEvent]) -> Iterator[str]:
    """Tell of events that are not numbered 1, 2, 3, ... within their run."""
    for run_id in dict.fromkeys(event.run_id for event in events):
        numbers = [event.sequence for event in events if event.run_id == run_id]
        if numbers != list(range(1, len(numbers) + 1)):
            yield f"{run_id} is numbered {numbers}"


def ending_faults(events: Sequence[WorkflowEvent]) -> Iterator[str]:
    """Tell of runs that do not start first, or do something after they have come to rest."""
    for run_id in dict.fromkeys(event.run_id for event in events):
        kinds = [event.kind for event in events if event.run_id == run_id]
        if kinds.count(EventKind.RUN_STARTED) != 1 or kinds[0] is not EventKind.RUN_STARTED:
            yield f"{run_id} does not start first, and once"
        if kinds[-1] not in RESTS:
            yield f"{run_id} ends with {kinds[-1]}"
        for kind, following in itertools.pairwise(kinds):
            if kind in RESTS and following not in _BETWEEN:
                yield f"{run_id} goes on with {following} after {kind}"


def invocation_faults(events: Sequence[WorkflowEvent]) -> Iterator[str]:
    """Tell of activations that began twice, ended without beginning, or did not end once where they had to.

    What a broken superstep left unfinished begins again when the run goes on, once each time at most.
    """
    for run_id in dict.fromkeys(event.run_id for event in events):
        mine = [event for event in events if event.run_id == run_id]
        invoked = [e for e in mine if e.kind is EventKind.EXECUTOR_INVOKED]
        begun = Counter(map(_place, (e for e in invoked if not e.data.get("again"))))
        resumed_count = sum(e.kind is EventKind.RUN_RESUMED for e in mine)
        again = Counter(map(_place, (e for e in invoked if e.data.get("again"))))
        if any(count > resumed_count for count in again.values()):
            yield f"{run_id}: something began again more often than the run went on"
        ended = Counter[Place]()
        for event in mine:
            if is_refusal(event):
                ended[_place(event)] = 0
            elif is_end(event):
                ended[_place(event)] += 1
        committed = {e.superstep for e in mine if e.kind is EventKind.SUPERSTEP_COMPLETED}
        for place in {**begun, **again, **ended}:
            if begun[place] != 1:
                yield f"{run_id}: {place} began {begun[place]} times"
            if ended[place] != 1 if place[0] in committed else ended[place] > 1:
                yield f"{run_id}: {place} ended {ended[place]} times"


def order_faults(shape: Shape, history: History) -> Iterator[str]:
    """Tell of executors without lanes that handled a message before an earlier one of the superstep.

    What a barrier refused does not count: it is handled again, and with it all later messages that had been
    handled on top of it, so that the numbers of their first ends say nothing about each other.
    """
    one_by_one = {node.id for node in shape.nodes if node.inner is None and node.script.counts}
    ends: dict[Place, WorkflowEvent] = {}
    for event in history.events:
        if event.path in one_by_one and is_refusal(event):
            ends.pop(_place(event), None)
        elif event.path in one_by_one and is_end(event):
            ends[_place(event)] = event
    at = {event.id: number for number, event in enumerate(history.events)}
    for (superstep, path, shard), end in ends.items():
        if end.kind is not EventKind.EXECUTOR_COMPLETED or shard == 0:
            continue
        earlier = ends.get((superstep, path, shard - 1))
        if earlier is None:
            yield f"{path} handled message {shard} of superstep {superstep} without message {shard - 1}"
        elif earlier.kind is EventKind.EXECUTOR_COMPLETED and at[earlier.id] > at[end.id]:
            yield f"{path} handled message {shard} of superstep {superstep} before message {shard - 1}"


def _place(event: WorkflowEvent) -> Place:
    return event.superstep, event.path, event.shard


def _goes_on(event: WorkflowEvent, superstep: int) -> bool:
    return event.kind is EventKind.RUN_RESUMED and event.superstep == superstep
