"""On a ledger, on any number of processes: the same run."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property.durable.hosts import NAME, InlineLane, InlineLeases, catalog_of, host_on, serving
from tests.property.durable.logs import Logs, durable_events, logs_of
from tests.property.graph.effort import examples
from tests.property.graph.mail import Note
from tests.property.graph.playing import MAX_LEGS, Outcome, Story, answers_to, is_over, outcome_of, play
from tests.property.graph.scripted import build
from tests.property.graph.shapes import Shape, shapes
from tests.property.graph.virtual import in_virtual_time
from tests.property.graph.world import World, living_in

from agentic.core import RunResult, RunStatus, Workflow
from agentic.core.graph.checkpoints.restore import restore
from agentic.core.ledger import MemoryLedger
from agentic.executors.durable.runs.control import answer, resume
from agentic.executors.durable.runs.handle import AsyncRunHandle
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.runs.service import RunService, Submission
from agentic.executors.durable.worker.worker import Bounds

_LEASE_S = 10_000.0  # longer than any run, as nobody extends them

seeds = st.integers(0, 1_000_000)


async def play_on_ledger(workflow: Workflow, host_count: int, bounds: Bounds) -> tuple[Outcome, Logs]:
    """Run a workflow on a ledger until nothing more comes of it."""
    store, dispatcher = MemoryLedger(time.time), LocalDispatcher()
    catalog = catalog_of(workflow)
    hosts = [
        host_on(store, InlineLane(store), InlineLeases(store, _LEASE_S), catalog, dispatcher, f"host{number}")
        for number in range(host_count)
    ]
    async with serving(hosts, dispatcher, bounds):
        run_id = (await RunService(hosts[0]).submit(NAME, Note("in"), Submission(run_id="r"))).run_id
        handle = AsyncRunHandle(hosts[-1], run_id)
        legs: list[RunResult] = [await handle.result(3_000)]
        while len(legs) < MAX_LEGS and not is_over(legs):
            responses = answers_to(legs[-1].pending_requests)
            if legs[-1].status is RunStatus.WAITING_INPUT and responses:
                await answer(hosts[len(legs) % host_count], run_id, responses)
            else:
                await resume(hosts[len(legs) % host_count], run_id)
            legs.append(await handle.result(3_000))
    with store.transaction() as ledger:
        state = restore(ledger.load(run_id), workflow).state
    return outcome_of(legs[-1], state), logs_of(durable_events(store, run_id))


@pytest.mark.requirement("BR05")
@examples(50)
@given(
    shape=shapes(), one=seeds, other=seeds, host_count=st.integers(1, 3), in_place=st.sampled_from([1, 3, 50])
)
def test_results_and_event_logs_are_those_of_a_run_in_one_process(
    shape: Shape, one: int, other: int, host_count: int, in_place: int
) -> None:
    async def alone() -> Story:
        with living_in(World(one)):
            return await play(build(shape))

    async def on_ledger() -> tuple[Outcome, Logs]:
        with living_in(World(other)):
            return await play_on_ledger(build(shape), host_count, Bounds(activations=in_place))

    story = in_virtual_time(alone)
    outcome, logs = in_virtual_time(on_ledger)
    assert logs == logs_of(story.events)
    assert outcome == story.outcome
