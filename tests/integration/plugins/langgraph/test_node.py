"""A graph of LangGraph as an executor of our graphs."""

from __future__ import annotations

import asyncio
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from tests.integration.plugins.langgraph import graphs

from agentic.core import Workflow, WorkflowBuilder
from agentic.core.agents import ChatAgent
from agentic.core.bus.memory.kv import MemoryKeyValue
from agentic.core.graph import (
    ApprovalRequest,
    MemoryCheckpointStore,
    RunResult,
    RunStatus,
    WorkflowContext,
    executor,
)
from agentic.core.llm import ScriptedModel
from agentic.plugins.langgraph import (
    GraphNotLoadedError,
    GraphOptions,
    LangGraphError,
    LangGraphExecutor,
    LangGraphResult,
    NatsSaver,
    ThreadTakenError,
    as_langgraph_node,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(graphs.NOTES, str(tmp_path))
    file = tmp_path / "notes.txt"
    file.touch()
    return file


@pytest.fixture
def saver() -> NatsSaver:
    return NatsSaver(MemoryKeyValue())


def entered(notes: Path) -> list[str]:
    """Return the functions that were entered, in order."""
    return notes.read_text().splitlines()


def flow(graph: object, saver: NatsSaver | None = None, **options: Any) -> Workflow:
    node = LangGraphExecutor(graph, saver=saver, options=GraphOptions(**options))
    return WorkflowBuilder("flow", version="1").set_start(node).build()


def questions(result: RunResult) -> dict[str, Any]:
    return {request.id: request.data for request in result.pending_requests}


async def test_interrupts_are_requests_and_finished_nodes_are_not_repeated(
    notes: Path, saver: NatsSaver
) -> None:
    (notes.parent / "gate").touch()
    store = MemoryCheckpointStore()
    result = await flow(graphs.trip, saver).run({"city": "Oslo"}, run_id="r", checkpoints=store)
    for asked, answer in (({"question": "who goes?"}, "Ann"), ("when?", {"day": 7})):
        assert result.status is RunStatus.WAITING_INPUT
        ((request_id, data),) = questions(result).items()
        assert data == {"value": asked, "node": "talk"}
        # Another process, with nothing but the stores:
        result = await flow(graphs.trip, saver).resume("r", checkpoints=store, responses={request_id: answer})
    done = result.output(LangGraphResult)
    assert done.values == {
        "city": "Oslo",
        "found": [
            "found Oslo 0", "found Oslo 1", "found Oslo 2",
            "found Oslo 0", "found Oslo 1", "found Oslo 2", "Ann on {'day': 7}", "left",
        ],
        "plan": "done",
    }  # fmt: skip  # the nested graph gives its whole list back
    calls = entered(notes)
    assert sorted(calls[:4]) == ["look Oslo 0", "look Oslo 1", "look Oslo 2", "route"]
    # LangGraph starts a node that asks from its top.
    assert calls[4:] == ["ask", "ask", "ask", "asked", "gate", "leave"]


async def test_parts_of_the_stream_are_live_events(notes: Path, saver: NatsSaver) -> None:
    (notes.parent / "gate").touch()
    stream = flow(graphs.trip, saver).run_stream({"city": "Oslo"}, checkpoints=MemoryCheckpointStore())
    found = [event.data async for event in stream if event.kind == "custom"]
    kinds = {str(one["type"]) for one in found}
    assert kinds == {"langgraph.tasks", "langgraph.updates", "langgraph.custom"}
    custom: list[Any] = [one["data"] for one in found if one["type"] == "langgraph.custom"]
    assert sorted(one["data"]["looked"] for one in custom) == ["Oslo 0", "Oslo 1", "Oslo 2"]
    tasks: list[Any] = [one["data"] for one in found if one["type"] == "langgraph.tasks"]
    assert ("ask", "interrupted") in {(one["node"], one["status"]) for one in tasks}
    assert any(one["ns"] and one["ns"][0].startswith("talk:") for one in tasks)


async def test_the_text_of_models_streams_like_that_of_our_agents(notes: Path) -> None:
    (notes.parent / "gate").touch()
    stream = flow(graphs.agent).run_stream("How is it in Oslo?")
    events: list[Any] = [event.data async for event in stream if event.kind == "custom"]
    said = [one["data"] for one in events if one["type"] in ("agent.response_update", "langgraph.message")]
    assert [(one["agent"], one["text"]) for one in said] == [("agent", "It is sunny.")]
    result = (await stream.result()).output(LangGraphResult)
    assert (result.text, result.steps) == ("It is sunny.", 3)
    messages: Any = result.values["messages"]
    assert [one["type"] for one in messages] == ["human", "ai", "tool", "ai"]
    assert messages[1]["tool_calls"][0]["args"] == {"city": "Oslo"}


async def test_agents_and_graphs_follow_each_other(notes: Path) -> None:
    (notes.parent / "gate").touch()
    first = ChatAgent(ScriptedModel(["How is it in Oslo?"]), name="asker")
    node = LangGraphExecutor(graphs.agent, id="weather")
    built = WorkflowBuilder("w", version="1").set_start(first).add_edge(first.name, node).build()
    result = (await built.run("Ask.")).output(LangGraphResult)
    messages: Any = result.values["messages"]
    assert [one["content"] for one in messages[:2]] == ["Ask.", "How is it in Oslo?"]


async def test_an_answer_that_does_not_fit_its_schema_is_asked_for_again(saver: NatsSaver) -> None:
    store = MemoryCheckpointStore()
    built = flow(graphs.seat, saver)
    result = await built.run({"city": "Oslo"}, run_id="r", checkpoints=store)
    ((first, data),) = questions(result).items()
    assert data["response_schema"]["properties"]["row"] == {"title": "Row", "type": "integer"}
    result = await built.resume("r", checkpoints=store, responses={first: {"row": "window"}})
    ((second, data),) = questions(result).items()
    assert data["refused"] == "the last answer does not fit: row: 'window' is not of type 'integer'"
    result = await built.resume("r", checkpoints=store, responses={second: {"row": 3}})
    assert result.output(LangGraphResult).values["plan"] == "row 3"


async def test_a_state_that_a_person_edits_while_the_run_waits_is_continued(
    notes: Path, saver: NatsSaver
) -> None:
    (notes.parent / "gate").touch()
    store = MemoryCheckpointStore()
    built = flow(graphs.trip().compile(), saver, thread="kept")
    result = await built.run({"city": "Oslo"}, run_id="r", checkpoints=store)
    editor = graphs.trip().compile(checkpointer=saver)
    await editor.aupdate_state({"configurable": {"thread_id": "kept"}}, {"found": ["edited"]}, as_node="talk")
    ((request_id, _),) = questions(result).items()
    result = await built.resume("r", checkpoints=store, responses={request_id: "Ann"})
    found: Any = result.output(LangGraphResult).values["found"]
    assert found[-2:] == ["edited", "left"]
    assert entered(notes).count("route") == 1
    again = await built.run({"city": "Rome"}, run_id="next", checkpoints=store)
    assert entered(notes).count("route") == 2
    assert again.status is RunStatus.WAITING_INPUT


async def test_breakpoints_of_a_graph_are_approvals(saver: NatsSaver) -> None:
    store = MemoryCheckpointStore()
    built = flow(graphs.careful, saver)
    result = await built.run({"city": "Oslo"}, run_id="r", checkpoints=store)
    asked = []
    while result.pending_requests:
        ((request_id, data),) = questions(result).items()
        assert isinstance(data, ApprovalRequest)
        asked.append(data.action)
        result = await built.resume("r", checkpoints=store, responses={request_id: {"approved": True}})
    assert asked == ["continue with first", "continue with second"]
    assert result.output(LangGraphResult).values["found"] == ["first", "second"]


async def test_a_failed_try_repeats_only_the_nodes_that_have_failed(notes: Path, saver: NatsSaver) -> None:
    from agentic.core.graph import RetryPolicy

    node = LangGraphExecutor(
        graphs.broken,
        saver=saver,
        retry=RetryPolicy(max_attempts=3, first_delay_s=0.0, retry_on=(ValueError,)),
    )
    built = WorkflowBuilder("flow", version="1").set_start(node).build()
    with pytest.raises(ValueError, match="no luck"):
        await built.run({"city": "Oslo"})
    calls = entered(notes)
    assert (calls.count("good"), calls.count("bad")) == (1, 3)


async def test_finished_tasks_of_the_functional_api_are_not_repeated(notes: Path, saver: NatsSaver) -> None:
    store = MemoryCheckpointStore()
    work = asyncio.ensure_future(
        flow(graphs.doubled, saver).run({"numbers": [1, 2, 3]}, run_id="r", checkpoints=store)
    )
    while "gate" not in entered(notes):  # noqa: ASYNC110 - a task writes it
        await asyncio.sleep(0.01)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    (notes.parent / "gate").touch()
    result = await flow(graphs.doubled, saver).resume("r", checkpoints=store)
    assert result.output(LangGraphResult).values == {"value": [2, 4, 6]}
    assert entered(notes) == ["double 1", "double 2", "gate", "double 2", "gate", "double 3"]


async def test_a_thread_of_a_run_and_a_named_thread_remember(saver: NatsSaver) -> None:
    remember = flow(graphs.careful().builder.compile(), saver, thread="kept", history="latest")
    await remember.run({"city": "Oslo"})
    result = await remember.run({"city": "Oslo"})
    assert result.output(LangGraphResult).values["found"] == ["first", "second"] * 2
    assert len([one async for one in saver.alist({"configurable": {"thread_id": "kept"}})]) == 1


async def test_a_thread_that_another_run_has_left_in_the_middle_is_refused(saver: NatsSaver) -> None:
    store = MemoryCheckpointStore()
    built = flow(graphs.seat, saver, thread="kept")
    await built.run({"city": "Oslo"}, run_id="first", checkpoints=store)
    node = LangGraphExecutor(graphs.seat, saver=saver, options=GraphOptions(thread="kept"))
    node.retry = None
    refused = WorkflowBuilder("flow", version="1").set_start(node).build()
    with pytest.raises(ThreadTakenError, match="run first has not ended in it; answer its requests"):
        await refused.run({"city": "Rome"}, run_id="second", checkpoints=MemoryCheckpointStore())
    over = LangGraphExecutor(
        graphs.seat, saver=saver, options=GraphOptions(thread="kept"), is_active=lambda run: run != "first"
    )
    taken = WorkflowBuilder("flow", version="1").set_start(over).build()
    result = await taken.run({"city": "Rome"}, run_id="third", checkpoints=MemoryCheckpointStore())
    assert [one["value"] for one in questions(result).values()] == ["which seat?"]


async def test_a_worker_that_stops_lets_the_node_end_and_begins_no_other(
    notes: Path, saver: NatsSaver
) -> None:
    store = MemoryCheckpointStore()
    numbers = LangGraphExecutor(graphs.trip, saver=saver, id="graph")
    (notes.parent / "none").touch()
    built = WorkflowBuilder("flow", version="1").set_start(numbers).build()
    result = await built.run({"city": "Oslo"}, run_id="r", checkpoints=store)
    ((first, _),) = questions(result).items()
    result = await built.resume("r", checkpoints=store, responses={first: "Ann"})
    ((second, _),) = questions(result).items()
    work = asyncio.ensure_future(built.resume("r", checkpoints=store, responses={second: "May"}))
    while "gate" not in entered(notes):  # noqa: ASYNC110 - a node writes it
        await asyncio.sleep(0.01)
    work.cancel("its worker was stopped")
    await asyncio.sleep(0.05)
    (notes.parent / "gate").touch()
    with pytest.raises(asyncio.CancelledError):
        await work
    state = await (await numbers.graph()).aget_state({"configurable": {"thread_id": "r:graph.0.0"}})
    assert (state.next, state.values["plan"]) == (("leave",), "done")
    assert "leave" not in entered(notes)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("graphs", "name it as"),
        ("os:path", "is not trusted"),
        ("tests.nothing:graph", "No module named"),
        (f"{graphs.__name__}:nothing", "has no attribute"),
        (f"{graphs.__name__}:NOTES", "it is a str"),
        (f"{graphs.__name__}:note", "a function that returns"),
    ],
)
def test_a_graph_that_cannot_be_used_is_named_with_the_reason(name: str, reason: str, notes: Path) -> None:
    from agentic.plugins.langgraph.running.graphs import load_graph

    with pytest.raises(GraphNotLoadedError, match=reason):
        load_graph(name, ["tests"])


