"""Tools: schemas from signatures, calls that fail, and large results."""

from __future__ import annotations

import asyncio
import functools
import math
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import BaseModel, Field
from structlog.testing import capture_logs

from agentic.core import MemoryCheckpointStore, WorkflowBuilder
from agentic.core.agents import (
    AgentThread,
    ChatAgent,
    FunctionTool,
    ToolContext,
    ToolDefinitionError,
    ToolError,
    tool,
)
from agentic.core.agents.tools.calling import call_tool
from agentic.core.agents.tools.large_results import INLINE_CHARS, MOST_CHARS
from agentic.core.graph import RetryPolicy
from agentic.core.llm import ScriptedModel, ToolCall, ToolResult


class Size(StrEnum):
    """A size."""

    SMALL = "s"
    LARGE = "l"


@dataclass
class Address:
    """An address."""

    street: str
    city: str = "Oslo"


class Item(BaseModel):
    """An item."""

    name: str
    count: int = Field(default=1, ge=1)


@tool
async def order(
    items: list[Item],
    to: Address,
    size: Size = Size.SMALL,
    *,
    speed: Literal["slow", "fast"] = "slow",
    note: Annotated[str | None, Field(description="For the driver.", max_length=10)] = None,
) -> str:
    """Order items.

    They arrive tomorrow.

    Args:
        items: At least one.
        to: Where they go.
        size: Of the
            box.
        speed: Costs extra.

    Returns:
        The number of the order.
    """
    return f"{[item.name for item in items]} {to.city} {size.value} {speed} {note}"


async def called(subject: FunctionTool, **arguments: Any) -> ToolResult:
    """Return the result of a call."""
    call = ToolCall(id="c", name=subject.name, arguments=arguments)
    model = ScriptedModel([call, "done"])
    await ChatAgent(model, tools=[subject]).run("go")
    return model.requests[1].messages[-1].tool_results[0]


@pytest.mark.requirement("TO01")
async def test_the_schema_has_the_types_defaults_and_descriptions_of_the_parameters() -> None:
    assert order.name == "order"
    assert order.description == "Order items.\n\nThey arrive tomorrow."
    schema: Any = order.parameters
    properties = schema["properties"]
    assert schema["required"] == ["items", "to"]
    assert schema["additionalProperties"] is False
    assert properties["items"]["description"] == "At least one."
    assert properties["size"]["description"] == "Of the\nbox."
    assert properties["size"]["default"] == "s"
    assert properties["speed"]["enum"] == ["slow", "fast"]
    assert properties["note"]["description"] == "For the driver."
    assert set(schema["$defs"]) == {"Item", "Address", "Size"}


async def test_arguments_become_the_types_of_the_parameters() -> None:
    result = await called(
        order, items=[{"name": "lamp"}], to={"street": "Main"}, size="l", speed="fast", note="ring"
    )
    assert result.content == "['lamp'] Oslo l fast ring"
    wrong = await called(order, items=[{"name": "x", "count": 0}], to={}, note="x" * 11)
    assert wrong.is_error
    assert str(wrong.content).startswith("the arguments do not fit: items.0.count: Input should be greater")
    assert "to.street: Field required" in str(wrong.content)
    assert "note: String should have at most 10 characters" in str(wrong.content)


@pytest.mark.parametrize(
    "text",
    [
        "Do it.\n\nArgs:\n    x: The number.",
        "Do it.\n\nParameters\n----------\nx : int\n    The number.",
        "Do it.\n\n:param x: The number.",
    ],
)
def test_docstrings_of_every_style_describe_parameters(text: str) -> None:
    async def act(x: int) -> None: ...

    act.__doc__ = text
    made = tool(act)
    properties: Any = made.parameters["properties"]
    assert (made.description, properties["x"]["description"]) == ("Do it.", "The number.")


async def test_a_tool_is_still_the_function() -> None:
    @tool
    def double(x: int) -> int:
        """Double a number."""
        return 2 * x

    assert double(4) == 8
    assert (await called(double, x=4)).content == 8


async def test_types_of_the_enclosing_function_are_found() -> None:
    class Local(BaseModel):
        value: int

    @tool
    async def read(x: Local) -> int:
        """Read."""
        return x.value

    assert (await called(read, x={"value": 3})).content == 3


async def test_a_sync_tool_runs_beside_the_event_loop() -> None:
    threads: list[int] = []

    @tool
    def work() -> str:
        """Work."""
        threads.append(threading.get_ident())
        return "done"

    await called(work)
    assert threads != [threading.get_ident()]


async def test_models_and_dataclasses_come_back_as_json() -> None:
    @tool
    async def find() -> list[Any]:
        """Find."""
        return [Item(name="lamp"), Address("Main"), Size.LARGE, {1}, b"x", object]

    content: Any = (await called(find)).content
    assert content[:5] == [{"name": "lamp", "count": 1}, {"street": "Main", "city": "Oslo"}, "l", [1], "x"]
    assert isinstance(content[5], str)


