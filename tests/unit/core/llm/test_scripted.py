"""Models without a model."""

from __future__ import annotations

import pytest

from agentic.core.llm import (
    ChatMessage,
    FunctionModel,
    ModelReply,
    ModelRequest,
    OverloadedError,
    ScriptedModel,
    ScriptEndedError,
    StopReason,
    TokenUsage,
    ToolCall,
)

pytestmark = pytest.mark.requirement("LM01")


def asked(text: str = "Hello?") -> ModelRequest:
    return ModelRequest(messages=(ChatMessage.user(text),))


async def test_a_script_is_said_line_by_line_and_its_requests_are_kept() -> None:
    model = ScriptedModel(
        ["one", ChatMessage.assistant("two"), ModelReply(message=ChatMessage.assistant("3"))]
    )
    texts = [(await model.complete(asked(text))).text for text in ("a", "b", "c")]
    assert texts == ["one", "two", "3"]
    assert [request.messages[-1].text for request in model.requests] == ["a", "b", "c"]
    assert model.remaining_count == 0


async def test_calls_of_a_script_get_ids_that_are_unique_in_the_conversation() -> None:
    call = ToolCall(id="", name="add")
    model = ScriptedModel([[call, call], call, ToolCall(id="mine", name="add")])
    replies = [await model.complete(asked()) for _ in range(3)]
    assert [one.id for reply in replies for one in reply.tool_calls] == [
        "call_0_0",
        "call_0_1",
        "call_1_0",
        "mine",
    ]
    assert {reply.stop_reason for reply in replies} == {StopReason.TOOL_CALLS}


async def test_an_error_in_a_script_is_raised_and_counts_as_a_line() -> None:
    model = ScriptedModel([OverloadedError("scripted:model", "busy"), "Hello."])
    with pytest.raises(OverloadedError):
        await model.complete(asked())
    assert (await model.complete(asked())).text == "Hello."


async def test_a_script_that_ended_says_what_it_was_asked() -> None:
    model = ScriptedModel.repeating("Yes.", times=2)
    await model.complete(asked())
    await model.complete(asked())
    with pytest.raises(ScriptEndedError, match=r"asked 3 times, but its script has 2 lines; .*'More\?'"):
        await model.complete(asked("More?"))


@pytest.mark.requirement("LM08")
async def test_replies_have_an_estimated_usage_and_the_given_cost() -> None:
    model = ScriptedModel(["x" * 400], cost_usd=0.25)
    usage = (await model.complete(asked("y" * 4_000))).usage
    assert (usage.requests, usage.cost_usd) == (1, 0.25)
    assert 1_000 <= usage.input_tokens <= 1_020
    assert 100 <= usage.output_tokens <= 120
    assert model.cost_of(usage) == 0.25


async def test_a_function_replies_by_its_request() -> None:
    model = FunctionModel(lambda request: request.messages[-1].text.upper(), name="rules:upper")
    reply = await model.complete(asked("hello"))
    assert (reply.text, reply.model, model.provider) == ("HELLO", "upper", "rules")
    assert model.cost_of(TokenUsage(input_tokens=10**9)) == 0


async def test_a_function_may_be_async_and_may_raise() -> None:
    async def slowly(request: ModelRequest) -> ToolCall:
        if len(request.messages) > 1:
            raise OverloadedError("function:model", "busy")
        return ToolCall(id="", name="add")

    model = FunctionModel(slowly)
    assert (await model.complete(asked())).tool_calls[0].id == "call_1_0"
    with pytest.raises(OverloadedError):
        await model.complete(ModelRequest(messages=asked().messages * 2))
