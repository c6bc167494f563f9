"""Concurrent participants, and aggregators that see their results and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.unit.core.patterns.casts import hears, says

from agentic.core import MemoryCheckpointStore, WorkflowContext
from agentic.core.llm import ScriptedModel
from agentic.core.patterns import (
    AggregatedResult,
    AggregationError,
    ConcurrentBuilder,
    InvalidPatternError,
    ParticipantResult,
    TooManyFailuresError,
    model_synthesis,
)


def broken(text: str) -> str:
    raise ValueError(f"cannot read {text}")


def silent(_: str) -> None: ...


@pytest.mark.requirement("PA04", "PA05")
async def test_all_participants_get_the_input_and_all_answers_are_collected_in_order() -> None:
    heard: list[list[str]] = []
    flow = ConcurrentBuilder("c").participants([hears("b", heard, "two"), hears("a", heard, "one")]).build()
    found = (await flow.run("Which?")).output(AggregatedResult)
    assert heard == [["Which?"], ["Which?"]]
    assert [(one.executor_id, one.text) for one in found.responses] == [("b", "two"), ("a", "one")]
    assert (found.failed_count, found.text) == (0, "b: two\n\na: one")
    names = list(flow.graph.executors)
    assert (names[0], names[-1]) == ("splitter", "aggregator")


@pytest.mark.requirement("PA06", "PA07", "PA08")
async def test_an_aggregator_sees_results_and_errors_of_all_in_their_order() -> None:
    seen: list[ParticipantResult] = []

    def keep(results: Sequence[ParticipantResult]) -> AggregatedResult:
        seen.extend(results)
        return AggregatedResult.partial([one for one in results if one.ok], 1)

    agent = says("a", "one")
    flow = ConcurrentBuilder("c").participants([broken, silent, agent]).with_aggregator(keep).build()
    found = (await flow.run("it", run_id="r", checkpoints=MemoryCheckpointStore())).output(AggregatedResult)
    assert [(one.executor_id, one.ok, one.text) for one in seen] == [
        ("broken", False, ""),
        ("silent", True, ""),
        ("a", True, "one"),
    ]
    assert seen[0].error is not None
    assert (seen[0].error.error_type, seen[0].error.message) == ("ValueError", "cannot read it")
    assert (len(found.responses), found.failed_count, found.usage.requests) == (2, 1, 1)


@pytest.mark.requirement("PA07")
async def test_too_many_failures_are_an_error_of_the_run_with_every_reason() -> None:
    def strict(results: Sequence[ParticipantResult]) -> str:
        failed = [one.executor_id for one in results if not one.ok]
        if len(failed) * 2 > len(results):
            raise TooManyFailuresError(failed, len(results))
        return "fine"

    def worse(text: str) -> str:
        raise RuntimeError(text)

    both = ConcurrentBuilder("c").participants([broken, worse])
    with pytest.raises(
        TooManyFailuresError, match=r"2 of 2 participants failed .*cannot read it.*RuntimeError"
    ):
        await both.build().run("it")
    with pytest.raises(AggregationError, match="2 of 3"):
        await both.add_participant(says("a", "x")).with_aggregator(strict).build().run("it")
    assert (
        "1"
        in (await ConcurrentBuilder("c").participants([broken, says("a", "1")]).build().run("it"))
        .output(AggregatedResult)
        .text
    )


async def test_an_aggregator_may_be_async_use_the_context_and_give_any_value() -> None:
    async def count(results: Sequence[ParticipantResult], ctx: WorkflowContext) -> dict[str, Any]:
        return {"count": len(results), "by": str(ctx.executor_id)}

    flow = (
        ConcurrentBuilder("c").participants([says("a", "x"), says("b", "y")]).with_aggregator(count).build()
    )
    assert (await flow.run("go")).outputs == ({"count": 2, "by": "aggregator"},)


async def test_an_argument_with_a_default_is_the_aggregators_own() -> None:
    def most(results: Sequence[ParticipantResult], least: int = 1, *, sep: str = "+") -> str:
        return sep.join(one.text for one in results[:least])

    flow = ConcurrentBuilder("c").participants([says("a", "x"), says("b", "y")]).with_aggregator(most).build()
    assert (await flow.run("go")).output(AggregatedResult).text == "x"


@pytest.mark.requirement("PA09")
async def test_a_model_writes_one_answer_of_all_and_knows_who_failed() -> None:
    model = ScriptedModel(["Both say yes."])
    flow = (
        ConcurrentBuilder("c")
        .participants([says("legal", "yes"), broken, says("market", "yes!")])
        .with_aggregator(model_synthesis(model))
        .build()
    )
    found = (await flow.run("May we?")).output(AggregatedResult)
    assert (found.text, found.failed_count, found.usage.requests) == ("Both say yes.", 1, 3)
    prompt = model.requests[0].messages[0].text
    assert prompt == "legal:\nyes\n\nbroken:\n(failed with ValueError)\n\nmarket:\nyes!"


async def test_a_participant_that_waits_for_a_person_holds_the_aggregator_up() -> None:
    async def ask(text: str, ctx: WorkflowContext) -> str:
        return await ctx.request_info(text, str)

    store = MemoryCheckpointStore()
    flow = ConcurrentBuilder("c").participants([says("a", "one"), ask]).build()
    waiting = await flow.run("go", run_id="r", checkpoints=store)
    assert not waiting.outputs
    answers = {waiting.pending_requests[0].id: "two"}
    found = (await flow.resume("r", checkpoints=store, responses=answers)).output(AggregatedResult)
    assert [one.text for one in found.responses] == ["one", "two"]


def test_one_participant_is_too_few() -> None:
    with pytest.raises(InvalidPatternError, match="at least 2"):
        ConcurrentBuilder("c").participants([says("a")]).build()