async def test_a_failing_tool_is_tried_again_and_its_secrets_stay_out_of_the_conversation() -> None:
    tries: list[int] = []
    waits: list[float] = []

    @tool(retry=RetryPolicy(max_attempts=3, first_delay_s=1, jitter=0))
    async def flaky(how: str) -> str:
        """Fail."""
        tries.append(1)
        if how == "recovers" and len(tries) == 3:
            return "done"
        raise ToolError("out of stock") if how == "explains" else ConnectionError("password=hunter2")

    async def wait(delay_s: float) -> None:
        waits.append(delay_s)

    async def result(how: str) -> ToolResult:
        tries.clear()
        call = ToolCall(id="c", name="flaky", arguments={"how": how})
        found = await call_tool(flaky, call, None, wait)  # type: ignore[arg-type]  # it takes no context
        assert isinstance(found, ToolResult)
        return found

    with capture_logs():
        assert (await result("recovers")).content == "done"
        assert waits == [1, 2]
        assert (await result("breaks")).content == "the tool failed with ConnectionError"
        assert (await result("explains")).content == "out of stock"
    assert len(tries) == 3


async def test_a_tool_that_takes_too_long_is_stopped() -> None:
    stopped = asyncio.Event()

    @tool(timeout_s=0.01)
    async def wait() -> None:
        """Wait for ever."""
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    with capture_logs():
        assert (await called(wait)).content == "the tool did not end within 0.01 s"
    assert stopped.is_set()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda *x: x, r"the parameter 'x' of tool .* cannot be passed by name"),
        (lambda **x: x, "cannot be passed by name"),
    ],
)
def test_functions_that_cannot_be_tools_are_refused(function: Any, message: str) -> None:
    with pytest.raises(ToolDefinitionError, match=message):
        tool(name="x")(function)


def test_odd_names_and_types_are_refused() -> None:
    async def fine() -> None: ...

    with pytest.raises(ToolDefinitionError, match="a tool cannot be called 'a b'"):
        tool(name="a b")(fine)

    async def odd(x: asyncio.Event) -> None: ...

    with pytest.raises(ToolDefinitionError, match="have no JSON Schema"):
        tool(odd)

    with pytest.raises(ToolDefinitionError, match="3 is not a tool"):
        ChatAgent(ScriptedModel([]), tools=[3])  # type: ignore[list-item]  # what the test is about


async def test_a_large_result_is_cut_and_can_be_read_in_parts_also_after_a_restart() -> None:
    text = "".join(f"{number:07} " for number in range(10_000))

    @tool
    async def dump() -> str:
        """Return a lot."""
        return text

    agent = ChatAgent(ScriptedModel([ToolCall(id="a", name="dump"), "Long."]), tools=[dump])
    thread = agent.new_thread()
    await agent.run("go", thread)
    result = thread.messages[2].tool_results[0]
    assert result.reference is not None
    assert len(str(result.content)) < INLINE_CHARS / 4
    assert f"({len(text)} characters; read on with read_result(" in str(result.content)

    def read(call_id: str, **arguments: Any) -> ToolCall:
        return ToolCall(id=call_id, name="read_result", arguments=arguments)

    reference = result.reference[:16]
    model = ScriptedModel(
        [
            [
                read("b", reference=reference, start=4_000, count=8),
                read("c", reference=reference, start=79_992, count=90_000),
                read("d", reference="", start=0),
                read("e", reference=reference, start="x"),
                read("f", reference=reference, start=0, count=10**9),
            ],
            "Read.",
        ]
    )
    restored = AgentThread.deserialize(thread.serialize())
    await ChatAgent(model, tools=[dump]).run("Read on.", restored)
    found = [str(one.content) for one in model.requests[1].messages[-1].tool_results]
    assert found[0] == "0000500 \n... (75992 characters left)"
    assert found[1] == "0009999 "
    assert found[2] == "no large result has the reference ''"
    assert found[3] == "give reference as a text, and start and count as integers"
    assert found[4].startswith(text[:MOST_CHARS])
    assert [one.name for one in model.requests[0].tools] == ["dump", "read_result"]


async def test_a_result_that_is_nested_too_deep_is_an_error_that_the_model_reads() -> None:
    async def look() -> Any:
        deep: Any = 1
        for _ in range(70):
            deep = [deep]
        return deep

    model = ScriptedModel([ToolCall(id="1", name="look"), "done"])
    flow = WorkflowBuilder("w").set_start(ChatAgent(model, name="a", tools=[look])).build()
    await flow.run("go", checkpoints=MemoryCheckpointStore())
    assert model.requests[1].messages[-1].tool_results[0].content == (
        "the result is nested more than 64 levels deep"
    )


async def test_calls_with_one_and_with_true_are_not_equal() -> None:
    seen: list[object] = []

    @tool(is_deduplicated=True)
    async def look(what: Any) -> str:
        """Look."""
        seen.append(what)
        return str(what)

    calls = [
        ToolCall(id=str(number), name="look", arguments={"what": x}) for number, x in enumerate((1, True, 1))
    ]
    await ChatAgent(ScriptedModel([calls, "done"]), tools=[look]).run("go")
    assert [repr(one) for one in seen] == ["1", "True"]


