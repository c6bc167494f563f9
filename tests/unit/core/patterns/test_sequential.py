"""Sequences: each participant gets the whole conversation so far."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.core.patterns.casts import hears, says, spoken

from agentic.core import Executor, WorkflowBuilder, WorkflowContext, executor, handler
from agentic.core.agents import AgentExecutor, AgentStoppedError, UsageLimits
from agentic.core.graph import InvalidGraphError, RetryPolicy
from agentic.core.llm import ChatMessage, OverloadedError, ScriptedModel, ToolCall
from agentic.core.patterns import (
    ConditionalGate,
    InvalidPatternError,
    PatternResult,
    SequentialBuilder,
    Summarizer,
)


def shout(text: str) -> str:
    return text.upper()


class Numbered(Executor):
    """A transformer: it sends a conversation of its own."""

    @handler
    async def on_conversation(self, said: list[ChatMessage], ctx: WorkflowContext[list[ChatMessage]]) -> None:
        await ctx.send_message([*said, ChatMessage.assistant(f"{len(said)} messages", author_name=self.id)])


class Counter(Executor):
    @handler
    async def on_text(self, text: str) -> int:
        return len(text)


class Deaf(Executor):
    @handler
    async def on_number(self, number: int) -> int:
        return number


@pytest.mark.requirement("PA01")
async def test_every_participant_gets_the_whole_conversation_so_far() -> None:
    heard: list[list[str]] = []
    flow = (
        SequentialBuilder.new("s")
        .add_participant(hears("writer", heard, "A draft."))
        .add_participant(hears("reviewer", heard, "Good."))
        .add_participant(hears("polisher", heard, "Shiny."))
        .build()
    )
    result = (await flow.run("Write!")).output(PatternResult)
    assert heard == [["Write!"], ["Write!", "A draft."], ["Write!", "A draft.", "Good."]]
    assert spoken(result) == [
        (None, "Write!"),
        ("writer", "A draft."),
        ("reviewer", "Good."),
        ("polisher", "Shiny."),
    ]
    assert (result.text, result.round_count, result.usage.requests) == ("Shiny.", 3, 3)


async def test_participants_are_agents_functions_executors_workflows_and_patterns() -> None:
    async def whole(said: list[ChatMessage]) -> ChatMessage:
        return ChatMessage.assistant(f"{len(said)} so far")

    inner = SequentialBuilder("inner").participants([says("a", "one"), says("b", "two")]).build()
    plain = WorkflowBuilder("plain").set_start(executor(id="echo")(shout)).build()
    parts: list[Any] = [
        inner,
        shout,
        Counter("count"),
        plain,
        AgentExecutor(says("c", "three"), id="third"),
        whole,
    ]
    result = (await SequentialBuilder("s").participants(parts).build().run("go")).output(PatternResult)
    assert spoken(result) == [
        (None, "go"),
        ("inner", "two"),
        ("shout", "TWO"),
        ("count", "3"),
        ("plain", "3"),
        ("third", "three"),
        ("whole", "6 so far"),
    ]


@pytest.mark.requirement("PA02")
async def test_a_transformer_changes_the_conversation_for_those_after_it() -> None:
    heard: list[list[str]] = []
    model = ScriptedModel(["They agreed on blue."])
    flow = (
        SequentialBuilder("s")
        .participants(
            [
                says("a", "red?"),
                says("b", "blue!"),
                Summarizer("summary", model),
                Numbered("numbers"),
                hears("c", heard),
            ]
        )
        .build()
    )
    result = (await flow.run("Which colour?")).output(PatternResult)
    assert heard == [["Which colour?", "They agreed on blue.", "2 messages"]]
    assert [author for author, _ in spoken(result)] == [None, "summary", "numbers", "c"]
    assert "b: blue!" in model.requests[0].messages[0].text
    assert (result.round_count, result.usage.requests) == (3, 4)


async def test_a_transformer_at_the_end_gives_the_result_of_the_sequence() -> None:
    flow = SequentialBuilder("s").participants([says("a", "one"), Numbered("numbers")]).build()
    result = (await flow.run("go")).output(PatternResult)
    assert spoken(result) == [(None, "go"), ("a", "one"), ("numbers", "2 messages")]


@pytest.mark.requirement("PA03")
@pytest.mark.parametrize(("verdict", "last"), [("approved", "reviewer"), ("too long", "polisher")])
async def test_a_gate_ends_the_sequence_early(verdict: str, last: str) -> None:
    gate = ConditionalGate("gate", lambda said: "approved" in said[-1].text)
    flow = (
        SequentialBuilder("s")
        .participants([says("writer", "A draft."), says("reviewer", verdict), gate, says("polisher", "x")])
        .build()
    )
    run = await flow.run("Write!")
    assert [spoken(one)[-1][0] for one in run.outputs if isinstance(one, PatternResult)] == [last]
    assert ("gate" in run.output(PatternResult).reason) is (last == "reviewer")


async def test_a_gate_may_wait_for_its_condition() -> None:
    async def never(_: object) -> bool:
        return False

    flow = SequentialBuilder("s").participants([ConditionalGate("gate", never), says("a", "one")]).build()
    assert (await flow.run("go")).output(PatternResult).text == "one"


async def test_the_options_of_an_agents_node_are_kept() -> None:
    heard: list[list[str]] = []
    node = AgentExecutor(
        hears("b", heard), context="last", retry=RetryPolicy(max_attempts=3, first_delay_s=0)
    )
    flow = SequentialBuilder("s").participants([says("a", "one"), node]).build()
    await flow.run("go")
    assert heard == [["one"]]
    assert flow.graph.executors[node.id].retry == node.retry


async def test_a_failed_participant_is_tried_again_by_its_policy() -> None:
    agent = says("a", OverloadedError("m", "busy"), "fine")
    node = AgentExecutor(agent, retry=RetryPolicy(max_attempts=2, first_delay_s=0))
    result = await SequentialBuilder("s").participants([node]).build().run("go")
    assert result.output(PatternResult).text == "fine"


async def test_an_agent_that_reaches_its_limit_fails_the_sequence() -> None:
    call = ToolCall(id="", name="shout", arguments={"text": "x"})
    agent = says("a", call, tools=[shout], limits=UsageLimits(max_model_calls=1))
    with pytest.raises(AgentStoppedError):
        await SequentialBuilder("s").participants([agent]).build().run("go")


def test_what_cannot_take_part_is_refused_with_its_name() -> None:
    with pytest.raises(InvalidPatternError, match="at least 1"):
        SequentialBuilder("s").build()
    with pytest.raises(
        InvalidPatternError, match=r"'deaf' takes int; a participant takes list\[ChatMessage\]"
    ):
        SequentialBuilder("s").participants([Deaf("deaf")]).build()
    with pytest.raises(InvalidPatternError, match="'writer' is a name"):
        SequentialBuilder("s").participants(["writer"]).build()  # type: ignore[list-item]  # a mistake
    with pytest.raises(InvalidGraphError, match="two executors have the id 'a'"):
        SequentialBuilder("s").participants([says("a"), says("a")]).build()
