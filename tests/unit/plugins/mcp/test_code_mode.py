"""Code mode: programs over tools, in interpreters of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bench.code_mode import Case, count
from tests.unit.plugins.mcp.servers import Shop

from agentic.core.agents import (
    AgentThread,
    ChatAgent,
    Guard,
    PendingRequest,
    RequestAnswer,
    RequestKind,
    RunOptions,
    ThreadMetadata,
    Tool,
    ToolContext,
    ToolDefinitionError,
    UsageLimits,
    ask_person,
    tool,
)
from agentic.core.llm import ScriptedModel, ToolCall, ToolResult
from agentic.core.llm.tokens import TokenEstimator
from agentic.core.types import JSONValue
from agentic.plugins.mcp import CodeMode, McpToolset
from agentic.plugins.mcp.code.searching import find_tools
from agentic.plugins.mcp.code.signatures import described, names_of, signature_of, stubs_of


class Named(Tool):
    """A tool that returns its arguments."""

    def __init__(self, name: str, description: str = "", **parameters: Any) -> None:
        schema: dict[str, Any] = {"type": "object", "properties": parameters, "required": list(parameters)}
        super().__init__(name, description, schema)

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        del context
        return dict(arguments)


class Work:
    """Tools that note their calls; ``pay`` needs an approval."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def tools(self) -> Sequence[Tool]:
        @tool(approval="always")
        async def pay(amount: int) -> str:
            """Pay an amount."""
            self.done.append(f"pay {amount}")
            return f"paid {amount}"

        @tool
        async def price(item: str) -> float:
            """The price of an item."""
            self.done.append(f"price {item}")
            if item == "gold":
                raise ValueError
            return len(item) * 1.5

        return [pay, price]


def running(code: str) -> list[Any]:
    return [[ToolCall(id="1", name="run_code", arguments={"code": code})], "done"]


def agent_of(work: Work, script: Sequence[Any], **facts: Any) -> ChatAgent[Any]:
    return ChatAgent(ScriptedModel(script), tools=[CodeMode(*work.tools(), mode="always")], **facts)


def result_in(thread: AgentThread) -> ToolResult:
    return [one for message in thread.messages for one in message.tool_results][-1]


async def run(code: str, work: Work | None = None, **facts: Any) -> ToolResult:
    agent = agent_of(work or Work(), running(code), **facts)
    thread = agent.new_thread()
    await agent.run("go", thread)
    return result_in(thread)


@pytest.mark.requirement("MC01")
async def test_a_program_calls_tools_at_a_time_and_only_its_last_value_is_read() -> None:
    work = Work()
    found = await run(
        """
import asyncio
prices = await asyncio.gather(*(price(item=one) for one in ["tea", "milk"]))
print("asked")
{"sum": sum(prices)}
""",
        work,
    )
    assert found.content == {"printed": "asked\n", "result": {"sum": 10.5}}
    assert sorted(work.done) == ["price milk", "price tea"]


@pytest.mark.requirement("MC01")
@pytest.mark.parametrize("approved", [True, False])
async def test_a_program_that_waits_for_an_approval_continues_in_another_process(approved: bool) -> None:
    work = Work()
    code = """
before = await price(item="tea")
try:
    paid = await pay(amount=7)
except RuntimeError as error:
    paid = str(error)
[before, paid]
"""
    agent = agent_of(work, running(code))
    thread = agent.new_thread()
    (request,) = (await agent.run("go", thread)).pending
    assert request.kind is RequestKind.APPROVAL
    assert request.call is not None
    assert (request.call.name, request.call.arguments) == ("pay", {"amount": 7})
    assert work.done == ["price tea"]
    thread = AgentThread.deserialize(thread.serialize())
    answer = RequestAnswer(request_id=request.id, approved=approved, reason="too much")
    response = await agent_of(work, ["done"]).run(answer, thread)
    assert response.text == "done"
    if approved:
        assert result_in(thread).content == [4.5, "paid 7"]
        assert work.done == ["price tea", "pay 7"]
    else:
        assert result_in(thread).content == [4.5, "a person rejected the call: too much"]
        assert work.done == ["price tea"]


async def test_an_approval_is_for_one_call_and_one_version_of_the_tool() -> None:
    work = Work()
    agent = agent_of(work, running("[await pay(amount=1), await pay(amount=2)]"))
    thread = agent.new_thread()
    first = (await agent.run("go", thread)).pending[0]
    second = (await agent.run(RequestAnswer(request_id=first.id), thread)).pending[0]
    assert second.call is not None
    assert second.call.arguments == {"amount": 2}

    @tool(approval="always")
    async def pay(amount: int, tip: int = 100) -> str:
        """Pay an amount and a tip."""
        raise AssertionError

    changed = ChatAgent(ScriptedModel(["done"]), tools=[CodeMode(pay, mode="always")])
    again = await changed.run(RequestAnswer(request_id=second.id), thread)
    assert [one.call and one.call.arguments for one in again.pending] == [{"amount": 2}]
    assert work.done == ["pay 1"]