@executor(id="approve")
async def approve(text: str, ctx: WorkflowContext) -> str:
    response = await ctx.request_approval(f"send {text}")
    return f"sent {text}: {response.reason}"


async def test_a_workflow_is_a_node_and_its_requests_are_interrupts(saver: NatsSaver) -> None:
    from langgraph.graph import START, StateGraph
    from langgraph.types import Command

    inner = WorkflowBuilder("mail", version="1").set_start(approve).build()
    node = as_langgraph_node(inner, message="city", output="plan")
    graph = StateGraph(graphs.Trip).add_node("mail", node).add_edge(START, "mail").compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}
    asked = (await graph.ainvoke({"city": "Oslo"}, config))["__interrupt__"][0]
    assert asked.value["data"]["action"] == "send Oslo"
    ended = await graph.ainvoke(Command(resume={asked.id: {"approved": True, "reason": "fine"}}), config)
    assert ended == {"city": "Oslo", "found": [], "plan": "sent Oslo: fine"}
    # Within an agent of ours, the interrupt is a request of our run again.
    store = MemoryCheckpointStore()
    outer = flow(graph, NatsSaver(MemoryKeyValue()))
    result = await outer.run({"city": "Rome"}, run_id="r", checkpoints=store)
    ((request_id, data),) = questions(result).items()
    assert data["value"]["data"]["action"] == "send Rome"
    result = await outer.resume(
        "r", checkpoints=store, responses={request_id: {"approved": True, "reason": "ok"}}
    )
    assert result.output(LangGraphResult).values["plan"] == "sent Rome: ok"


class PlainState(TypedDict):
    """A state as most programs write it: not the ``TypedDict`` of typing_extensions."""

    messages: Annotated[list[Any], operator.add]
    city: str


async def test_a_text_is_the_message_of_a_graph_with_a_plain_state_and_wrong_names_are_refused() -> None:
    def say(state: PlainState) -> dict[str, str]:
        return {"city": state["messages"][0].content}

    graph = StateGraph(PlainState).add_node("say", say)
    flows = flow(graph.add_edge(START, "say"))
    assert (await flows.run("Oslo")).output(LangGraphResult).values["city"] == "Oslo"
    with pytest.raises(
        LangGraphError, match=r"takes messages, city, and its input has none of them, but ctiy"
    ):
        await flows.run({"ctiy": "Oslo"})
