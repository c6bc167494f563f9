"""The contract of every executor of a graph; subclass it in an executor's tests."""

from __future__ import annotations

import asyncio

import pytest

from agentic.core.graph import Executor, MemoryCheckpointStore, RunResult, Workflow, WorkflowBuilder, executor
from agentic.executors.testing.workflows import RunWorkflow

PROMPT_S = 5.0


class Odd:
    """A message that no executor declares."""


class ExecutorContract:
    """The contract; its tests are coroutines, so pytest needs ``asyncio_mode = "auto"``.

    The fixture ``executor`` must return a new executor, ``message`` its input, and ``outputs`` the list of
    its outputs: the return value of its handler, sent messages, and yielded values.
    """

    @pytest.fixture
    def workflow(self, executor: Executor) -> Workflow:
        """Put the executor into a graph, before a node that yields its messages."""
        return WorkflowBuilder("tested", version="1").set_start(executor).add_edge(executor, kept).build()

    async def test_it_gives_the_same_on_the_engine_and_through_a_durable_run(
        self, workflow: Workflow, message: object, outputs: list[object], run_workflow: RunWorkflow
    ) -> None:
        for is_durable in (False, True):
            run = await run_workflow(workflow, message, is_durable=is_durable)
            assert run.error is None, run.error
            assert list(run.outputs) == outputs

    async def test_a_message_it_does_not_declare_is_refused(
        self, workflow: Workflow, run_workflow: RunWorkflow
    ) -> None:
        with pytest.raises(TypeError):
            await run_workflow(workflow, Odd())

    async def test_a_run_that_is_cut_off_after_it_goes_on_with_what_it_gave(
        self, workflow: Workflow, message: object, outputs: list[object]
    ) -> None:
        store = MemoryCheckpointStore()
        run = await workflow.run(message, run_id="tested", checkpoints=store)
        assert list(run.outputs) == outputs
        for kept_at in await store.list_metadata(run_id=run.run_id):
            again = await workflow.resume("tested", checkpoints=store, checkpoint_id=kept_at.id)
            assert list(again.outputs) == outputs

    @pytest.mark.parametrize("turns", [0, 1, 4, 16, 64])
    async def test_it_ends_when_it_is_cancelled(
        self, workflow: Workflow, message: object, turns: int
    ) -> None:
        run: asyncio.Future[RunResult] = asyncio.ensure_future(workflow.run(message))
        for _ in range(turns):
            await asyncio.sleep(0)
        if not run.cancel():
            return  # it was already done
        async with asyncio.timeout(PROMPT_S):
            await asyncio.wait([run])
        assert run.cancelled()


@executor(id="kept")
async def kept(sent: object) -> object:
    """Yield it."""
    return sent
