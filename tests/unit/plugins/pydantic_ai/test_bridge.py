"""Models of pydantic-ai speak through our port; the models are pydantic-ai's own for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai import exceptions
from pydantic_ai import messages as theirs
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel as PlainModel

from agentic.core.llm import (
    BadModelRequestError,
    ChatMessage,
    ContextWindowExceededError,
    DataPart,
    ModelConnectionError,
    ModelError,
    ModelRequest,
    ModelSettings,
    ModelTimeoutError,
    OutputFormat,
    OverloadedError,
    RateLimitedError,
    StopReason,
    ToolCall,
    ToolDefinition,
    ToolResult,
    UnknownModelError,
    llm,
)
from agentic.plugins.pydantic_ai import PydanticAIModel

NOW = ToolDefinition(name="now", description="The time.")
PIXEL = "iVBORw0KGgo="


class Scripted:
    """Streams pieces, and remembers what it was asked."""

    def __init__(self, *pieces: Any) -> None:
        self.pieces = pieces
        self.seen: list[list[theirs.ModelMessage]] = []
        self.infos: list[AgentInfo] = []

    async def __call__(self, messages: list[theirs.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.seen.append(messages)
        self.infos.append(info)
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece


def bridge(script: Any, name: str = "m") -> PydanticAIModel:
    return PydanticAIModel(FunctionModel(stream_function=script, model_name=name))


def request(*messages: ChatMessage, **more: Any) -> ModelRequest:
    return ModelRequest(messages=messages or (ChatMessage.user("Hi"),), **more)


async def test_pydantic_ais_own_test_model_replies() -> None:
    model = PydanticAIModel(PlainModel(custom_output_text="It is noon."))
    deltas = [delta async for delta in model.stream(request(instructions="Be brief."))]
    assert "".join(delta.text for delta in deltas) == "It is noon."
    assert deltas[-1].reply is not None
    assert deltas[-1].reply.text == "It is noon."
    assert model.name == "pydantic_ai:test:test"
    calling = PydanticAIModel(PlainModel())
    assert (await calling.complete(request(tools=(NOW,)))).tool_calls[0].name == "now"


async def test_thoughts_texts_and_calls_are_streamed_and_go_back_as_they_came() -> None:
    script = Scripted(
        {0: DeltaThinkingPart(content="Hmm")},
        {0: DeltaThinkingPart(content=".", signature="sig")},
        "So",
        ".",
        {2: DeltaToolCall(name="now", json_args='{"zone"', tool_call_id="a")},
        {2: DeltaToolCall(json_args=': "UTC"}')},
    )
    model = bridge(script)
    deltas = [delta async for delta in model.stream(request(tools=(NOW,)))]
    reply = deltas[-1].reply
    assert reply is not None
    assert "".join(delta.thinking for delta in deltas) == reply.message.thinking == "Hmm."
    assert "".join(delta.text for delta in deltas) == reply.text == "So."
    pieces = [delta.tool_call for delta in deltas if delta.tool_call]
    assert "".join(piece.arguments for piece in pieces) == '{"zone": "UTC"}'
    assert [(call.id, call.arguments) for call in reply.tool_calls] == [("a", {"zone": "UTC"})]
    assert reply.stop_reason is StopReason.TOOL_CALLS
    stored = ChatMessage.from_json(reply.message.to_json())
    results = ChatMessage.tool(ToolResult(call_id="a", name="now", content={"t": 1}, is_error=True))
    history = (ChatMessage.system("Top."), ChatMessage.user("Hi"), stored, results)
    await model.complete(request(*history, tools=(NOW,), instructions="Be brief."))
    asked, said, told = script.seen[-1]
    assert [part.part_kind for part in asked.parts] == ["system-prompt", "system-prompt", "user-prompt"]
    assert [part.part_kind for part in said.parts] == ["thinking", "text", "tool-call"]
    assert getattr(said.parts[0], "signature") == "sig"  # noqa: B009  # of this part
    assert getattr(told.parts[0], "outcome") == "failed"  # noqa: B009  # of this part
    await bridge(script, "other").complete(request(*history, tools=(NOW,)))
    assert [part.part_kind for part in script.seen[-1][1].parts] == ["text", "tool-call"]


async def test_settings_tools_schema_and_images_arrive() -> None:
    script = Scripted("{}")
    given = ModelSettings(temperature=0.5, max_tokens=9, stop=("X",), seed=3, thinking="off", extra={"a": 1})
    image = DataPart(media_type="image/png", data=PIXEL)
    output = OutputFormat(name="offer", schema={"type": "object", "properties": {}})
    messages = (ChatMessage.user("See", image, author_name="Ann"),)
    await bridge(script).complete(request(*messages, tools=(NOW,), output=output, settings=given))
    info = script.infos[0]
    assert info.function_tools[0].description == "The time."
    settings: Any = info.model_settings
    assert {name: settings[name] for name in ("temperature", "max_tokens", "seed", "max_retries")} == {
        "temperature": 0.5,
        "max_tokens": 9,
        "seed": 3,
        "max_retries": 0,
    }
    (part,) = script.seen[0][0].parts
    assert isinstance(part, theirs.UserPromptPart)
    assert part.content[0] == "Ann: See"
    assert isinstance(part.content[1], theirs.BinaryContent)
    with pytest.raises(BadModelRequestError, match="application/x-odd"):
        await bridge(script).complete(
            request(ChatMessage.user("Hi", DataPart(media_type="application/x-odd", data="AAAA")))
        )


@pytest.mark.parametrize(
    ("error", "cls"),
    [
        (exceptions.ModelRateLimitError("m", "slow", retry_after=7), RateLimitedError),
        (exceptions.ModelOverloadedError("m", "busy"), OverloadedError),
        (exceptions.ModelServerError("m", "fault"), OverloadedError),
        (exceptions.ModelTimeoutError("m", "late"), ModelTimeoutError),
        (exceptions.ModelConnectionError("m", "lost"), ModelConnectionError),
        (exceptions.ModelContextWindowExceededError("m", "long"), ContextWindowExceededError),
        (exceptions.ModelNotFoundError("m", "none"), UnknownModelError),
        (exceptions.ModelHTTPError(418, "m", {"x": 1}), ModelError),
        (exceptions.UserError("wrong"), BadModelRequestError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
async def test_failures_have_the_class_that_fits(error: Exception, cls: type[ModelError]) -> None:
    with pytest.raises(ModelError) as caught:
        await bridge(Scripted("So", error)).complete(request())
    assert type(caught.value) is cls
    assert caught.value.__context__ is None
    assert caught.value.retry_after_s == getattr(error, "retry_after", None)


async def test_the_time_limit_holds() -> None:
    async def silent(_: list[theirs.ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        await asyncio.Event().wait()
        yield ""

    with pytest.raises(ModelTimeoutError):
        await bridge(silent).complete(request(settings=ModelSettings(timeout_s=0.05)))


async def test_a_model_is_found_by_its_name() -> None:
    model = llm("pydantic_ai:test", context_tokens=9)
    assert (model.name, model.capabilities.context_tokens) == ("pydantic_ai:test:test", 9)
    with pytest.raises(ValueError, match="nowhere:x"):
        llm("pydantic_ai:nowhere:x")


def test_a_call_that_is_not_json_goes_back_as_it_was() -> None:
    from agentic.plugins.pydantic_ai.messages import messages_of

    call = ToolCall(id="a", name="now", invalid='{"x": ')
    _, said = messages_of(request(ChatMessage.user("Hi"), ChatMessage.assistant("", call)), "m")
    assert getattr(said.parts[0], "args") == '{"x": '  # noqa: B009  # of this part
