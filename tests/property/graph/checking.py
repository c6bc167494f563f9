"""What must be true of every run, however it went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.property.graph.conservation import vanished
from tests.property.graph.history import (
    History,
    ending_faults,
    follow,
    invocation_faults,
    numbering_faults,
    order_faults,
)
from tests.property.graph.mail import digest, gist
from tests.property.graph.model import Model
from tests.property.graph.playing import Story
from tests.property.graph.shapes import Shape

from agentic.core import EventKind, Workflow, WorkflowEvent
from agentic.core.graph import RunView, replay
from agentic.core.graph.checkpoints.state_encoder import StateEncoder
from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.definition.edges import FanInEdge
from agentic.core.graph.model.progress import request_id
from agentic.core.graph.model.state import RunState
from agentic.core.types import JSONValue


def check(shape: Shape, workflow: Workflow, story: Story) -> None:
    """Assert all of it."""
    check_log(story.events)
    check_end_of_replay(workflow, story)
    check_mail(shape, workflow, story)
    check_shared_state(History(workflow, story.run_id, story.events))


def check_log(events: Sequence[WorkflowEvent]) -> None:
    """Events are numbered, begin and end as they have to, and survive JSON."""
    faults = [*numbering_faults(events), *ending_faults(events), *invocation_faults(events)]
    assert not faults, faults
    for event in events:
        assert WorkflowEvent.from_json(event.to_json()) == event


def check_mail(shape: Shape, workflow: Workflow, story: Story) -> None:
    """Every message went where the reference model says, and what is under way is what the state keeps."""
    history = History(workflow, story.run_id, story.events)
    assert not list(order_faults(shape, history))
    model = follow(shape, history, story.state)
    assert waiting_in(model) == waiting_for(workflow, story.state)
    batches = [(batch.handed_out, sorted(batch.results)) for batch in model.batches.values()]
    assert batches == [
        (one.next_index, sorted(outcome.index for chunk in one.done for outcome in chunk))
        for one in story.state.maps.values()
    ]
    # What parked in a superstep that was broken off can be answered already.
    earlier = {o for o, p in story.state.parked.items() if p.activation.superstep < story.state.superstep}
    assert earlier <= model.parked.keys()
    assert not list(vanished(shape, history, story.state))
    assert story.state.superstep <= shape.supersteps


def check_broken_off(workflow: Workflow, quiet: Story, struck: Story, told: Sequence[WorkflowEvent]) -> None:
    """A run that was broken off came to what it comes to undisturbed, in another order at most.

    What had finished when a superstep was broken off is told before the rest of it, and nothing told is taken
    back: it has yielded its outputs, also if the barrier refuses it later. In a run that comes to its end
    they are those of the try that counts. In one whose barrier refuses that for ever nothing else yields
    them: undisturbed, that run is without them.

    Args:
        workflow: Of both.
        quiet: The run undisturbed.
        struck: The run disturbed.
        told: Its events, of all processes.
    """
    expected, found = quiet.outcome.unordered, struck.outcome.unordered
    if expected.error:
        known, yielded = (Counter(map(repr, outcome.outputs)) for outcome in (expected, found))
        assert known <= yielded
        assert yielded - known <= History(workflow, struck.run_id, told).told_by_refused()
        found = replace(found, outputs=expected.outputs)
    assert found == expected


def check_shared_state(history: History) -> None:
    """What is written is reduced in planner order."""
    shared: dict[str, object] = {}
    for over in history.of(EventKind.SUPERSTEP_COMPLETED):
        written: dict[str, str] = {}
        for event in history.completed(over.superstep):
            data: Any = event.data
            for key, value in data.get("writes", ()):
                shared[key] = _reduced(key, shared.get(key), history.value(value))
                written[key] = gist(shared[key])
        told: Any = over.data.get("state", {})
        assert {key: gist(history.value(value)) for key, value in told.items()} == written


def _reduced(key: str, so_far: object, written: object) -> object:
    match so_far, written:
        case int(), int() if key == "sum":
            return so_far + written
        case str(), str() if key == "chain":
            return digest([so_far, written])
        case _:
            return written


def waiting_in(model: Model) -> dict[int, dict[str, list[str]]]:
    """Return what waits in fan-ins: position of the link -> source -> gists."""
    return {
        index: {source: [gist(message) for message, _ in held] for source, held in box.items()}
        for index, box in model.waiting.items()
    }


def waiting_for(workflow: Workflow, state: RunState) -> dict[int, dict[str, list[str]]]:
    """Return the same of an engine's state."""
    return {
        index: {source: [gist(one.payload.value) for one in held] for source, held in buffer.items()}
        for index, buffer in sorted(state.fan_ins.items())
        if isinstance(workflow.graph.edges[index], FanInEdge)
    }


def check_end_of_replay(workflow: Workflow, story: Story) -> None:
    """The events alone tell where the run ended."""
    outputs = [event.data["value"] for event in story.events if _is_output(event, story.run_id)]
    told = replay(story.events)[-1]
    assert seen(told) == expected(workflow, story.state)
    assert list(told.outputs) == outputs
    assert len(outputs) == story.state.output_count == len(story.legs[-1].outputs)


def _is_output(event: WorkflowEvent, run_id: str) -> bool:
    return event.run_id == run_id and event.kind.value == "output"


def seen(view: RunView) -> dict[str, object]:
    """Return what a replayed run tells of its state."""
    return {
        "status": view.status,
        "superstep": view.superstep,
        "due": [(one.executor_id, one.shard, one.message) for one in view.due],
        "state": dict(view.state),
        "local": dict(view.local),
        "fan_ins": {edge: dict(waiting) for edge, waiting in view.fan_ins.items()},
        "maps": dict(view.maps),
        "requests": sorted(view.requests),
        "error": view.error,
    }


def expected(workflow: Workflow, state: RunState) -> dict[str, object]:
    """Return the same of the state itself."""

    def data(payload: Payload) -> JSONValue:
        return StateEncoder(workflow.codec).value(payload)

    return {
        "status": state.status,
        "superstep": state.superstep,
        "due": [
            (a.executor_id, a.shard, data(a.delivery.payload))
            for a in state.activations
            if state.is_begun and a.key not in state.kept
        ],
        "state": {key: data(payload) for key, payload in state.shared.items()},
        "local": {str(key): dict(local) for key, local in state.local.items()},
        "fan_ins": {
            str(workflow.graph.edge_facts[index]["edge"]): {str(s): len(held) for s, held in buffer.items()}
            for index, buffer in state.fan_ins.items()
        },
        "maps": {number: (one.done_count, one.count) for number, one in state.maps.items()},
        "requests": sorted(request_id(state.run_id, asked.name) for asked in state.open_requests),
        "error": None if state.error is None else str(state.error),
    }
