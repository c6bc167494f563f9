from __future__ import annotations

import pytest

from agentic.core.coding import NoRollbackPointError, RollbackManager
from agentic.core.graph import (
    CheckpointNotFoundError,
    MemoryCheckpointStore,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowConfig,
    WorkflowContext,
    executor,
)
from agentic.core.types import RunId

pytestmark = pytest.mark.requirement("LG13")


def chain(calls: list[str], words: dict[str, str], config: WorkflowConfig | None = None) -> Workflow:
    """Return three steps that add a word each to a text and to the state; "!" fails."""

    def step(name: str) -> object:
        @executor(id=name)
        async def add(text: str, ctx: WorkflowContext) -> str:
            calls.append(name)
            if words[name] == "!":
                raise ValueError(name)
            ctx.set_state("last", name)
            return f"{text} {words[name]}"

        return add

    builder = WorkflowBuilder("chain", version="1", config=config)
    first, second, third = (step(name) for name in words)
    return (
        builder.set_start(first)  # type: ignore[arg-type]  # an executor
        .add_edge(first, second)  # type: ignore[arg-type]  # an executor
        .add_edge(second, third)  # type: ignore[arg-type]  # an executor
        .build()
    )


WORDS = {"one": "1", "two": "2", "three": "3"}


async def test_a_run_is_repeated_from_the_beginning_of_a_superstep() -> None:
    calls: list[str] = []
    words, store = dict(WORDS), MemoryCheckpointStore()
    flow = chain(calls, words)
    await flow.run("0", run_id="r", checkpoints=store)
    before = await store.list_metadata(run_id=RunId("r"))
    manager = RollbackManager(flow, store)
    assert [point.superstep for point in await manager.points("r")] == [0, 1, 2]
    calls.clear()
    words["two"] = "two"
    result = await manager.roll_back("r", 1)
    assert (result.outputs, calls) == (("0 1 two 3",), ["two", "three"])
    assert result.run_id != "r"
    assert await store.list_metadata(run_id=RunId("r")) == before
    assert (await flow.resume("r", checkpoints=store)).outputs == ("0 1 2 3",)
    assert (await manager.roll_back(result.run_id, 2)).outputs == ("0 1 two 3",)  # a rollback of a rollback


async def test_a_run_that_failed_goes_back_before_the_step_that_led_to_it() -> None:
    calls: list[str] = []
    words, store = {**WORDS, "three": "!"}, MemoryCheckpointStore()
    flow = chain(calls, words)
    with pytest.raises(ValueError, match="three"):
        await flow.run("0", run_id="r", checkpoints=store)
    with pytest.raises(ValueError, match="three"):
        await flow.resume("r", checkpoints=store)
    words |= {"two": "zwei", "three": "3"}
    manager = RollbackManager(flow, store)
    assert [point.status for point in await manager.points("r")] == [RunStatus.RUNNING] * 3
    assert (await manager.roll_back("r", 1)).outputs == ("0 1 zwei 3",)
    assert (await manager.roll_back("r", 2)).outputs == ("0 1 2 3",)


async def test_a_superstep_whose_beginning_was_not_kept_is_no_point() -> None:
    store = MemoryCheckpointStore()
    flow = chain([], dict(WORDS), WorkflowConfig(keep_checkpoints=3))
    await flow.run("0", run_id="r", checkpoints=store)
    manager = RollbackManager(flow, store)
    with pytest.raises(NoRollbackPointError, match=r"superstep 0 \(possible: 2\)") as caught:
        await manager.roll_back("r", 0)
    assert caught.value.possible == (2,)
    with pytest.raises(NoRollbackPointError):
        await manager.roll_back("r", 99)
    with pytest.raises(CheckpointNotFoundError):
        await manager.points("other")