async def test_questions_and_tasks_of_servers_inside_of_a_program_are_kept_with_it() -> None:
    shop = Shop(polls=2)
    code = """
import asyncio
await asyncio.gather(shop_order(item="tea"), shop_send(item="tea"), shop_rows(item="tea"))
"""

    def agent(script: Sequence[Any]) -> ChatAgent[Any]:
        inside = McpToolset(shop.server(), name="shop")
        return ChatAgent(ScriptedModel(script), tools=[CodeMode(inside, mode="always")])

    first = agent(running(code))
    thread = first.new_thread()
    (request,) = (await first.run("go", thread)).pending
    await first.aclose()
    assert request.question == "shop: Which size? (size: integer)"
    thread = AgentThread.deserialize(thread.serialize())
    second = agent(["done"])
    await second.run(RequestAnswer(request_id=request.id, result="3"), thread)
    await second.aclose()
    assert result_in(thread).content == [
        "half: accept 3",
        "arrived",
        [{"item": "a", "price": 1}, {"item": "b", "price": 2}],
    ]
    assert [name for name, _, _ in shop.calls].count("send") == 1


class Death(BaseException):
    """The process is killed."""


class Ledger:
    """Keeps effects beyond the process, as the ledger of a run does; kills it after one of them."""

    def __init__(self, deadly: int) -> None:
        self.kept: dict[str, JSONValue] = {}
        self.answers: dict[str, RequestAnswer] = {}
        self.deadly = deadly

    async def once(self, key: str, effect: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        if key not in self.kept:
            self.kept[key] = await effect()
            if len(self.kept) == self.deadly:
                raise Death
        return self.kept[key]

    async def ask(self, requests: Sequence[PendingRequest], part: str = "") -> Sequence[RequestAnswer] | None:
        del part
        return [self.answers.setdefault(one.id, RequestAnswer(request_id=one.id)) for one in requests]

    async def run_workflow(self, *_: object, **__: object) -> None:
        return None


async def _survived(work: Work, ledger: Ledger, code: str) -> ToolResult:
    """Run a turn in one process after the other, until one survives; each begins with an empty thread."""
    while True:
        script = running(code)[1:] if "model.1" in ledger.kept else running(code)
        thread = AgentThread(ThreadMetadata(agent="agent", created_at=0.0), thread_id="t")
        options = RunOptions(journal=ledger, idempotency_key="turn")
        try:
            await agent_of(work, script).respond("go", thread, options, _drop)
        except Death:
            continue
        return result_in(thread)


@pytest.mark.requirement("MC01")
async def test_a_process_killed_after_any_effect_repeats_no_call_of_a_program_in_a_graph() -> None:
    code = """
import asyncio
prices = await asyncio.gather(price(item="tea"), price(item="milk"))
paid = await pay(amount=7)
[sum(prices), paid, await price(item="oil")]
"""
    whole = Ledger(deadly=0)
    await _survived(Work(), whole, code)
    for deadly in range(1, len(whole.kept) + 1):
        work = Work()
        found = await _survived(work, Ledger(deadly), code)
        assert found.content == [10.5, "paid 7", 4.5]
        assert sorted(work.done) == ["pay 7", "price milk", "price oil", "price tea"]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("price(item='a') + 1", "types do not fit"),
        ("await price(itme='a')", "Argument `itme` does not match"),
        ("await prize(item='a')", "`prize` used when not defined"),
        ("import socket", "Cannot resolve imported module `socket`"),
        ("open('/etc/passwd').read()", "open"),
        ("1 / 0", "ZeroDivisionError"),
        ("def", "types do not fit"),
        ("await price(item='gold')", "RuntimeError: the tool failed with ValueError"),
        ("'x' * 10**10", "MemoryError"),
        ("print('a' * 100_000)", "MemoryError"),
    ],
)
async def test_faults_of_programs_are_errors_for_the_model(code: str, says: str) -> None:
    found = await run(code)
    assert found.is_error
    assert says in str(found.content)


