"""Turns of chat agents: replies, tools, limits, and what stops them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel

from agentic.core.agents import (
    AgentChunk,
    AgentStoppedError,
    AgentThread,
    ChatAgent,
    ChunkKind,
    Guard,
    MemoryThreadStore,
    OutputNotMetError,
    RunOptions,
    ThreadMisfitError,
    ToolContext,
    ToolDefinitionError,
    UsageLimits,
    tool,
)
from agentic.core.agents.turns.replies import with_new_ids
from agentic.core.llm import (
    ChatMessage,
    ChatRole,
    FunctionModel,
    ModelReply,
    ModelRequest,
    OverloadedError,
    RateLimitedError,
    ScriptedModel,
    ScriptLine,
    StopReason,
    ToolCall,
)


def call(name: str, call_id: str = "", /, **arguments: Any) -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments=arguments)


@tool
async def price(product: str) -> float:
    """Return the price of a product."""
    return {"tea": 3.5}[product]


class Verdict(BaseModel):
    """A judgement."""

    cheap: bool
    reason: str


@pytest.mark.requirement("AG01", "AG03", "AG05", "AG09", "AG10")
async def test_an_agent_calls_tools_until_the_model_answers() -> None:
    model = ScriptedModel([[call("price", product="tea")], "Tea costs 3.50."])
    agent = ChatAgent(model, "You know prices.", name="clerk", tools=[price])
    thread = agent.new_thread(user_id="ada")
    response = await agent.run("What does tea cost?", thread)
    assert response.text == response.output == "Tea costs 3.50."
    assert response.usage.requests == 2
    assert response.usage.tool_calls == 1
    assert [message.role for message in thread.messages] == ["user", "assistant", "tool", "assistant"]
    assert model.requests[1].messages[-1].tool_results[0].content == 3.5
    assert model.requests[0].instructions == "You know prices."


@pytest.mark.requirement("TH01", "TH09")
async def test_one_agent_talks_in_many_threads_at_once_without_mixing_them() -> None:
    async def echo(request: ModelRequest) -> str:
        await asyncio.sleep(0)
        said = [message.text for message in request.messages if message.role is ChatRole.USER]
        return " | ".join(said)

    agent = ChatAgent(FunctionModel(echo))
    threads = [agent.new_thread() for _ in range(20)]
    for word in ("a", "b"):
        await asyncio.gather(*(agent.run(f"{word}{n}", thread) for n, thread in enumerate(threads)))
    assert [thread.messages[-1].text for thread in threads] == [f"a{n} | b{n}" for n in range(20)]


async def test_calls_of_one_reply_run_at_a_time_and_results_keep_the_order_of_the_calls() -> None:
    running: list[str] = []
    both = asyncio.Event()

    @tool
    async def meet(name: str) -> str:
        """Wait for the other call."""
        running.append(name)
        if len(running) == 2:
            both.set()
        await both.wait()
        if name == "first":
            await asyncio.sleep(0)
        return name

    model = ScriptedModel([[call("meet", name="first"), call("meet", name="second")], "done"])
    await ChatAgent(model, tools=[meet]).run("go")
    results = model.requests[1].messages[-1].tool_results
    assert [result.content for result in results] == ["first", "second"]


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (call("prize", product="tea"), "no tool is called 'prize' (known: price)"),
        (call("price"), "the arguments do not fit: product: Field required"),
        (
            call("price", product="tea", unit="kg"),
            "the arguments do not fit: unit: Extra inputs are not permitted",
        ),
        (call("price", product="gold"), "the tool failed with KeyError"),
        (ToolCall(id="", name="price", invalid="{tea"), "the arguments are not a JSON object: {tea"),
    ],
)
async def test_the_model_reads_why_a_call_failed_and_can_correct_it(asked: ToolCall, error: str) -> None:
    model = ScriptedModel([asked, call("price", product="tea"), "3.50"])
    response = await ChatAgent(model, tools=[price]).run("tea?")
    result = model.requests[1].messages[-1].tool_results[0]
    assert result.is_error
    assert result.content == error
    assert response.text == "3.50"


async def test_calls_that_a_model_numbers_alike_in_each_reply_are_told_apart() -> None:
    lines: list[ScriptLine] = [
        call("price", "c1", product="tea"),
        call("price", "c1", product="gold"),
        "done",
    ]
    model = ScriptedModel(lines)
    await ChatAgent(model, tools=[price]).run("tea?")
    results = [one for message in model.requests[2].messages for one in message.tool_results]
    assert [(one.call_id, one.content) for one in results] == [
        ("c1", 3.5),
        ("c1_2", "the tool failed with KeyError"),
    ]


async def test_many_calls_of_one_reply_are_settled_in_linear_work() -> None:
    compared = 0

    class Counting(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    count = 2_000
    calls = [ToolCall.model_construct(id=Counting("same"), name="none", arguments={}) for _ in range(count)]
    reply = with_new_ids(ChatMessage.assistant("", *calls), [])
    assert len({one.id for one in reply.tool_calls}) == count
    assert reply.tool_calls[-1].id == f"same_{count}"
    assert compared < 5 * count


async def test_a_tool_that_only_reads_runs_once_for_equal_calls_of_a_turn() -> None:
    asked: list[str] = []

    @tool(is_deduplicated=True)
    async def look(name: str) -> str:
        """Look something up."""
        asked.append(name)
        return name.upper()

    twins = [call("look", "a", name="x"), call("look", "b", name="x"), call("look", "c", name="y")]
    model = ScriptedModel([twins, call("look", "d", name="x"), "done"])
    await ChatAgent(model, tools=[look]).run("go")
    assert sorted(asked) == ["x", "y"]
    results = [one for message in model.requests[2].messages for one in message.tool_results]
    assert [(one.call_id, one.content) for one in results] == [("a", "X"), ("b", "X"), ("c", "Y"), ("d", "X")]


@pytest.mark.requirement("AG06", "AG07")
async def test_a_stream_brings_the_pieces_in_order_and_ends_with_the_answer_of_run() -> None:
    script: list[ScriptLine] = [[call("price", "c1", product="tea")], "Tea costs 3.50."]
    agent = ChatAgent(ScriptedModel(script), name="clerk", tools=[price])
    pieces = [piece async for piece in agent.run_stream("tea?")]
    assert [piece.kind for piece in pieces] == [
        ChunkKind.STARTED,
        ChunkKind.MESSAGE,
        ChunkKind.TOOL_STARTED,
        ChunkKind.TOOL_FINISHED,
        ChunkKind.TEXT,
        ChunkKind.MESSAGE,
        ChunkKind.FINISHED,
    ]
    assert [piece.sequence for piece in pieces] == list(range(1, 8))
    assert [piece.done for piece in pieces] == [False] * 6 + [True]
    assert {piece.author_name for piece in pieces} == {"clerk"}
    answer = pieces[-1].response
    assert answer is not None
    again = await ChatAgent(ScriptedModel(script), name="clerk", tools=[price]).run("tea?")
    assert (answer.text, answer.usage) == (again.text, again.usage)


async def test_a_stream_that_is_left_early_stops_the_agent() -> None:
    stopped = asyncio.Event()

    async def never(_: ModelRequest) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise AssertionError

    stream = ChatAgent(FunctionModel(never)).run_stream("go")
    async for _ in stream:
        break
    await stream.aclose()  # type: ignore[attr-defined]  # an async generator
    assert stopped.is_set()


async def test_a_stream_that_is_left_with_many_unread_pieces_stops_the_agent() -> None:
    begun = asyncio.Event()

    async def chatter(ctx: ToolContext) -> str:
        begun.set()
        while True:
            await ctx.report(AgentChunk(kind=ChunkKind.TEXT, author_name="a", text="x"))

    agent = ChatAgent(ScriptedModel([call("chatter")]), tools=[chatter])
    stream = agent.run_stream("go")
    async for _ in stream:
        await begun.wait()
        break
    closing = asyncio.create_task(stream.aclose())  # type: ignore[attr-defined]  # an async generator
    await asyncio.wait([closing], timeout=10)
    assert closing.done()


@pytest.mark.requirement("TO02")
@pytest.mark.parametrize("mode", ["native", "tool", "prompt"])
async def test_an_answer_has_the_output_type_and_the_model_corrects_its_mistakes(mode: Any) -> None:
    def line(answer: dict[str, Any]) -> Any:
        if mode == "tool":
            return call("final_output", **answer)
        return (
            json.dumps(answer)
            if mode == "native"
            else f"Here:\n```json\n{json.dumps(answer)}\n```\nAnything else?"
        )

    model = ScriptedModel([line({"cheap": True}), line({"cheap": True, "reason": "sale"})], structured=mode)
    agent = ChatAgent(model, output_type=Verdict)
    thread = agent.new_thread()
    response = await agent.run("Is it cheap?", thread)
    assert response.output == Verdict(cheap=True, reason="sale")
    assert response.data == {"cheap": True, "reason": "sale"}
    told = model.requests[1].messages[-1]
    shown = told.text or str(told.tool_results[0].content)
    assert "reason: Field required" in shown
    first = model.requests[0]
    assert (first.output is not None) == (mode == "native")
    assert ("final_output" in [one.name for one in first.tools]) == (mode == "tool")
    assert ("JSON Schema" in first.instructions) == (mode == "prompt")
    assert first.tool_choice == ("required" if mode == "tool" else "auto")


@pytest.mark.parametrize(
    ("kind", "reply", "output"),
    [
        (int, '{"value": 3}', 3),
        (list[str], '{"value": ["a", "b"]}', ["a", "b"]),
        (Verdict | None, '{"value": null}', None),
    ],
)
async def test_output_types_that_are_no_objects_are_wrapped(kind: Any, reply: str, output: object) -> None:
    response = await ChatAgent(ScriptedModel([reply]), output_type=kind).run("go")
    assert response.output_as(kind) == output
    assert response.output == output


async def test_an_answer_that_never_gets_the_output_type_fails_with_the_mistakes() -> None:
    agent = ChatAgent(ScriptedModel.repeating("no JSON", times=3), name="judge", output_type=Verdict)
    with pytest.raises(
        OutputNotMetError, match="did not reply with a valid Verdict: the answer is not valid JSON"
    ):
        await agent.run("go")


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (UsageLimits(max_model_calls=3), "max_model_calls=3"),
        (UsageLimits(max_tool_calls=2), "max_tool_calls=2"),
        (UsageLimits(max_total_tokens=20), "max_total_tokens=20"),
        (UsageLimits(), r'it called price\(\{"product": "tea"\}\) 6 times \(max_repeats=5\)'),
    ],
)
async def test_a_limit_stops_a_model_that_loops_and_keeps_the_work(limits: UsageLimits, reason: str) -> None:
    agent = ChatAgent(FunctionModel(lambda _: call("price", product="tea")), tools=[price], limits=limits)
    thread = agent.new_thread()
    with pytest.raises(AgentStoppedError, match=reason) as stopped:
        await agent.run("go", thread)
    assert stopped.value.response.usage.tool_calls >= 1
    assert len(thread.messages) > 2
    with pytest.raises(ValueError, match="stopped"):
        _ = stopped.value.response.output


@pytest.mark.parametrize("name", ["look", "nothing_like_it"])
async def test_calls_that_need_no_work_are_repeated_no_more_often_than_others(name: str) -> None:
    @tool(is_deduplicated=True)
    async def look(word: str) -> str:
        """Look a word up."""
        return word

    agent = ChatAgent(FunctionModel(lambda _: call(name, word="x")), tools=[look])
    with pytest.raises(AgentStoppedError, match=rf"it called {name}.* 6 times \(max_repeats=5\)") as stopped:
        await agent.run("go")
    assert stopped.value.response.usage.requests == 6


async def test_a_cost_limit_without_a_known_price_is_refused_before_the_next_request() -> None:
    model = ScriptedModel([call("price", product="tea"), "never asked"], cost_usd=None)
    agent = ChatAgent(model, tools=[price], limits=UsageLimits(max_cost_usd=0.5))
    with pytest.raises(AgentStoppedError, match="the price of the model is not known"):
        await agent.run("go")
    assert len(model.requests) == 1


async def test_a_new_turn_after_a_stopped_one_has_a_result_for_every_call() -> None:
    model = ScriptedModel([call("price", "c1", product="tea"), "better"])
    agent = ChatAgent(model, tools=[price], limits=UsageLimits(max_tool_calls=1))
    thread = agent.new_thread()
    with pytest.raises(AgentStoppedError):
        await agent.run(
            "go", thread, options=RunOptions(limits=UsageLimits(max_repeats=None, max_model_calls=1))
        )
    await agent.run("again", thread)
    roles = [message.role for message in model.requests[1].messages]
    assert roles == ["user", "assistant", "tool", "user"]


async def test_a_refusal_and_a_cut_reply_are_no_answers() -> None:
    refused = ModelReply(message=ChatMessage.assistant("I cannot."), stop_reason=StopReason.REFUSED)
    cut = ModelReply(message=ChatMessage.assistant("It is"), stop_reason=StopReason.LENGTH)
    for reply, reason in ((refused, "the model refused: I cannot."), (cut, "max_tokens")):
        with pytest.raises(AgentStoppedError, match=reason):
            await ChatAgent(ScriptedModel([reply])).run("go")


@pytest.mark.requirement("TH03")
async def test_a_turn_whose_model_failed_continues_where_it_stopped() -> None:
    seen: list[str] = []

    @tool
    async def note(text: str) -> str:
        """Note something."""
        seen.append(text)
        return "noted"

    model = ScriptedModel([call("note", text="x"), OverloadedError("a:b", "busy"), "done"])
    agent = ChatAgent(model, tools=[note])
    thread = agent.new_thread()
    with pytest.raises(OverloadedError):
        await agent.run("go", thread)
    restored = AgentThread.deserialize(thread.serialize())
    assert (await agent.run((), restored)).text == "done"
    assert seen == ["x"]


async def test_the_same_key_gives_the_same_answer_and_asks_no_model_again() -> None:
    model = ScriptedModel(["first", "second"])
    agent = ChatAgent(model, store=MemoryThreadStore())
    thread = agent.new_thread()
    options = RunOptions(idempotency_key="order-7")
    answers = [await agent.run("go", thread, options=options) for _ in range(3)]
    assert [answer.text for answer in answers] == ["first"] * 3
    assert len(model.requests) == 1
    assert len(thread.messages) == 2


class NoGold(Guard):
    """Refuses gold everywhere."""

    async def check_input(self, messages: Any) -> str | None:
        return "no gold here" if "gold" in messages[-1].text else None

    async def check_call(self, call: ToolCall) -> str | None:
        return "gold is not for sale" if call.arguments.get("product") == "gold" else None

    async def check_answer(self, message: ChatMessage) -> str | None:
        return "the answer names gold" if "gold" in message.text else None


async def test_guards_stop_input_and_answer_and_refuse_calls() -> None:
    model = ScriptedModel([call("price", product="gold"), "It is tea.", "It is gold."])
    agent = ChatAgent(model, tools=[price], guards=[NoGold()])
    with pytest.raises(AgentStoppedError, match="no gold here"):
        await agent.run("gold?")
    assert model.requests == []
    assert (await agent.run("tea?")).text == "It is tea."
    assert model.requests[1].messages[-1].tool_results[0].content == "gold is not for sale"
    with pytest.raises(AgentStoppedError, match="the answer names gold"):
        await agent.run("tea?")


@pytest.mark.requirement("AG23")
async def test_an_agent_is_a_tool_of_another_and_its_pieces_carry_the_path() -> None:
    inner = ChatAgent(ScriptedModel(["7 degrees"]), name="weather", description="Knows the weather.")
    model = ScriptedModel([call("weather", task="Oslo?"), "Take a coat."])
    outer = ChatAgent(model, name="guide", tools=[inner])
    pieces = [piece async for piece in outer.run_stream("What to wear?")]
    assert [(piece.author_name, piece.path) for piece in pieces if piece.kind is ChunkKind.TEXT] == [
        ("weather", ("guide",)),
        ("guide", ()),
    ]
    answer = pieces[-1].response
    assert answer is not None
    assert answer.usage.requests == 3
    assert model.requests[0].tools[0].description == "Knows the weather."


def always(asked: ToolCall) -> FunctionModel:
    """Return a model that makes one call again and again."""
    return FunctionModel(lambda _: asked)


def boxed(depth: int) -> ChatAgent[str]:
    """Return an agent in an agent in an agent; the innermost one calls a tool without end."""
    limits = UsageLimits(max_repeats=None)
    agent = ChatAgent(always(call("price", product="tea")), name="inner0", tools=[price], limits=limits)
    for number in range(1, depth):
        agent = ChatAgent(
            always(call(f"inner{number - 1}", task="go")), name=f"inner{number}", tools=[agent], limits=limits
        )
    return agent


@pytest.mark.parametrize("depth", [1, 2, 3])
async def test_the_limits_of_an_agent_hold_for_all_agents_that_it_calls(depth: int) -> None:
    model = ScriptedModel([call(f"inner{depth - 1}", task="go"), "never asked"])
    outer = ChatAgent(model, name="outer", tools=[boxed(depth)], limits=UsageLimits(max_model_calls=7))
    with pytest.raises(AgentStoppedError, match="max_model_calls=7") as stopped:
        await outer.run("go")
    assert stopped.value.response.usage.requests == 7
    told = str(stopped.value.response.messages[-1].tool_results[0].content)
    assert "the agent that called it stopped: " in told
    assert "it reached max_model_calls=7" in told


async def test_agents_that_are_called_at_a_time_share_the_limits_of_their_caller() -> None:
    inner = [
        ChatAgent(
            always(call("price", product="tea")),
            name=name,
            tools=[price],
            limits=UsageLimits(max_repeats=None),
        )
        for name in ("one", "two")
    ]
    model = ScriptedModel([[call("one", task="go"), call("two", task="go")], "never asked"])
    outer = ChatAgent(model, name="outer", tools=inner, limits=UsageLimits(max_model_calls=9))
    with pytest.raises(AgentStoppedError, match="max_model_calls=9") as stopped:
        await outer.run("go")
    assert 9 <= stopped.value.response.usage.requests <= 10  # one call was under way


async def test_tools_get_the_context_of_their_call_and_models_do_not_see_it() -> None:
    seen: list[ToolContext] = []

    @tool
    def whoami(question: str, context: ToolContext) -> str:
        """Say who asks."""
        seen.append(context)
        return f"{question} {context.user_id}"

    model = ScriptedModel([call("whoami", "c9", question="who"), "done"])
    agent = ChatAgent(model, name="clerk", tools=[whoami])
    await agent.run("go", agent.new_thread(user_id="ada"), options=RunOptions(facts={"db": 1}))
    assert model.requests[0].tools[0].parameters["properties"] == {
        "question": {"title": "Question", "type": "string"}
    }
    assert model.requests[1].messages[-1].tool_results[0].content == "who ada"
    assert (seen[0].agent, seen[0].call_id, dict(seen[0].facts)) == ("clerk", "c9", {"db": 1})


async def test_wrong_agents_are_refused_when_they_are_made() -> None:
    with pytest.raises(ToolDefinitionError, match="an agent cannot be called 'my agent'"):
        ChatAgent(ScriptedModel([]), name="my agent")
    with pytest.raises(ToolDefinitionError, match="two tools are called 'price'"):
        ChatAgent(ScriptedModel([]), tools=[price, price])
    with pytest.raises(ToolDefinitionError, match="the parameter 'x' of tool 'bare' has no annotation"):
        ChatAgent(ScriptedModel([]), tools=[bare])


class Opaque:
    """Pydantic does not know it."""


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"model": None}, r"a model is an LLMAdapter or its name \('provider:name'\), not NoneType"),
        ({"model": Opaque()}, "not Opaque; LangChainModel and PydanticAIModel"),
        ({"output_type": Opaque}, "agent 'judge' cannot have the output type .*Opaque.*OutputSchema.of"),
        ({"output_type": {"type": "object"}}, r"cannot have the output type .*OutputSchema\.of\(SCHEMA\)"),
        ({"structured": "nativ"}, "structured of agent 'judge' is 'nativ'; use one of: native, tool, prompt"),
        ({"tools": price}, r"the tools of agent 'judge' are .*price.*; give a list: tools=\[\.\.\.\]"),
    ],
)
def test_wrong_parts_of_an_agent_are_refused_before_a_model_is_asked(
    parts: dict[str, Any], says: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        ChatAgent(**{"model": ScriptedModel([]), "name": "judge", **parts})


def bare(x) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001  # what the test is about
    """Do nothing."""
    return str(x)


@pytest.mark.requirement("TH08")
async def test_a_thread_of_another_agent_is_refused_with_both_names() -> None:
    thread = ChatAgent(ScriptedModel(["x"]), name="one").new_thread()
    with pytest.raises(ThreadMisfitError, match=r"does not fit agent 'two': it belongs to agent 'one'"):
        await ChatAgent(ScriptedModel(["x"]), name="two").run("go", thread)


async def test_an_agent_without_input_says_what_it_needs() -> None:
    with pytest.raises(ValueError, match="was given nothing to answer"):
        await ChatAgent(ScriptedModel(["x"])).run()
    for given, kind in (
        ([1], "int"),
        (1, "int"),
        (None, "NoneType"),
        ({"role": "user"}, "dict"),
        (b"x", "bytes"),
    ):
        with pytest.raises(
            TypeError, match=f"an agent takes texts, ChatMessage and RequestAnswer, not {kind}"
        ):
            await ChatAgent(ScriptedModel(["x"])).run(given)  # type: ignore[arg-type]  # what the test is about


async def test_an_agent_takes_several_texts() -> None:
    model = ScriptedModel(["x"])
    await ChatAgent(model).run(["It is broken.", ChatMessage.user("Really.")])
    assert [one.text for one in model.requests[0].messages] == ["It is broken.", "Really."]


@pytest.mark.requirement("AG11")
def test_the_builder_makes_the_agent_that_the_arguments_make() -> None:
    model = ScriptedModel([])
    built = (
        ChatAgent.builder()
        .model(model)
        .instructions("Be short.")
        .name("clerk")
        .tools(price)
        .output_type(Verdict)
        .limits(UsageLimits(max_model_calls=2))
        .message_store(MemoryThreadStore())
        .build()
    )
    made = ChatAgent(
        model,
        "Be short.",
        name="clerk",
        tools=[price],
        output_type=Verdict,
        limits=UsageLimits(max_model_calls=2),
        store=built.store,
    )
    assert built.setup == made.setup
    with pytest.raises(ValueError, match="a chat agent needs a model"):
        ChatAgent.builder().build()


@pytest.mark.requirement("AG17")
async def test_a_model_becomes_an_agent_by_itself() -> None:
    agent = ScriptedModel(["hello"]).as_agent("Be kind.", "host")
    assert (agent.name, (await agent.run("hi")).text) == ("host", "hello")


async def test_an_error_of_the_model_reaches_the_caller_of_a_stream() -> None:
    agent = ChatAgent(ScriptedModel([RateLimitedError("a:b", "slow down", retry_after_s=2.0)]))
    with pytest.raises(RateLimitedError, match="slow down"):
        [piece async for piece in agent.run_stream("go")]


async def test_a_call_of_the_output_tool_without_an_output_type_is_no_answer() -> None:
    model = ScriptedModel([call("final_output", value="lost"), "The answer."])
    assert (await ChatAgent(model).run("go")).text == "The answer."
    assert "no tool is called 'final_output'" in str(model.requests[1].messages[-1].tool_results[0].content)


async def test_an_input_that_joined_an_interrupted_turn_is_not_added_again_with_its_key() -> None:
    heard: list[list[str]] = []

    def reply(request: ModelRequest) -> ScriptLine:
        heard.append([message.text for message in request.messages])
        return OverloadedError("function:model", "busy") if len(heard) < 3 else "Both."

    agent = ChatAgent(FunctionModel(reply))
    thread = agent.new_thread()
    for text, key in (("a", "first"), ("b", "second")):
        with pytest.raises(OverloadedError):
            await agent.run(text, thread, options=RunOptions(idempotency_key=key))
    for _ in range(2):
        again = await agent.run("b", thread, options=RunOptions(idempotency_key="second"))
        assert again.text == "Both."
    assert heard[2:] == [["a", "b"]]
