"""Which facts the events of a run carry."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from agentic.core import (
    EventKind,
    Executor,
    ExecutorKind,
    RunResult,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
)


@dataclass(frozen=True)
class Draft:
    """A message."""

    text: str


class Writer(Executor):
    """Takes texts and drafts."""

    def __init__(self) -> None:
        super().__init__("write", kind=ExecutorKind.WORKER)

    @handler
    async def from_text(self, text: str, ctx: WorkflowContext[Draft, int]) -> None:
        ctx.log("info", "writing", words=len(text.split()))
        ctx.set_state("words", len(text.split()))
        await ctx.send_message(Draft(text))
        await ctx.yield_output(len(text))

    @handler
    async def from_draft(self, draft: Draft, ctx: WorkflowContext[Draft, int]) -> None:
        await ctx.send_message(draft, target="check")


@executor(id="check", kind=ExecutorKind.VALIDATOR)
async def check(draft: Draft) -> bool:
    return bool(draft.text)


async def run(message: object) -> RunResult:
    return (
        await WorkflowBuilder("facts", version="3")
        .set_start(Writer())
        .add_edge("write", check)
        .build()
        .run(message)
    )


def facts(result: RunResult, kind: EventKind) -> list[dict[str, object]]:
    return [dict(event.data) for event in result.events if event.kind is kind]


@pytest.mark.requirement("EN19", "EX01", "EX03", "EX04", "EX25")
async def test_start_tells_which_workflow_it_is_and_its_input() -> None:
    (started,) = facts(await run("two words"), EventKind.RUN_STARTED)
    assert started == {"workflow": "facts", "version": "3", "starts": ["write"], "input": "two words"}


@pytest.mark.requirement("EN14", "EN15", "EN21", "ED13")
async def test_completed_executor_tells_what_it_sent_wrote_and_yielded() -> None:
    result = await run("two words")
    written, checked = facts(result, EventKind.EXECUTOR_COMPLETED)
    name = f"{Draft.__module__}.Draft"
    assert written == {
        "sends": [{"message": {"$": name, "v": {"text": "two words"}}}],
        "outputs": [9],
        "writes": [["words", 2]],
    }
    assert checked == {"sends": [], "outputs": [True]}
    assert all(
        event.duration_s is not None for event in result.events if event.kind is EventKind.EXECUTOR_COMPLETED
    )


@pytest.mark.requirement("EN25", "EN30", "ED01", "ED16")
async def test_superstep_tells_what_was_carried_and_what_changed() -> None:
    result = await run("two words")
    assert facts(result, EventKind.EDGE_ACTIVATED) == [
        {"edge": "write->check", "sources": ["write"], "targets": ["check"], "message_count": 1}
    ]
    first, last = facts(result, EventKind.SUPERSTEP_COMPLETED)
    assert first == {"activation_count": 1, "delivery_count": 1, "state": {"words": 2}}
    assert last == {"activation_count": 1, "delivery_count": 0}
    assert [output["value"] for output in facts(result, EventKind.OUTPUT)] == [9, True]


@pytest.mark.requirement("CX08", "CX17")
async def test_line_of_log_is_an_event_with_level_time_and_facts() -> None:
    flow = WorkflowBuilder("facts").set_start(Writer()).add_edge("write", check).build()
    lines = [event async for event in flow.run_stream("two words") if event.kind is EventKind.EXECUTOR_LOG]
    assert [(line.data["level"], line.data["message"], line.data["facts"]) for line in lines] == [
        ("info", "writing", {"words": 2})
    ]
    assert lines[0].time > 0


async def test_message_of_another_type_goes_to_the_other_handler() -> None:
    result = await run(Draft("x"))
    assert result.outputs == (True,)


async def test_later_changes_of_a_message_do_not_change_what_was_told() -> None:
    @executor(id="make")
    async def make(text: str) -> list[str]:
        return [text]

    @executor(id="spoil")
    async def spoil(parts: list[str]) -> None:
        parts.append("spoiled")

    result = await WorkflowBuilder("w").set_start(make).add_edge(make, spoil).build().run("x")
    told = [event.data.get("input") for event in result.events if event.path == "spoil"]
    assert told[0] == ["x"]