async def test_guards_and_limits_hold_inside_of_programs() -> None:
    class NoTea(Guard):
        async def check_call(self, call: ToolCall) -> str | None:
            return "no tea" if call.arguments.get("item") == "tea" else None

    work = Work()
    found = await run("await price(item='tea')", work, guards=[NoTea()])
    assert "RuntimeError: no tea" in str(found.content)
    assert not work.done
    agent = agent_of(
        work,
        [
            [ToolCall(id="1", name="run_code", arguments={"code": "await price(item='a')"})],
            [ToolCall(id="2", name="run_code", arguments={"code": "await price(item='b')"})],
            "done",
        ],
        limits=UsageLimits(max_tool_calls=2),
    )
    response = await agent.respond("go", agent.new_thread(), RunOptions(), _drop)
    assert response.reason == "it reached max_tool_calls=2"
    assert work.done == ["price a"]


async def _drop(_: object) -> None:
    return


async def test_programs_have_the_same_clock_and_chance_when_they_are_run_again() -> None:
    code = "import random, datetime\n[random.random(), str(datetime.datetime.now())]"
    agent = agent_of(Work(), running(code))
    thread = agent.new_thread()
    await agent.run("go", thread)
    found = result_in(thread).content
    assert isinstance(found, list)
    assert 0 < float(str(found[0])) < 1


async def test_few_tools_stay_as_they_are_and_questions_to_people_always_do() -> None:
    few = await CodeMode(*(Named(f"t{number}") for number in range(9))).tools()
    assert [one.name for one in few] == [f"t{number}" for number in range(9)]
    many = await CodeMode(*(Named(f"t{number}") for number in range(10)), ask_person()).tools()
    assert [one.name for one in many] == ["search_tools", "run_code", "ask_person"]


def test_another_mode_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="no mode 'alway'; use 'auto' or 'always'"):
        CodeMode(mode=cast(Any, "alway"))


async def test_search_shows_the_signatures_that_fit_best() -> None:
    tools = [
        Named("list_issues", "List the issues of a repository.", repository={"type": "string"}),
        Named("close-issue", "Close an issue.", number={"type": "integer", "description": "Its number."}),
        Named("send_mail", "Send a mail.", to={"type": "array", "items": {"type": "string"}}),
    ]
    named = names_of(tools)
    assert find_tools("open issues of a repository", named, 1) == ["list_issues"]
    assert find_tools("closing issue", named, 5)[0] == "close_issue"
    assert find_tools("weather", named, 5) == []
    close = named["close_issue"]
    assert described("close_issue", close) == (
        "async def close_issue(*, number: int) -> Any:  # Close an issue"
    )
    assert described("close_issue", close, has_details=True) == (
        "async def close_issue(*, number: int) -> Any:\n    # Close an issue.\n    # number: Its number."
    )
    assert signature_of("send_mail", named["send_mail"]) == (
        "async def send_mail(*, to: list[str]) -> Any: ..."
    )
    search, _ = await CodeMode(*tools, mode="always").tools()
    agent = ChatAgent(
        ScriptedModel([[ToolCall(id="1", name="search_tools", arguments={"query": "rain"})], "done"]),
        tools=[search],
    )
    thread = agent.new_thread()
    await agent.run("go", thread)
    assert result_in(thread).content == "nothing fits; names begin with: close, list, send"


NAMES = st.text(min_size=1, max_size=12)
SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {},
            {"type": ["string", "null"]},
            {"enum": ["a'", '"b', 3]},
            7,
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda one: {"type": "array", "items": one}),
        st.lists(inner, max_size=3).map(lambda ones: {"anyOf": ones}),
        st.dictionaries(NAMES, inner, max_size=3).map(lambda ones: {"type": "object", "properties": ones}),
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(NAMES, SCHEMAS, max_size=4), NAMES)
def test_stubs_of_any_schema_are_python(properties: dict[str, Any], words: str) -> None:
    named = names_of([Named("a-b", words), Named("a_b"), Named("class")])
    assert list(named) == ["a_b", "a_b_2", "class_"]
    odd = Named("odd", words)
    odd.parameters["properties"] = properties
    compile(stubs_of({"odd": odd, **named}), "stubs", "exec")
    for has_details in (False, True):
        compile(f"{described('odd', odd, has_details=has_details)}\n    ...", "described", "exec")


@pytest.mark.requirement("MC01", "SC07")
async def test_code_mode_saves_98_7_percent_of_the_tokens_of_a_hundred_tools() -> None:
    """The tools, requests and replies are those of real agents; only the words of the model are written."""
    counted = await count(Case("100 tools", 100), TokenEstimator())
    assert counted.saved >= 0.987
    few = await count(Case("3 tools", 3), TokenEstimator())
    assert 0.5 < few.saved < counted.saved


async def test_two_programs_run_at_a_time() -> None:
    found = await asyncio.gather(*(run(f"await price(item='{'x' * size}')") for size in (1, 2, 3)))
    assert [one.content for one in found] == [1.5, 3.0, 4.5]
