"""Patterns are plain workflows: they stand in each other, in graphs and in agents."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.unit.core.patterns.casts import says, spoken

from agentic.core import MemoryCheckpointStore, Workflow, WorkflowBuilder
from agentic.core.agents import AgentExecutorResponse, ChatAgent, chat_messages, total_usage
from agentic.core.graph import InvalidGraphError, replay
from agentic.core.llm import (
    ChatMessage,
    ChatRole,
    DataPart,
    FunctionModel,
    ModelRequest,
    ScriptedModel,
    TextPart,
    ToolCall,
)
from agentic.core.patterns import (
    AggregatedResult,
    ConcurrentBuilder,
    GroupChatBuilder,
    HandoffBuilder,
    MagenticBuilder,
    PatternResult,
    SequentialBuilder,
    handoff,
)
from agentic.core.types import RunId

PLAN = json.dumps({"steps": [{"agent_id": "w", "instruction": "work"}]})
SOLVED = json.dumps({"is_request_satisfied": True})


def each_pattern() -> dict[str, Workflow]:
    return {
        "sequential": SequentialBuilder("sequential").participants([says("a", "1"), says("b", "2")]).build(),
        "concurrent": ConcurrentBuilder("concurrent").participants([says("c", "1"), says("d", "2")]).build(),
        "chat": GroupChatBuilder("chat").participants([says("e", "1")]).with_max_iterations(1).build(),
        "mesh": handoff("mesh", [says("f", "done"), says("g")]),
        "magentic": MagenticBuilder("magentic")
        .participants([says("w", "worked")])
        .with_manager(ScriptedModel([PLAN, SOLVED, "answer"]))
        .build(),
    }


async def test_each_pattern_is_a_participant_of_each_other_one() -> None:
    parts = list(each_pattern().values())
    result = await SequentialBuilder("all").participants(parts).build().run("go")
    assert spoken(result.output(PatternResult)) == [
        (None, "go"),
        ("sequential", "2"),
        ("concurrent", "c: 1\n\nd: 2"),
        ("chat", "1"),
        ("mesh", "done"),
        ("magentic", "answer"),
    ]
    assert result.output(PatternResult).usage.requests == 10
    at_once = ConcurrentBuilder("all").participants(each_pattern().values()).build()
    found = (await at_once.run("go", run_id="r", checkpoints=MemoryCheckpointStore())).output(
        AggregatedResult
    )
    assert [one.text for one in found.responses] == ["2", "c: 1\n\nd: 2", "1", "done", "answer"]


@pytest.mark.parametrize("name", list(each_pattern()))
async def test_each_pattern_is_an_agent_alone_in_a_graph_and_as_a_tool(name: str) -> None:
    wanted = {
        "sequential": "2",
        "concurrent": "c: 1\n\nd: 2",
        "chat": "1",
        "mesh": "done",
        "magentic": "answer",
    }
    alone = await each_pattern()[name].as_agent("team").run("go")
    assert (alone.text, alone.data) == (wanted[name], None)
    assert alone.usage.requests >= 1
    flow = WorkflowBuilder("w").set_start(each_pattern()[name].as_agent("team")).build()
    stored = await flow.run("go", run_id="r", checkpoints=MemoryCheckpointStore())
    assert stored.output(AgentExecutorResponse).text == wanted[name]
    call = ToolCall(id="", name="team", arguments={"task": "go"})
    boss = ChatAgent(ScriptedModel([call, "done"]), tools=[each_pattern()[name].as_agent("team")])
    answer = await boss.run("go")
    assert answer.messages[1].tool_results[0].content == wanted[name]


async def test_a_pattern_stands_beside_other_nodes_of_a_graph() -> None:
    chat = (
        GroupChatBuilder("chat")
        .participants([says("a", "one"), says("b", "two")])
        .with_max_iterations(2)
        .build()
    )
    closing = says("closing", "three")
    flow = WorkflowBuilder("w").set_start(chat).add_edge(chat, closing).build()
    run = await flow.run("go", run_id="r", checkpoints=MemoryCheckpointStore())
    said = run.output(AgentExecutorResponse).full_conversation
    assert [one.author_name for one in said] == [None, "a", "b", "closing"]


async def test_a_result_is_messages_and_usage_for_everything_that_reads_runs() -> None:
    run = await each_pattern()["sequential"].run("go")
    assert [one.text for one in chat_messages(run)] == ["go", "1", "2"]
    assert total_usage(run).requests == 2


@pytest.mark.parametrize("name", list(each_pattern()))
async def test_each_pattern_is_drawn_and_replayed(name: str) -> None:
    flow = each_pattern()[name]
    picture = flow.to_mermaid()
    assert all(f'"{node}"' in picture for node in flow.graph.executors)
    assert flow.to_svg().startswith("<svg")
    run = await flow.run("go")
    view = replay(run.events)[-1]
    assert view.status == run.status
    assert {path.partition("/")[0] for path in view.executors} <= set(flow.graph.executors)


async def test_stored_bytes_of_a_chat_grow_with_its_messages_not_with_their_square() -> None:
    async def stored_bytes(turns: int) -> int:
        parts = [says(name, *["x" * 500] * turns) for name in ("a", "b")]
        chat = GroupChatBuilder("chat").participants(parts).with_max_iterations(turns).build()
        store = MemoryCheckpointStore()
        result = await chat.run("go", run_id="r", checkpoints=store)
        assert result.output(PatternResult).round_count == turns
        return sum(one.size_bytes for one in await store.list_metadata(run_id=RunId("r")))

    few, many, most = [await stored_bytes(turns) for turns in (10, 40, 100)]
    assert (few < 38_000, many < 4 * few, most < 10 * few) == (True, True, True)


async def test_a_run_continues_with_a_changed_limit_but_not_with_another_cast() -> None:
    def chat(*names: str, turns: int = 2) -> Any:
        parts = [says(name, "x", "y") for name in names]
        return GroupChatBuilder("chat").participants(parts).with_max_iterations(turns).build()

    assert chat("a", "b").signature.shape == chat("a", "b").signature.shape
    assert chat("a", "b").signature.shape != chat("a", "c").signature.shape


def test_one_agent_takes_part_in_several_patterns() -> None:
    agent = says("a")
    both = [
        SequentialBuilder("s").participants([agent]).build(),
        HandoffBuilder("h").participants([agent, says("b")]).build(),
    ]
    assert [next(iter(flow.graph.executors)) for flow in both] == ["a", "a"]
    with pytest.raises(InvalidGraphError):
        SequentialBuilder("s").participants([agent, agent]).build()


@pytest.mark.parametrize("is_agent", [False, True], ids=["workflow", "agent"])
async def test_a_person_is_asked_through_patterns_in_each_other(is_agent: bool) -> None:
    call = ToolCall(id="", name="handoff_to_person", arguments={"reason": "Which?"})
    desk = HandoffBuilder("desk").participants([says("clerk", call, "Blue.")]).with_person().build()
    inner: Any = desk.as_agent("desk") if is_agent else desk
    chat = GroupChatBuilder("chat").participants([inner, says("b", "fine")]).with_max_iterations(2).build()
    flow = SequentialBuilder("press").participants([chat, says("editor", "Done.")]).build()
    store = MemoryCheckpointStore()
    waiting = await flow.run("A lamp", run_id="r", checkpoints=store)
    (request,) = waiting.pending_requests
    assert request.path.startswith("chat/desk")
    done = await flow.resume("r", checkpoints=store, responses={request.id: "the blue one"})
    assert spoken(done.output(PatternResult)) == [(None, "A lamp"), ("chat", "fine"), ("editor", "Done.")]


async def test_runs_of_one_pattern_at_a_time_do_not_mix() -> None:
    def reply(request: ModelRequest) -> str:
        return request.messages[0].text * len(request.messages)

    agents = [ChatAgent(FunctionModel(reply), name=name) for name in ("a", "b")]
    chat = GroupChatBuilder("chat").participants(agents).with_max_iterations(3).build()
    runs = await asyncio.gather(*(chat.run(word) for word in "xyz"))
    texts = [[text for _, text in spoken(run.output(PatternResult))] for run in runs]
    assert texts == [[word * count for count in (1, 1, 2, 3)] for word in "xyz"]


async def test_data_and_images_of_a_request_reach_every_participant() -> None:
    seen: list[list[str]] = []

    def look(request: ModelRequest) -> str:
        seen.append(
            [part.media_type for one in request.messages for part in one.parts if isinstance(part, DataPart)]
        )
        return "a lamp"

    picture = ChatMessage.user("What is it?", DataPart(media_type="image/png", url="https://x.test/a.png"))
    agents = [ChatAgent(FunctionModel(look), name=name) for name in ("a", "b")]
    chat = GroupChatBuilder("chat").participants(agents).with_max_iterations(2).build()
    await chat.run(picture, run_id="r", checkpoints=MemoryCheckpointStore())
    await SequentialBuilder("s").participants(agents).build().run(picture)
    assert seen == [["image/png"]] * 4


async def test_facts_of_the_application_stay_with_their_message() -> None:
    asked = ChatMessage(role=ChatRole.USER, parts=(TextPart(text="go"),), meta={"ticket": {"id": 7}})
    chat = GroupChatBuilder("chat").participants([says("a", "x")]).with_max_iterations(1).build()
    run = await chat.run([asked], run_id="r", checkpoints=MemoryCheckpointStore())
    assert run.output(PatternResult).conversation[0] == asked
