"""What a process knows of a run that is under way."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.graph.model.messages import Activation
from agentic.core.ledger import ActivationId
from agentic.core.types import ExecutorId, RunId
from agentic.executors.durable.runs.beginning import begin
from agentic.executors.durable.runs.catalog import RegisteredWorkflow
from agentic.executors.durable.worker.cached_run import CachedRun

RUN = RunId("run")
WIDTH = 50
WORK = ExecutorId("work")


class Counted(tuple[Activation, ...]):
    """Activations that know how many of them were looked at."""

    __slots__ = ()
    looked_at = 0

    def __iter__(self) -> Iterator[Activation]:
        for activation in super().__iter__():
            Counted.looked_at += 1
            yield activation


@executor(id="work")
async def work(number: int) -> int:
    return number


def single() -> Workflow:
    return WorkflowBuilder("single").set_start(work).build()


def wide(superstep: int) -> Counted:
    (one,) = cached_run().state.activations
    return Counted(replace(one, superstep=superstep, shard=shard) for shard in range(WIDTH))


def cached_run() -> CachedRun:
    found, plan = begin(RegisteredWorkflow(single()), RUN, 1, 0.0)
    found.take(plan)
    return found


def test_a_wide_superstep_is_not_searched_again_for_each_of_its_activations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = cached_run()
    known.state = replace(known.state, activations=wide(0))
    monkeypatch.setattr(Counted, "looked_at", 0)
    found = [known.activation(ActivationId(RUN, 0, WORK, shard)) for shard in range(WIDTH)]
    assert [one and one.shard for one in found] == list(range(WIDTH))
    assert Counted.looked_at == WIDTH


def test_an_activation_is_found_in_the_superstep_that_is_due_alone() -> None:
    known = cached_run()
    for superstep in range(3):
        known.state = replace(known.state, superstep=superstep, activations=wide(superstep)[superstep:])
        found = {
            (asked, shard)
            for asked in range(4)
            for shard in range(WIDTH + 1)
            if known.activation(ActivationId(RUN, asked, WORK, shard)) is not None
        }
        assert found == {(superstep, shard) for shard in range(superstep, WIDTH)}
    assert known.activation(ActivationId(RUN, 2, ExecutorId("other"), 2)) is None