class Doubler:
    """An object that can be called."""

    async def __call__(self, number: int) -> int:
        """Double a number."""
        return 2 * number


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function in a plain one, as most decorators do."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


async def count(last: int) -> AsyncIterator[int]:
    """Count."""
    for number in range(last):
        yield number


async def add(number: int, other: int) -> int:
    """Add two numbers."""
    return number + other


@pytest.mark.parametrize(
    ("function", "name", "description", "arguments", "content"),
    [
        (logged(add), "add", "Add two numbers.", {"number": 2, "other": 3}, 5),
        (Doubler(), "Doubler", "Double a number.", {"number": 2}, 4),
        (count, "count", "Count.", {"last": 3}, [0, 1, 2]),
        (functools.partial(add, other=3), "add", "Add two numbers.", {"number": 2}, 5),
    ],
)
async def test_all_kinds_of_functions_are_called_to_their_end(
    function: Any, name: str, description: str, arguments: dict[str, Any], content: object
) -> None:
    made = tool(function)
    assert (made.name, made.description) == (name, description)
    assert list(made.parameters["properties"]) == list(arguments)  # type: ignore[arg-type]  # JSON
    assert (await called(made, **arguments)).content == content


async def test_a_generator_works_in_the_thread_of_its_tool() -> None:
    threads: list[int] = []

    @tool
    def lines() -> Iterator[str]:
        """Read lines."""
        threads.append(threading.get_ident())
        yield "a"

    assert (await called(lines)).content == ["a"]
    assert threads != [threading.get_ident()]


async def test_a_number_that_json_lacks_is_null_for_the_model() -> None:
    """``NaN`` is no JSON: Gemini refuses the request, and each later one of its thread."""

    async def average() -> dict[str, Any]:
        return {"mean": math.nan, "parts": [math.inf, 1.5]}

    assert (await called(tool(average))).content == {"mean": None, "parts": [None, 1.5]}


async def test_a_parameter_may_have_any_name() -> None:
    @tool
    async def look(model_config: int, schema: str, _private: int = 1) -> str:
        """Look.

        Args:
            schema: Of the table.
        """
        return f"{model_config} {schema} {_private}"

    schema: Any = look.parameters
    assert list(schema["properties"]) == ["model_config", "schema", "_private"]
    assert schema["properties"]["schema"]["description"] == "Of the table."
    assert (await called(look, model_config=1, schema="s", _private=2)).content == "1 s 2"
    assert "schema: Input should be a valid string" in str(
        (await called(look, model_config=1, schema=2)).content
    )


async def test_a_context_may_be_optional_or_annotated() -> None:
    @tool
    async def look(one: ToolContext | None = None, *, word: str = "") -> str:
        """Look."""
        return f"{one.call_id if one else None} {word}"

    @tool
    async def see(one: Annotated[ToolContext, "of the call"]) -> str:
        """See."""
        return one.call_id

    assert list(cast(Any, look.parameters["properties"])) == ["word"]
    assert (await called(look, word="x")).content == "c x"
    assert (await called(see)).content == "c"


def test_a_function_that_cannot_be_a_tool_is_refused_in_one_line() -> None:
    class Shop:
        def price(self, item: str) -> str:
            return item

    async def with_callback(done: Callable[[], None]) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"'self' of tool 'price' .* give the method of an object"):
        tool(Shop.price)
    with pytest.raises(
        ToolDefinitionError, match=r"^.*'with_callback' have no JSON Schema: Cannot generate.*$"
    ):
        tool(with_callback)
    assert tool(Shop().price).name == "price"


async def test_a_sync_tool_that_takes_too_long_is_left_behind() -> None:
    go_on, ended = threading.Event(), threading.Event()

    @tool(timeout_s=0.01)
    def wait() -> None:
        """Wait for another thread."""
        go_on.wait(20)
        ended.set()

    with capture_logs():
        assert (await called(wait)).content == "the tool did not end within 0.01 s"
    assert not ended.is_set()
    go_on.set()
    assert await asyncio.to_thread(ended.wait, 20)


async def _asks(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"approval": True}, "the approval of tool 'pay' is True; use 'always', 'never', or a function"),
        ({"approval": "always_require"}, "the approval of tool 'pay' is 'always_require'; use 'always'"),
        ({"approval": _asks}, "a function .not an async one."),
        ({"retry": 3}, r"retry of tool 'pay' is 3; use a RetryPolicy\(max_attempts=...\)"),
        ({"timeout_s": 0}, "timeout_s of tool 'pay' is 0; use more than 0 seconds, or None"),
        ({"timeout_s": "5"}, "timeout_s of tool 'pay' is '5'"),
    ],
)
def test_an_approval_that_would_never_ask_and_limits_that_cannot_hold_are_refused(
    facts: dict[str, Any], says: str
) -> None:
    async def pay() -> None: ...

    with pytest.raises(ToolDefinitionError, match=says):
        FunctionTool(pay, **facts)
