"""Threads: logs that can be stored, moved and continued at any point."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.agents import (
    AgentThread,
    ChatAgent,
    InvokeOptions,
    MemoryThreadStore,
    ThreadConflictError,
    ThreadEntry,
    ThreadExistsError,
    ThreadFormatError,
    ThreadInUseError,
    ThreadNotFoundError,
    tool,
)
from agentic.core.agents.agent import last_response
from agentic.core.agents.threads.keyvalue import BUCKET, KeyValueThreadStore
from agentic.core.bus import MemoryBus
from agentic.core.llm import ChatMessage, ModelReply, ModelRequest, ScriptedModel, ToolCall


class Stopped(Exception):  # noqa: N818  # a process that dies is not an error
    """The process died."""


class DyingStore(MemoryThreadStore):
    """Fails after a number of entries, as a process that dies between them."""

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last

    async def append(self, thread_id: str, number: int, entry: ThreadEntry) -> None:
        if number > self.last:
            raise Stopped
        await super().append(thread_id, number, entry)


def conversation(calls: list[list[int]], done: list[int]) -> tuple[list[Any], list[Any]]:
    """Return the lines of a model that makes these calls, and its tools."""

    @tool
    async def count(number: int) -> int:
        """Count."""
        done.append(number)
        return number

    lines: list[Any] = [
        [ToolCall(id=f"c{number}", name="count", arguments={"number": number}) for number in numbers]
        for numbers in calls
    ]
    return [*lines, "done"], [count]


class DistantStore(MemoryThreadStore):
    """Takes its time for an entry, as a server does."""

    async def append(self, thread_id: str, number: int, entry: ThreadEntry) -> None:
        await asyncio.sleep(0)
        await super().append(thread_id, number, entry)


async def test_calls_that_end_at_the_same_time_are_all_kept_in_a_distant_store() -> None:
    done: list[int] = []
    lines, tools = conversation([[1, 2, 3]], done)
    store = DistantStore()
    thread = AgentThread.new("a", store=store)
    await ChatAgent(ScriptedModel(lines), name="a", tools=tools).run("go", thread)
    assert sorted(done) == [1, 2, 3]
    assert (await store.load(thread.id)).entries == tuple(thread.entries)


@given(
    sizes=st.lists(st.integers(min_value=1, max_value=3), max_size=4),
    cut=st.integers(min_value=1, max_value=20),
)
async def test_a_conversation_that_is_cut_after_any_entry_goes_on_alike_in_another_process(
    sizes: list[int], cut: int
) -> None:
    numbers = iter(range(100))
    calls = [[next(numbers) for _ in range(size)] for size in sizes]
    whole: list[int] = []
    lines, tools = conversation(calls, whole)
    agent = ChatAgent(ScriptedModel(lines), tools=tools)
    uncut = agent.new_thread()
    await agent.run("go", uncut)

    done: list[int] = []
    _, tools = conversation(calls, done)
    store = DyingStore(cut)
    thread = ChatAgent(ScriptedModel(lines), tools=tools, store=store).new_thread()
    try:
        await ChatAgent(ScriptedModel(lines), tools=tools).run("go", thread)
    except Stopped:
        store.last = 1_000
        restored = await AgentThread.load(thread.id, store)
        replies = sum(1 for one in restored.messages if one.role == "assistant")
        rest = ChatAgent(ScriptedModel(lines[replies:]), tools=tools)
        if (await store.load(thread.id)).entries[-1].ended is None:
            await rest.run((), restored)
        thread = restored
    assert _contents(thread) == _contents(uncut)
    assert sorted(set(done)) == sorted(set(whole))
    # A result that was not stored is lost with its process: its tool runs again. No other does.
    assert len(done) - len(whole) <= max(sizes, default=0)


def _contents(thread: AgentThread) -> list[Any]:
    parts = [part.model_dump() for message in thread.messages for part in message.parts]
    return sorted(json.dumps(part, sort_keys=True) for part in parts)


@pytest.mark.requirement("TH02", "TH04", "TH05", "TH06", "TH07")
async def test_a_stored_thread_is_loaded_and_continued_by_its_id() -> None:
    store = MemoryThreadStore()
    agent = ChatAgent(ScriptedModel(["hello", "again"]), name="host", store=store)
    thread = agent.new_thread(user_id="ada", title="greetings")
    await agent.run("hi", thread)
    loaded = await AgentThread.load(thread.id, store)
    assert (loaded.metadata.agent, loaded.metadata.user_id) == ("host", "ada")
    await agent.run("more", loaded)
    assert [message.text for message in loaded.messages] == ["hi", "hello", "more", "again"]
    assert [one.id for one in await store.list(user_id="ada")] == [thread.id]
    assert await store.list(user_id="bob") == []
    assert await store.delete(thread.id)
    with pytest.raises(ThreadNotFoundError, match=thread.id):
        await AgentThread.load(thread.id, store)


async def test_two_processes_that_continue_one_thread_do_not_mix() -> None:
    store = MemoryThreadStore()
    agent = ChatAgent(ScriptedModel(["hello", "one", "two"]), store=store)
    thread = agent.new_thread()
    await agent.run("hi", thread)
    first, second = [await AgentThread.load(thread.id, store) for _ in range(2)]
    await agent.run("a", first)
    with pytest.raises(ThreadConflictError, match="another process has written entry"):
        await agent.run("b", second)
    assert (await store.load(thread.id)).entries == tuple(first.entries)


class SlowModel(ScriptedModel):
    """Replies when it is allowed to."""

    def __init__(self, lines: list[Any]) -> None:
        super().__init__(lines)
        self.asked = asyncio.Event()
        self.allowed = asyncio.Event()

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.set()
        await self.allowed.wait()
        return await super().complete(request)


async def test_runs_of_one_thread_take_their_turns_one_after_the_other() -> None:
    model = SlowModel(["one", "two", "three"])
    agent = ChatAgent(model)
    thread = agent.new_thread()
    first = asyncio.create_task(agent.run("a", thread))
    await model.asked.wait()
    second = asyncio.create_task(last_response(agent.run_stream("b", thread)))
    third = asyncio.create_task(agent.run("c", thread, options=InvokeOptions(allow_background=True)))
    await asyncio.sleep(0)
    model.allowed.set()
    token = (await third).token
    assert token is not None
    await last_response(agent.run_stream(options=InvokeOptions(continuation_token=token)))
    assert [(await first).text, (await second).text] == ["one", "two"]
    assert [message.text for message in thread.messages] == ["a", "one", "b", "two", "c", "three"]


async def test_a_stream_that_was_left_does_not_disturb_the_next_turn() -> None:
    model = SlowModel(["one"])
    agent = ChatAgent(model)
    thread = agent.new_thread()
    async for _ in agent.run_stream("a", thread):
        await model.asked.wait()
        model.asked.clear()
        break
    following = asyncio.create_task(agent.run("b", thread))
    await model.asked.wait()
    model.allowed.set()
    assert (await following).text == "one"
    assert [message.text for message in thread.messages] == ["a", "b", "one"]


async def test_a_tool_that_speaks_in_the_thread_of_its_agent_is_refused_instead_of_waiting_for_ever() -> None:
    @tool
    async def again() -> str:
        """Ask again."""
        with pytest.raises(ThreadInUseError, match="a tool cannot speak in the thread of its own agent"):
            await agent.run("b", thread)
        return (await agent.run("b", agent.new_thread())).text

    agent = ChatAgent(ScriptedModel([ToolCall(id="1", name="again"), "inner", "outer"]), tools=[again])
    thread = agent.new_thread()
    assert (await agent.run("a", thread)).text == "outer"
    assert thread.messages[-2].tool_results[0].content == "inner"


async def _until(*work: asyncio.Task[Any]) -> None:
    """Give them more turns of the loop than they need: what waits for ever fails at once."""
    for _ in range(500):
        if all(one.done() for one in work):
            return
        await asyncio.sleep(0)
    for one in work:
        one.cancel()
    raise AssertionError("a run waits for ever")


@pytest.mark.parametrize("count", [2, 3])
async def test_agents_that_ask_in_a_circle_are_refused_instead_of_waiting_for_ever(count: int) -> None:
    are_under_way = asyncio.Barrier(count)
    agents: list[ChatAgent] = []
    threads: list[AgentThread] = []
    refused: list[str] = []

    def asking(number: int) -> ChatAgent:
        @tool
        async def ask() -> str:
            """Ask the next one."""
            await are_under_way.wait()
            following = (number + 1) % count
            try:
                return (await agents[following].run("b", threads[following])).text
            except ThreadInUseError as exc:
                refused.append(str(exc))
                return "in use"

        return ChatAgent(ScriptedModel([ToolCall(id="1", name="ask"), "done", "inner"]), tools=[ask])

    agents += [asking(number) for number in range(count)]
    threads += [agent.new_thread() for agent in agents]
    runs = [
        asyncio.create_task(agent.run("a", thread)) for agent, thread in zip(agents, threads, strict=True)
    ]
    await _until(*runs)
    assert [run.result().text for run in runs] == ["done"] * count
    (message,) = refused
    assert "a run that waits for the run that asks for it" in message


async def test_tools_of_one_agent_wait_for_a_thread_that_both_of_them_use() -> None:
    helper = ChatAgent(ScriptedModel(["one", "two"]))
    shared = helper.new_thread()

    @tool
    async def ask(number: int) -> str:
        """Ask the helper."""
        return (await helper.run(str(number), shared)).text

    calls = [ToolCall(id=str(number), name="ask", arguments={"number": number}) for number in (1, 2)]
    run = asyncio.create_task(ChatAgent(ScriptedModel([calls, "done"]), tools=[ask]).run("a"))
    await _until(run)
    assert [message.text for message in shared.messages] == ["1", "one", "2", "two"]


async def test_work_that_outlives_its_run_waits_for_the_next_one_in_the_thread() -> None:
    is_late = asyncio.Event()
    late: list[asyncio.Task[Any]] = []

    async def speak() -> str:
        await is_late.wait()
        return (await agent.run("late", thread)).text

    @tool
    async def begin() -> str:
        """Begin work that goes on."""
        late.append(asyncio.create_task(speak()))
        return "begun"

    model = SlowModel([ToolCall(id="1", name="begin"), "one", "two", "three"])
    agent = ChatAgent(model, tools=[begin])
    thread = agent.new_thread()
    model.allowed.set()
    await agent.run("a", thread)
    model.allowed.clear()
    model.asked.clear()
    second = asyncio.create_task(agent.run("b", thread))
    await model.asked.wait()
    is_late.set()
    for _ in range(5):
        await asyncio.sleep(0)
    model.allowed.set()
    await _until(second, *late)
    assert [second.result().text, late[0].result()] == ["two", "three"]


def test_a_thread_serves_one_event_loop_after_another() -> None:
    thread = AgentThread.new("a")

    async def two() -> list[str]:
        model = SlowModel(["one", "two"])
        runs = [asyncio.create_task(ChatAgent(model, name="a").run("x", thread)) for _ in range(2)]
        await model.asked.wait()
        await asyncio.sleep(0)
        model.allowed.set()
        await _until(*runs)
        return [run.result().text for run in runs]

    assert [asyncio.run(two()) for _ in range(2)] == [["one", "two"]] * 2


async def test_a_run_does_not_wait_for_one_in_another_event_loop() -> None:
    model = SlowModel(["one", "two"])
    agent = ChatAgent(model)
    thread = agent.new_thread()
    first = asyncio.create_task(agent.run("a", thread))
    await model.asked.wait()
    with pytest.raises(ThreadInUseError, match="a run in another event loop"):
        await asyncio.to_thread(asyncio.run, agent.run("b", thread))
    model.allowed.set()
    assert (await first).text == "one"


def test_a_thread_is_free_once_the_event_loop_of_its_run_is_closed() -> None:
    thread = AgentThread.new("a")
    abandoned = asyncio.new_event_loop()

    async def begin() -> asyncio.Task[Any]:
        model = SlowModel(["one"])
        run = asyncio.create_task(ChatAgent(model, name="a").run("x", thread))
        await model.asked.wait()
        return run

    run = abandoned.run_until_complete(begin())
    abandoned.close()
    run._log_destroy_pending = False  # type: ignore[attr-defined]  # or its end is reported
    assert asyncio.run(ChatAgent(ScriptedModel(["two"]), name="a").run("y", thread)).text == "two"
    del run
    gc.collect()  # the end of the abandoned run disturbs none
    assert asyncio.run(ChatAgent(ScriptedModel(["three"]), name="a").run("z", thread)).text == "three"


@pytest.mark.parametrize("is_early", [True, False])
async def test_a_run_that_is_cancelled_while_it_waits_or_as_its_turn_comes_lets_the_next_one_go(
    is_early: bool,
) -> None:
    model = SlowModel(["one", "three"])
    agent = ChatAgent(model)
    thread = agent.new_thread()
    first, second, third = [asyncio.create_task(agent.run(text, thread)) for text in "abc"]
    await model.asked.wait()
    if is_early:
        second.cancel()
        await asyncio.wait([second])
    else:
        first.add_done_callback(lambda _: second.cancel())
    model.allowed.set()
    await _until(first, second, third)
    assert second.cancelled()
    assert [message.text for message in thread.messages] == ["a", "one", "c", "three"]


async def test_a_thread_in_memory_is_saved_with_all_its_entries() -> None:
    store = MemoryThreadStore()
    agent = ChatAgent(ScriptedModel(["hello", "again"]))
    thread = agent.new_thread()
    await agent.run("hi", thread)
    await thread.save(store)
    await agent.run("more", thread)
    assert (await AgentThread.load(thread.id, store)).messages == thread.messages
    other = AgentThread(
        thread.metadata.model_copy(update={"user_id": "eve"}), thread_id=thread.id, entries=thread.entries
    )
    with pytest.raises(ThreadExistsError):
        await other.save(store)


@pytest.mark.requirement("TH03")
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "not a stored thread"),
        ("[]", "not a stored thread"),
        ('{"format": 1}', "not a stored thread"),
        ('{"format": 99}', "format 99, but this version reads 1"),
        ("[" * 100_000, "not a stored thread"),
    ],
)
def test_other_data_is_no_thread(data: str, message: str) -> None:
    with pytest.raises(ThreadFormatError, match=message):
        AgentThread.deserialize(data)


@pytest.mark.requirement("AG04", "TH03")
def test_the_stored_form_of_a_thread_stays() -> None:
    stored = (
        '{"format":1,"id":"t1","metadata":{"agent":"host","user_id":"ada","created_at":1.5,"title":"",'
        '"format":1},"entries":[{"turn":"u1","messages":[{"role":"user","parts":[{"kind":"text","text":"hi"}]}],'
        '"is_input":true},{"turn":"u1","messages":[{"role":"assistant","parts":[{"kind":"tool_call","id":"c1",'
        '"name":"buy","arguments":{"thing":"tea"}}],"author_name":"host"}],"usage":{"input_tokens":3,'
        '"requests":1}},{"turn":"u1","asked":[{"id":"r1","kind":"approval","call":{"kind":"tool_call","id":"c1",'
        '"name":"buy","arguments":{"thing":"tea"}},"question":"call buy","raised_at":2.5}]},{"turn":"u1",'
        '"answers":[{"request_id":"r1","answered_by":"bob"}]},{"turn":"u1","messages":[{"role":"tool","parts":'
        '[{"kind":"tool_result","call_id":"c1","name":"buy","content":{"price":3.5}}]}],"usage":'
        '{"tool_calls":1}},{"turn":"u1","ended":"stopped","reason":"enough"}]}'
    )
    thread = AgentThread.deserialize(stored)
    assert thread.serialize().decode() == stored
    assert thread.messages[0] == ChatMessage.user("hi")
    assert thread.usage.total_tokens == 3
    assert thread.pending == ()


async def test_an_answer_that_needs_no_check_ends_its_turn_in_the_same_entry() -> None:
    thread = await _asked(ChatAgent(ScriptedModel(["yes"])))
    assert [entry.ended for entry in thread.entries] == [None, "complete"]
    checked = await _asked(ChatAgent(ScriptedModel(['{"value": 1}']), output_type=int))
    assert [entry.ended for entry in checked.entries] == [None, None, "complete"]


async def _asked(agent: ChatAgent[Any]) -> AgentThread:
    thread = agent.new_thread()
    await agent.run("Well?", thread)
    return thread


def test_importing_an_agent_loads_neither_logs_nor_plugins_nor_the_runner() -> None:
    heavy = {"structlog", "pluggy", "nats", "sqlalchemy", "agentic.core.graph.running.runner"}
    code = f"import sys; from agentic.core.agents import ChatAgent; assert {heavy}.isdisjoint(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_a_turn_that_is_cancelled_in_a_write_leaves_the_thread_as_its_store_has_it() -> None:
    writing = asyncio.Event()

    class Slow(MemoryThreadStore):
        async def append(self, thread_id: str, number: int, entry: ThreadEntry) -> None:
            await super().append(thread_id, number, entry)
            writing.set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    agent = ChatAgent(ScriptedModel(["fine"]), store=Slow())
    thread = agent.new_thread()
    turn = asyncio.create_task(agent.run("go", thread))
    await writing.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert (await agent.run((), thread)).text == "fine"


async def test_a_stored_entry_that_is_cut_off_is_named_with_its_thread() -> None:
    bucket = MemoryBus().bucket(BUCKET, project="shop")
    store = KeyValueThreadStore(bucket)
    agent = ChatAgent(ScriptedModel(["fine"]), store=store)
    thread = agent.new_thread()
    await agent.run("go", thread)
    [key] = await bucket.keys("thread.*.turn.1")
    await bucket.put(key, b'{"turn": "')
    with pytest.raises(ThreadFormatError, match=thread.id):
        await AgentThread.load(thread.id, store)


@pytest.mark.parametrize("stored", ["{", "[" * 100_000, '{"agent": ["my secret"]}'])
async def test_damaged_facts_of_a_thread_are_named_when_threads_are_listed_and_never_quoted(
    stored: str,
) -> None:
    bucket = MemoryBus().bucket(BUCKET, project="shop")
    store = KeyValueThreadStore(bucket)
    thread = ChatAgent(ScriptedModel(["fine"]), store=store).new_thread()
    await thread.save(store)
    [key] = await bucket.keys("thread.*.meta")
    await bucket.put(key, stored.encode())
    with pytest.raises(ThreadFormatError, match=thread.id) as caught:
        await store.list()
    assert "secret" not in str(caught.value)
    assert await store.delete(thread.id)
    assert await store.list() == []
