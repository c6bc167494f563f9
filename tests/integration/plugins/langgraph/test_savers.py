"""Threads of LangGraph in our stores: the published suite, and what it does not ask."""

from __future__ import annotations

import asyncio
import operator
import random
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from agentic.core.bus.memory.kv import MemoryKeyValue
from agentic.plugins.langgraph import NatsSaver, StoredStateError, ThreadTakenError, UnknownStateTypeError
from agentic.plugins.langgraph.errors import ThreadNameError, ThreadNotCopiedError
from agentic.plugins.langgraph.savers.saver import AgenticSaver

pytestmark = pytest.mark.integration

on_two_stores = pytest.mark.parametrize("kind", ["bucket", "sqlite"], indirect=True)
"""For behaviour that servers add nothing to."""


def thread(name: str = "t", **more: object) -> Any:
    return {"configurable": {"thread_id": name, **more}}


class State(TypedDict):
    said: Annotated[list[str], operator.add]
    left: int


def counting(saver: BaseCheckpointSaver[Any] | None, size: int = 4) -> Any:
    """A graph that adds a text in each step, until none are left."""

    def step(state: State) -> dict[str, Any]:
        number = state["left"]
        return {"said": [random.Random(number).randbytes(size // 2).hex()], "left": number - 1}

    def following(state: State) -> str:
        return "step" if state["left"] > 0 else END

    graph = StateGraph(State).add_node("step", step).add_edge(START, "step")
    return graph.add_conditional_edges("step", following, ["step", END]).compile(checkpointer=saver)


async def history(saver: BaseCheckpointSaver[Any], config: Any) -> list[CheckpointTuple]:
    return [one async for one in saver.alist(config)]


@pytest.mark.requirement("BR01")
async def test_every_check_of_the_published_suite_passes(saver: AgenticSaver) -> None:
    @checkpointer_test(name="ours")
    async def ours() -> AsyncIterator[AgenticSaver]:
        yield saver

    report = await validate(ours)
    assert [fault for one in report.results.values() for fault in one.failures] == []
    assert {name: one.tests_passed for name, one in report.results.items()} == {
        "put": 17, "put_writes": 10, "get_tuple": 10, "list": 16, "delete_thread": 5,
        "delete_for_runs": 7, "copy_thread": 8, "prune": 8,
    }  # fmt: skip


async def test_a_fork_never_changes_the_first_branch(saver: AgenticSaver) -> None:
    graph = counting(saver)
    await graph.ainvoke({"said": ["a"], "left": 4}, thread())
    before = [(one.checkpoint["id"], one.checkpoint) for one in await history(saver, thread())]
    middle = before[2][0]
    forked = await graph.aupdate_state(thread(checkpoint_id=middle), {"said": ["other"]})
    await graph.ainvoke(None, forked)
    for checkpoint_id, checkpoint in before:
        found = await saver.aget_tuple(thread(checkpoint_id=checkpoint_id, checkpoint_ns=""))
        assert found is not None
        assert found.checkpoint == checkpoint
    now = (await graph.aget_state(thread())).values["said"]
    assert now[-2:] == before[0][1]["channel_values"]["said"][-2:]
    assert "other" in now
    assert "other" not in before[0][1]["channel_values"]["said"]


async def test_of_two_runs_on_one_thread_one_is_refused_and_none_is_lost(savers: Any) -> None:
    graphs = [counting(savers()), counting(savers())]
    for start in ("new", "known"):
        config = thread("race")
        inputs = [{"said": [f"{start}{number}"], "left": 3} for number in range(2)]
        ended = await asyncio.gather(
            *(
                graph.ainvoke(given, config, durability="sync")
                for graph, given in zip(graphs, inputs, strict=True)
            ),
            return_exceptions=True,
        )
        refused = [one for one in ended if isinstance(one, ThreadTakenError)]
        went = [one for one in ended if not isinstance(one, BaseException)]
        said = (await graphs[0].aget_state(config)).values["said"]
        if refused:
            assert len(went) == 1, ended
            assert "another run has continued it" in str(refused[0])
            assert said == went[0]["said"]
        else:  # the second began after the end of the first
            assert {f"{start}0", f"{start}1"} <= set(said)


@on_two_stores
async def test_a_run_that_was_overtaken_is_refused_at_its_next_step(savers: Any) -> None:
    """The first run waits in a node until another one has continued the thread."""
    entered, gate = asyncio.Event(), asyncio.Event()

    async def wait(state: State) -> dict[str, Any]:
        entered.set()
        await gate.wait()
        return {"said": ["late"]}

    slow = StateGraph(State).add_node("wait", wait).add_edge(START, "wait").compile(checkpointer=savers())
    quick = counting(savers())
    late = asyncio.ensure_future(slow.ainvoke({"said": ["one"], "left": 0}, thread(), durability="sync"))
    await entered.wait()
    await quick.aupdate_state(thread(), {"said": ["person"], "left": 0}, as_node="step")
    gate.set()
    with pytest.raises(ThreadTakenError, match="thread 't'"):
        await late
    assert (await quick.aget_state(thread())).values["said"] == ["one", "person"]


async def test_pruning_keeps_the_newest_checkpoint_whole_and_frees_the_rest(
    saver: AgenticSaver, savers: Any
) -> None:
    graph = counting(saver, size=3_000)
    await graph.ainvoke({"said": ["a"], "left": 12}, thread())
    await graph.ainvoke({"said": ["b"], "left": 2}, thread("other"))
    values = (await graph.aget_state(thread())).values
    before = await stored_bytes(saver)
    await saver.aprune(["t"])
    assert len(await history(saver, thread())) == 1
    assert (await graph.aget_state(thread())).values == values
    assert await stored_bytes(saver) < before * 0.75
    await graph.ainvoke({"said": ["more"], "left": 2}, thread())
    again = (await graph.aget_state(thread())).values["said"]
    assert again[: len(values["said"])] == values["said"]
    assert len((await graph.aget_state(thread("other"))).values["said"]) == 3
    await saver.aprune(["t", "other"], strategy="delete")
    assert await history(saver, None) == []
    assert await stored_bytes(saver) == 0


@on_two_stores
async def test_removing_a_run_leaves_the_values_of_the_others(saver: AgenticSaver) -> None:
    graph = counting(saver, size=3_000)
    for run in ("one", "two"):
        await graph.ainvoke({"said": [run], "left": 3}, {**thread(), "metadata": {"run_id": run}})
    values = (await graph.aget_state(thread())).values
    await saver.adelete_for_runs(["one"])
    assert {one.metadata.get("run_id") for one in await history(saver, thread())} == {"two"}
    assert (await graph.aget_state(thread())).values == values
    await saver.adelete_for_runs(["two"])
    assert await stored_bytes(saver) == 0


@on_two_stores
async def test_a_copy_lives_on_its_own(saver: AgenticSaver) -> None:
    graph = counting(saver, size=3_000)
    await graph.ainvoke({"said": ["a"], "left": 5}, thread())
    await saver.acopy_thread("t", "copy")
    with pytest.raises(ThreadNotCopiedError, match="'copy' has checkpoints already"):
        await saver.acopy_thread("t", "copy")
    values = (await graph.aget_state(thread())).values
    await saver.adelete_thread("t")
    assert (await graph.aget_state(thread("copy"))).values == values
    assert len(await history(saver, thread("copy"))) == 7
    await graph.ainvoke({"said": ["b"], "left": 1}, thread("copy"))
    assert len((await graph.aget_state(thread("copy"))).values["said"]) == len(values["said"]) + 2


async def test_a_thread_that_misses_a_piece_is_not_copied() -> None:
    bucket = MemoryKeyValue()
    saver = NatsSaver(bucket)
    await counting(saver, size=3_000).ainvoke({"said": ["a"], "left": 3}, thread())
    await bucket.delete(next(key for key in await bucket.keys() if ".d." in key))
    with pytest.raises(StoredStateError, match="thread 't' cannot be read: piece"):
        await saver.acopy_thread("t", "copy")
    assert await history(saver, thread("copy")) == []


@pytest.mark.parametrize("kind", ["bucket"], indirect=True)
async def test_bytes_of_a_step_do_not_grow_with_the_steps_before(saver: AgenticSaver) -> None:
    """1 KiB is added in each step. LangGraph's own savers store it 26 times in 50 steps, n / 2 times in n."""
    steps, size = 120, 1_024
    graph = counting(saver, size)
    await graph.ainvoke({"said": [], "left": steps // 2}, {**thread(), "recursion_limit": 1_000})
    half = await stored_bytes(saver)
    await graph.ainvoke({"said": [], "left": steps // 2}, {**thread(), "recursion_limit": 1_000})
    whole = await stored_bytes(saver)
    assert whole - half < 1.3 * half
    assert whole < 8 * steps * size
    await saver.aprune(["t"])
    assert await stored_bytes(saver) < 1.3 * steps * size


async def test_large_and_odd_values_come_back_as_they_were(saver: AgenticSaver) -> None:
    class Odd(TypedDict):
        text: str
        data: bytes
        facts: dict[str, Any]
        many: list[int]

    given: Any = {
        "text": "ä\x00\U0001f600" * 300_000,
        "data": random.Random(1).randbytes(3_000_000),
        "facts": {"nested": [{"x": number} for number in range(20_000)]},
        "many": list(range(100_000)),
    }
    graph: Any = (
        StateGraph(Odd).add_node("keep", lambda state: {}).add_edge(START, "keep").compile(checkpointer=saver)
    )
    names = ["plain", "ünï/co de", "a.b*c>", "x" * 200, "7"]
    for name in names:
        await graph.ainvoke(given if name == "plain" else {"text": name}, thread(name))
    assert (await graph.aget_state(thread("plain"))).values == given
    assert [(await graph.aget_state(thread(name))).values["text"] for name in names[1:]] == names[1:]
    for name, reason in (
        ("", "empty"),
        ("x" * 201, "201 characters"),
        ("a\x00b", "NUL"),
        ("\ud800", "surrogates"),
    ):
        with pytest.raises(ThreadNameError, match=reason):
            await graph.ainvoke({"text": ""}, thread(name))


@on_two_stores
async def test_a_wide_state_and_many_sends_are_stored(saver: AgenticSaver) -> None:
    names = [f"field{number}" for number in range(300)]
    wide: Any = TypedDict("wide", dict.fromkeys(names, str))  # type: ignore[misc]  # a state of many values
    keep: Any = StateGraph(wide).add_node("keep", lambda state: {names[0]: "changed"})
    graph = keep.add_edge(START, "keep").compile(checkpointer=saver)
    given = {name: name * 90 for name in names}
    await graph.ainvoke(given, thread())
    assert (await graph.aget_state(thread())).values == {**given, names[0]: "changed"}
    writes = [(f"channel{number}", "x" * 900) for number in range(3_000)]
    (newest, *_) = await history(saver, thread())
    await saver.aput_writes(newest.config, writes, "task")
    found = await saver.aget_tuple(newest.config)
    assert found is not None
    assert found.pending_writes == [("task", *write) for write in writes]


@on_two_stores
async def test_pending_writes_come_back_in_the_order_that_langgraph_applies(saver: AgenticSaver) -> None:
    await counting(saver).ainvoke({"said": [], "left": 0}, thread())
    (newest, *_) = await history(saver, thread())
    for task, path in (("c", "~1"), ("a", "~2"), ("b", "~1")):
        await saver.aput_writes(newest.config, [("x", f"{task}0"), ("y", f"{task}1")], task, path)
    await saver.aput_writes(newest.config, [("x", "again"), ("y", "again"), ("z", "b2")], "b", "~1")
    await saver.aput_writes(newest.config, [("__error__", "first")], "b", "~1")
    await saver.aput_writes(newest.config, [("__error__", "last")], "b", "~1")
    found = await saver.aget_tuple(newest.config)
    assert found is not None
    assert found.pending_writes is not None
    assert [value for _, _, value in found.pending_writes] == [
        "last", "b0", "b1", "b2", "c0", "c1", "a0", "a1"
    ]  # fmt: skip


@on_two_stores
async def test_the_newest_checkpoint_is_the_last_one_stored_whatever_clocks_say(saver: AgenticSaver) -> None:
    graph = counting(saver)
    await graph.ainvoke({"said": ["a"], "left": 1}, thread())
    (newest, *_) = await history(saver, thread(checkpoint_ns=""))
    behind = {**newest.checkpoint, "id": "00000000-0000-6000-8000-000000000000"}
    await saver.aput(newest.config, behind, {"source": "update", "step": 9, "parents": {}}, {})  # type: ignore[arg-type]  # TypedDicts
    now = await saver.aget_tuple(thread(checkpoint_ns=""))
    assert now is not None
    assert now.checkpoint["id"] == behind["id"]
    assert [one.checkpoint["id"] for one in await history(saver, thread())][:2] == [
        behind["id"],
        newest.checkpoint["id"],
    ]


def add(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return state + [one for write in writes for one in write]


class Deltas(TypedDict):
    said: Annotated[list[str], DeltaChannel(add, snapshot_frequency=4)]
    left: int


def step_down(state: Deltas) -> dict[str, Any]:
    return {"said": [f"s{state['left']}"], "left": state["left"] - 1}


@on_two_stores
async def test_a_delta_channel_survives_pruning_and_copying(saver: AgenticSaver) -> None:
    builder = StateGraph(Deltas).add_node("step", step_down).add_edge(START, "step")
    builder.add_conditional_edges("step", lambda state: "step" if state["left"] > 0 else END, ["step", END])
    graph = builder.compile(checkpointer=saver)
    await graph.ainvoke({"said": ["a"], "left": 6}, thread())
    values = (await graph.aget_state(thread())).values
    assert values["said"] == ["a", "s6", "s5", "s4", "s3", "s2", "s1"]
    await saver.acopy_thread("t", "copy")
    await saver.aprune(["t"])
    assert (await graph.aget_state(thread())).values == values
    assert (await graph.aget_state(thread("copy"))).values == values
    assert 1 <= len(await history(saver, thread())) <= 5


async def test_sync_methods_do_the_same_in_another_thread(saver: AgenticSaver) -> None:
    graph = counting(saver)

    def work() -> Any:
        graph.invoke({"said": ["a"], "left": 3}, thread())
        saver.copy_thread("t", "copy")
        saver.prune(["t"])
        saver.delete_for_runs(["none"])
        kept = len(list(saver.list(thread()))), len(list(saver.list(thread("copy"))))
        saver.delete_thread("copy")
        return kept, saver.get_tuple(thread("copy", checkpoint_ns="")), graph.get_state(thread()).values

    await graph.ainvoke({"said": ["a"], "left": 0}, thread("first"))  # makes the loop known
    kept, gone, values = await asyncio.to_thread(work)
    assert (kept, gone) == ((1, 5), None)
    assert values == (await graph.aget_state(thread())).values


class Hidden(BaseModel):
    """A type that no schema names."""

    word: str


class Declared(BaseModel):
    """A type in a schema."""

    word: str


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
async def test_a_type_that_is_not_named_is_refused_when_it_is_stored(saver: AgenticSaver) -> None:
    class Loose(TypedDict):
        thing: Any

    graph = (
        StateGraph(Loose).add_node("make", lambda state: {"thing": Hidden(word="x")}).add_edge(START, "make")
    )
    with pytest.raises(UnknownStateTypeError, match=rf"types=\['{__name__}:Hidden'\]"):
        await graph.compile(checkpointer=saver).ainvoke({"thing": 1}, thread())
    allowed = graph.compile(checkpointer=saver.with_types([Hidden]))
    await allowed.ainvoke({"thing": 1}, thread("other"))
    assert (await allowed.aget_state(thread("other"))).values == {"thing": Hidden(word="x")}


@on_two_stores
async def test_interrupted_runs_give_the_same_state_as_in_memory(saver: AgenticSaver) -> None:
    """The memory saver of LangGraph is the oracle: nested graphs, sends, answers, forks."""

    def ask(state: State) -> dict[str, Any]:
        first, second = interrupt("first"), interrupt("second")
        return {"said": [f"{first} {second}"]}

    inner = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()
    builder = StateGraph(State).add_node("inner", inner).add_node("last", lambda state: {"said": ["end"]})
    builder.add_edge(START, "inner").add_edge("inner", "last")
    found = []
    for one in (saver, InMemorySaver()):
        graph = builder.compile(checkpointer=one)
        log: list[Any] = [await graph.ainvoke({"said": ["a"], "left": 0}, thread())]
        log += [await graph.ainvoke(Command(resume=answer), thread()) for answer in ("x", "y")]
        log += [(step.values, step.next) async for step in graph.aget_state_history(thread())]
        found.append(
            [{k: v for k, v in e.items() if k != "__interrupt__"} if isinstance(e, dict) else e for e in log]
        )
    assert found[0] == found[1]


async def stored_bytes(saver: AgenticSaver) -> int:
    """Return the size of everything that a saver has stored."""
    from agentic.plugins.langgraph.savers.sql import SqlSaver

    if isinstance(saver, SqlSaver):
        from sqlalchemy import text

        with saver._database.reading() as session:
            sizes = [
                session.scalar(text(f"SELECT sum(length({column})) FROM langgraph_{table}")) or 0
                for table, column in (("checkpoints", "record"), ("writes", "value"), ("pieces", "data"))
            ]
        return int(sum(sizes))
    bucket = saver._bucket  # type: ignore[attr-defined]  # of NatsSaver
    keys = list(await bucket.keys())
    return sum(len(entry.value) for entry in (await bucket.get_many(keys)).values()) if keys else 0
