"""Agents as nodes of graphs, and workflows as agents, in each other to any depth."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from agentic.core import (
    MemoryCheckpointStore,
    RunStatus,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
)
from agentic.core.agents import (
    AgentExecutor,
    AgentExecutorResponse,
    AgentStoppedError,
    AgentThread,
    ChatAgent,
    ChunkKind,
    FunctionTool,
    MemoryThreadStore,
    RequestAnswer,
    RequestKind,
    ResponseStatus,
    ThreadMetadata,
    ThreadNotFoundError,
    ToolContext,
    UsageLimits,
    WorkflowAgent,
    chat_messages,
    tool,
    total_usage,
)
from agentic.core.bus.subjects import subject_for
from agentic.core.graph import (
    ApprovalRequest,
    ApprovalResponse,
    InfoRequest,
    InvalidGraphError,
    RetryPolicy,
)
from agentic.core.graph.build.workflow import RunStream
from agentic.core.llm import (
    ChatMessage,
    FunctionModel,
    ModelRequest,
    OverloadedError,
    ScriptedModel,
    ScriptLine,
    ToolCall,
)


def says(name: str, *lines: Any, **options: Any) -> ChatAgent[Any]:
    return ChatAgent(ScriptedModel(lines), name=name, **options)


@executor(id="shout")
async def shout(text: str, ctx: WorkflowContext) -> str:
    await ctx.request_approval("shout", text)
    return text.upper()


def shouting() -> Workflow:
    return WorkflowBuilder("shouting").set_start(shout).build()


@pytest.mark.requirement("AG02", "AG18", "AG19", "BU14", "EN18")
async def test_agents_in_a_graph_pass_the_whole_conversation_on() -> None:
    writer, reviewer = says("writer", "A draft."), says("reviewer", "Good.")
    flow = WorkflowBuilder("w").set_start(writer).add_edge(writer, reviewer).build()
    result = await flow.run("Write!")
    answer = result.output(AgentExecutorResponse)
    assert answer.executor_id == "reviewer"
    assert answer.text == "Good."
    assert [(one.author_name, one.text) for one in answer.full_conversation] == [
        (None, "Write!"),
        ("writer", "A draft."),
        ("reviewer", "Good."),
    ]
    assert total_usage(result).requests == 1
    assert [one.author_name for one in chat_messages(result)] == ["reviewer"]


async def test_an_agent_hears_other_agents_as_users_and_itself_as_itself() -> None:
    model = ScriptedModel(["Good."])
    reviewer = ChatAgent(model, name="reviewer")
    said = [
        ChatMessage.user("Write!"),
        ChatMessage.assistant("A draft.", author_name="writer"),
        ChatMessage.assistant("Better.", author_name="reviewer"),
    ]
    await WorkflowBuilder("w").set_start(reviewer).build().run(said)
    heard = model.requests[0].messages
    assert [(str(one.role), one.author_name) for one in heard] == [
        ("user", None),
        ("user", "writer"),
        ("assistant", "reviewer"),
    ]


async def test_an_agent_can_take_only_the_last_message() -> None:
    model = ScriptedModel(["Good."])
    writer, reviewer = (
        says("writer", "A draft."),
        AgentExecutor(ChatAgent(model, name="reviewer"), context="last"),
    )
    await WorkflowBuilder("w").set_start(writer).add_edge(writer, reviewer).build().run("Write!")
    assert [one.text for one in model.requests[0].messages] == ["A draft."]


@pytest.mark.requirement("AG20", "BU14")
async def test_one_agent_named_twice_is_one_node() -> None:
    agent = says("a", "x")
    assert list(WorkflowBuilder("w").set_start(agent).add_executor(agent).build().graph.executors) == ["a"]


@pytest.mark.requirement("AG21", "EN23", "EN24")
async def test_the_events_of_a_run_have_the_pieces_of_its_agents() -> None:
    stream = WorkflowBuilder("w").set_start(says("writer", "A draft.")).build().run_stream("Write!")
    events = [event.data async for event in stream if event.kind == "custom"]
    by_type = {event["type"]: event["data"] for event in events}
    assert [*by_type] == [
        "agent.message",
        "agent.response_update",
        "agent.run_completed",
        "agent.response",
    ]
    assert by_type["agent.response_update"] == {
        "agent": "writer",
        "path": [],
        "kind": "text",
        "text": "A draft.",
    }


@pytest.mark.requirement("NA02")
async def test_input_calls_and_answer_of_an_agent_are_events_on_their_own_subjects() -> None:
    def look(page: int) -> int:
        return page

    lines = (ToolCall(id="1", name="look", arguments={"page": 3}), "Done.")
    stream = WorkflowBuilder("w").set_start(says("reader", *lines, tools=[look])).build().run_stream("Read!")
    events = [event async for event in stream if event.kind == "custom"]
    told = {subject_for(event, "shop").rpartition("/")[2]: event.data["data"] for event in events}
    assert told["reader.message"] == {"agent": "reader", "text": "Read!"}
    assert told["reader.tool_call"] == {
        "agent": "reader",
        "path": [],
        "tool": "look",
        "call": "1",
        "arguments": {"page": 3},
    }
    assert told["reader.response"] == {"agent": "reader", "text": "Done.", "status": "complete"}
    assert all(subject_for(event, "shop").startswith("agentic.agent.") for event in events)


@pytest.mark.requirement("NA03")
async def test_an_agent_tells_on_its_own_subjects_that_its_workflow_begins_and_ends() -> None:
    agent = WorkflowAgent(ScriptedModel([]), WorkflowBuilder("inner").set_start(says("w", "A poem.")).build())
    boss = says(
        "boss", ToolCall(id="1", name="agent", arguments={"task": "Write a poem"}), "Done.", tools=[agent]
    )
    stream = WorkflowBuilder("w").set_start(boss).build().run_stream("Write!")
    events = [event async for event in stream if event.kind == "custom"]
    told = [event for event in events if "workflow" in str(event.data["type"])]
    assert [subject_for(event, "shop").rpartition("boss.")[2] for event in told] == [
        "workflow.started",
        "workflow.completed",
    ]
    facts = {"agent": "agent", "path": ["boss"], "workflow": "inner"}
    assert [event.data["data"] for event in told] == [facts, {**facts, "status": "complete"}]
    assert all(subject_for(event, "shop").startswith("agentic.agent.") for event in told)


@pytest.mark.requirement("NA03")
async def test_a_workflow_that_waits_or_fails_behind_an_agent_is_told_once() -> None:
    async def types_of(stream: RunStream) -> list[str]:
        events = [event async for event in stream]
        return [str(one.data["type"]) for one in events if "agent.workflow" in str(one.data.get("type"))]

    store = MemoryCheckpointStore()
    flow = WorkflowBuilder("w").set_start(shouting().as_agent("press")).build()
    stream = flow.run_stream("hello", run_id="r", checkpoints=store)
    assert await types_of(stream) == ["agent.workflow.started"]
    (request,) = (await stream.result()).pending_requests
    again = flow.resume_stream(
        "r", checkpoints=store, responses={request.id: ApprovalResponse(approved=True)}
    )
    assert await types_of(again) == ["agent.workflow.completed"]


async def test_a_try_that_fails_asks_the_model_only_for_the_rest() -> None:
    seen: list[str] = []

    @tool
    async def note(text: str) -> str:
        """Note something."""
        seen.append(text)
        return "noted"

    lines: list[ScriptLine] = [
        ToolCall(id="1", name="note", arguments={"text": "x"}),
        OverloadedError("a:b", "busy"),
        "done",
    ]
    model = ScriptedModel(lines)
    node = AgentExecutor(
        ChatAgent(model, name="a", tools=[note]), retry=RetryPolicy(max_attempts=2, first_delay_s=0)
    )
    result = await WorkflowBuilder("w").set_start(node).build().run("go")
    assert result.output(AgentExecutorResponse).text == "done"
    assert seen == ["x"]
    assert len(model.requests) == 3


async def test_approvals_of_an_agent_are_requests_of_the_run() -> None:
    done: list[str] = []

    @tool(approval="always")
    async def buy(thing: str) -> str:
        """Buy a thing."""
        done.append(thing)
        return "bought"

    calls = [ToolCall(id=str(n), name="buy", arguments={"thing": t}) for n, t in enumerate(("tea", "car"))]
    agent = says("shop", calls, "done", tools=[buy])
    store, flow = MemoryCheckpointStore(), WorkflowBuilder("w").set_start(agent).build()
    waiting = await flow.run("go", run_id="r", checkpoints=store)
    assert waiting.status is RunStatus.WAITING_INPUT
    tea, car = waiting.pending_requests
    answers = {tea.id: ApprovalResponse(approved=True), car.id: ApprovalResponse(approved=False)}
    result = await flow.resume("r", checkpoints=store, responses=answers)
    assert result.output(AgentExecutorResponse).text == "done"
    assert done == ["tea"]


async def test_a_stopped_agent_fails_its_node() -> None:
    agent = ChatAgent(
        FunctionModel(lambda _: ToolCall(id="", name="nope")), name="a", limits=UsageLimits(max_model_calls=2)
    )
    with pytest.raises(AgentStoppedError, match="max_model_calls=2"):
        await WorkflowBuilder("w").set_start(agent).build().run("go")


async def test_the_thread_of_an_agent_in_a_graph_may_be_in_a_store() -> None:
    """A repeated try continues the turn of the activation, and a later run continues the thread."""
    store = MemoryThreadStore()

    class Stored(AgentExecutor):
        async def open_thread(self, ctx: WorkflowContext[Any, Any]) -> AgentThread:
            try:
                return await AgentThread.load("kept", store)
            except ThreadNotFoundError:
                facts = ThreadMetadata(agent=self.agent.name, created_at=0.0)
                return AgentThread(facts, thread_id="kept", store=store)

    seen: list[int] = []

    def reply(request: ModelRequest) -> ScriptLine:
        seen.append(len(request.messages))
        return OverloadedError("function:model", "busy") if len(seen) == 2 else f"reply {len(seen)}"

    agent = ChatAgent(FunctionModel(reply), name="host")
    node = Stored(agent, retry=RetryPolicy(max_attempts=2, first_delay_s=0))
    flow = WorkflowBuilder("talk").set_start(node).build()
    for text, expected in (("one", "reply 1"), ("two", "reply 3")):
        assert (await flow.run(text)).output(AgentExecutorResponse).text == expected
    assert seen == [1, 3, 3]
    kept = await AgentThread.load("kept", store)
    assert [message.text for message in kept.messages] == ["one", "reply 1", "two", "reply 3"]


async def test_an_agent_that_remembers_keeps_one_thread_for_the_run() -> None:
    async def counting(request: ModelRequest) -> str:
        return str(sum(1 for message in request.messages if message.role == "user"))

    @executor(id="again")
    async def again(answer: AgentExecutorResponse, ctx: WorkflowContext) -> None:
        if answer.text == "3":
            await ctx.yield_output(answer.text)
        else:
            await ctx.send_message("more")

    node = AgentExecutor(ChatAgent(FunctionModel(counting), name="counter"), remembers=True)
    flow = (
        WorkflowBuilder("w")
        .set_start(node)
        .add_edge(node, again)
        .add_edge(again, node, lambda _: True)
        .build()
    )
    assert (await flow.run("go")).outputs == ("3",)


@pytest.mark.requirement("AG15")
async def test_a_workflow_as_agent_waits_in_its_thread_and_goes_on_in_another_process() -> None:
    agent = shouting().as_agent("shouter")
    thread = agent.new_thread()
    waiting = await agent.run("hello", thread)
    assert waiting.status is ResponseStatus.NEEDS_INPUT
    assert waiting.pending[0].kind is RequestKind.APPROVAL
    restored = AgentThread.deserialize(thread.serialize())
    answer = RequestAnswer(request_id=waiting.pending[0].id)
    response = await shouting().as_agent("shouter").run(answer, restored)
    assert (response.text, response.output) == ("HELLO", "HELLO")


async def test_a_workflow_as_agent_knows_the_whole_thread() -> None:
    def recall(request: ModelRequest) -> str:
        return "You are Ada." if "Ada" in request.messages[0].text else "Who are you?"

    def agent() -> Any:
        flow = WorkflowBuilder("w").set_start(ChatAgent(FunctionModel(recall), name="host")).build()
        return flow.as_agent("greeter")

    thread = agent().new_thread()
    await agent().run("I am Ada.", thread)
    again = await agent().run("What is my name?", AgentThread.deserialize(thread.serialize()))
    assert again.text == "You are Ada."


@pytest.mark.requirement("AG16")
async def test_workflows_and_agents_nest_to_any_depth_and_ask_through_all_of_them() -> None:
    tools = [shouting().as_agent("one"), shouting().as_agent("two")]
    calls = [ToolCall(id=name, name=name, arguments={"task": name}) for name in ("one", "two")]
    model = ScriptedModel([calls, "done"])
    inner = WorkflowBuilder("inner").set_start(ChatAgent(model, name="boss", tools=tools)).build()
    outer = WorkflowBuilder("outer").set_start(inner.as_agent("meta")).build()
    store = MemoryCheckpointStore()
    first = await outer.run("go", run_id="r", checkpoints=store)
    one, two = (request.id for request in first.pending_requests)
    yes = ApprovalResponse(approved=True)
    second = await outer.resume("r", checkpoints=store, responses={two: yes})
    assert [request.id for request in second.pending_requests] == [one]
    result = await outer.resume("r", checkpoints=store, responses={one: yes})
    assert result.output(AgentExecutorResponse).text == "done"
    contents = {one.call_id: one.content for one in model.requests[1].messages[-1].tool_results}
    assert contents == {"one": "ONE", "two": "TWO"}


async def test_the_pieces_of_agents_in_a_workflow_reach_the_reader_of_the_outer_agent() -> None:
    flow = WorkflowBuilder("w").set_start(says("writer", "A draft.")).build()
    pieces = [piece async for piece in flow.as_agent("press").run_stream("Write!")]
    texts = [(piece.author_name, piece.path, piece.text) for piece in pieces if piece.kind is ChunkKind.TEXT]
    assert texts[0] == ("writer", ("press",), "A draft.")
    assert pieces[-1].response is not None
    assert pieces[-1].response.usage.requests == 1


@pytest.mark.requirement("AG12", "AG13", "AG14")
async def test_a_workflow_agent_gives_tasks_to_its_workflow_and_talks_otherwise() -> None:
    agent = WorkflowAgent(
        ScriptedModel(["Fine."]),
        shouting(),
        name="helper",
        extract_task=lambda messages: messages[-1].text.removeprefix("Please write "),
        format_result=lambda result: f"Here it is: {result.outputs[0]}",
    )
    thread = agent.new_thread()
    assert (await agent.run("How are you?", thread)).text == "Fine."
    waiting = await agent.run("Please write a poem", thread)
    response = await agent.run(RequestAnswer(request_id=waiting.pending[0].id), thread)
    assert response.text == "Here it is: A POEM"
    assert [message.text for message in thread.messages][-1] == "Here it is: A POEM"


def buying(done: list[str]) -> FunctionTool:
    @tool(approval="always")
    async def buy(thing: str) -> str:
        """Buy a thing."""
        done.append(thing)
        return f"bought {thing}"

    return buy


def buy(call_id: str, thing: str) -> ToolCall:
    return ToolCall(id=call_id, name="buy", arguments={"thing": thing})


def thing_of(request: InfoRequest) -> str:
    assert isinstance(request.data, ApprovalRequest)
    details: Any = request.data.details
    return str(details["arguments"]["thing"])


async def test_an_approval_is_not_used_again_for_a_later_call_of_a_stored_thread() -> None:
    """The thread has the first answer already when the node is entered for the second one."""
    threads, done = MemoryThreadStore(), list[str]()

    class Stored(AgentExecutor):
        async def open_thread(self, ctx: WorkflowContext[Any, Any]) -> AgentThread:
            try:
                return await AgentThread.load("kept", threads)
            except ThreadNotFoundError:
                facts = ThreadMetadata(agent=self.agent.name, created_at=0.0)
                return AgentThread(facts, thread_id="kept", store=threads)

    agent = says("shop", buy("a", "tea"), buy("b", "car"), "done", tools=[buying(done)])
    store, flow = MemoryCheckpointStore(), WorkflowBuilder("w").set_start(Stored(agent)).build()
    waiting = await flow.run("go", run_id="r", checkpoints=store)
    for thing, approved in (("tea", True), ("car", False)):
        (request,) = waiting.pending_requests
        assert thing_of(request) == thing
        answer = {request.id: ApprovalResponse(approved=approved)}
        waiting = await flow.resume("r", checkpoints=store, responses=answer)
    assert waiting.output(AgentExecutorResponse).text == "done"
    assert done == ["tea"]


@pytest.mark.parametrize("call_ids", [("a", "b"), ("call_1", "call_1")])
async def test_agents_that_ask_at_a_time_get_each_its_own_answer(call_ids: tuple[str, str]) -> None:
    """The first agent is the slower one at first, and the faster one when the node is entered again."""
    done, asked = list[str](), asyncio.Event()

    async def first(request: ModelRequest) -> ScriptLine:
        if len(request.messages) > 1:
            return "done"
        await asked.wait()
        return buy(call_ids[0], "tea")

    def second(request: ModelRequest) -> ScriptLine:
        asyncio.get_running_loop().call_later(0.01, asked.set)
        return "done" if len(request.messages) > 1 else buy(call_ids[1], "car")

    helpers = [
        ChatAgent(FunctionModel(model), name=name, tools=[buying(done)])
        for name, model in (("first", first), ("second", second))
    ]
    calls = [ToolCall(id=one.name, name=one.name, arguments={"task": "buy"}) for one in helpers]
    store = MemoryCheckpointStore()
    flow = WorkflowBuilder("w").set_start(says("boss", calls, "done", tools=helpers)).build()
    waiting = await flow.run("go", run_id="r", checkpoints=store)
    answers = {one.id: ApprovalResponse(approved=thing_of(one) == "tea") for one in waiting.pending_requests}
    assert len(answers) == 2
    result = await flow.resume("r", checkpoints=store, responses=answers)
    assert result.output(AgentExecutorResponse).text == "done"
    assert done == ["tea"]


async def test_calls_of_an_agent_in_an_agent_have_the_same_key_in_each_try() -> None:
    keys: list[str] = []

    @tool(approval="never")
    async def pay(ctx: ToolContext) -> str:
        """Pay."""
        keys.append(ctx.idempotency_key)
        raise asyncio.CancelledError

    inner = ChatAgent(FunctionModel(lambda _: ToolCall(id="a", name="pay")), name="payer", tools=[pay])
    outer = says("boss", ToolCall(id="1", name="payer", arguments={"task": "pay"}), tools=[inner])
    thread = outer.new_thread()
    for given in ("go", ()):
        with pytest.raises(asyncio.CancelledError):
            await outer.run(given, thread)
    assert len(keys) == 2
    assert keys[0] == keys[1]


async def test_talk_that_was_interrupted_goes_on_as_talk() -> None:
    lines: list[ScriptLine] = [OverloadedError("scripted", "busy"), "Fine."]
    model = FunctionModel(lambda _: lines.pop(0))
    agent = WorkflowAgent(model, shouting(), name="helper")
    thread = agent.new_thread()
    with pytest.raises(OverloadedError):
        await agent.run("How are you?", thread)
    assert (await agent.run((), thread)).text == "Fine."


async def test_an_edge_from_an_agent_that_could_carry_nothing_is_refused_before_the_agent_works() -> None:
    @executor(id="count")
    async def count(text: str) -> int:
        return len(text)

    writer = says("writer", "A draft.")
    with pytest.raises(
        InvalidGraphError, match="'writer' sends AgentExecutorResponse to 'count', which takes str"
    ):
        WorkflowBuilder("w").set_start(writer).add_edge(writer, count).build()


def test_another_context_is_refused() -> None:
    with pytest.raises(ValueError, match="context of executor 'writer' is 'all'; use 'full' or 'last'"):
        AgentExecutor(says("writer"), context=cast(Any, "all"))
