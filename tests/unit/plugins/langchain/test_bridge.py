"""Chat models of LangChain speak through our port."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk

from agentic.core.llm import (
    BadModelRequestError,
    ChatMessage,
    DataPart,
    MissingSdkError,
    ModelError,
    ModelRequest,
    ModelSettings,
    ModelTimeoutError,
    OutputFormat,
    RateLimitedError,
    StopReason,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from agentic.plugins.langchain import LangChainModel

NOW = ToolDefinition(name="now", description="The time.")


class Scripted(GenericFakeChatModel):
    """Streams chunks as they are, and remembers what it was asked."""

    chunks: list[Any]
    seen: list[list[BaseMessage]]
    bound: list[dict[str, Any]]

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        self.bound.append({"tools": tools, **options})
        return self

    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **__: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.seen.append(messages)
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            await asyncio.sleep(0)
            yield ChatGenerationChunk(message=chunk)


def scripted(*chunks: AIMessageChunk | Exception) -> Scripted:
    return Scripted(messages=iter(()), chunks=list(chunks), seen=[], bound=[])


def request(*messages: ChatMessage, **more: Any) -> ModelRequest:
    return ModelRequest(messages=messages or (ChatMessage.user("Hi"),), **more)


async def test_a_text_is_streamed() -> None:
    model = LangChainModel(GenericFakeChatModel(messages=iter([AIMessage("It is noon.")])))
    deltas = [delta async for delta in model.stream(request(instructions="Be brief."))]
    assert "".join(delta.text for delta in deltas) == "It is noon."
    assert len(deltas) > 2
    assert deltas[-1].reply is not None
    assert deltas[-1].reply.text == "It is noon."
    assert model.name.startswith("langchain:")


async def test_streamed_calls_usage_and_reasons_are_read() -> None:
    pieces: list[Any] = [
        {"name": "now", "args": '{"zo', "id": "a", "index": 0},
        {"name": None, "args": 'ne": "UTC"}', "id": None, "index": 0},
        {"name": "now", "args": "", "id": "b", "index": 1},
        {"name": "now", "args": '{"zone', "id": "c", "index": 2},
    ]
    chunks = [AIMessageChunk(content="", tool_call_chunks=[piece]) for piece in pieces]
    usage: Any = {
        "input_tokens": 9,
        "output_tokens": 4,
        "total_tokens": 13,
        "input_token_details": {"cache_read": 5},
        "output_token_details": {"reasoning": 2},
    }
    end = AIMessageChunk(
        content="", usage_metadata=usage, response_metadata={"finish_reason": "length", "model_name": "m"}
    )
    model = scripted(*chunks, end)
    reply = await LangChainModel(model).complete(request(tools=(NOW,), tool_choice="required"))
    assert reply.tool_calls[0] == ToolCall(id="a", name="now", arguments={"zone": "UTC"})
    assert reply.stop_reason is StopReason.LENGTH
    usage_read = reply.usage
    assert (usage_read.input_tokens, usage_read.cache_read_tokens, usage_read.thinking_tokens) == (9, 5, 2)
    assert (reply.model, usage_read.cost_usd) == ("m", None)
    assert model.bound[0]["tool_choice"] == "any"
    assert model.bound[0]["tools"][0]["function"]["name"] == "now"


async def test_a_conversation_arrives_whole_and_thoughts_go_back_to_the_same_model() -> None:
    thought = {"type": "thinking", "thinking": "Hmm.", "signature": "s", "index": 0}
    model = scripted(
        AIMessageChunk(content=[thought], response_metadata={"model_provider": "anthropic"}),
        AIMessageChunk(content=[{"type": "text", "text": "So.", "index": 1}]),
    )
    bridge = LangChainModel(model, name="langchain:claude")
    reply = await bridge.complete(request())
    assert (reply.message.thinking, reply.text) == ("Hmm.", "So.")
    messages = (
        ChatMessage.system("Speak French."),
        ChatMessage.user("Hi", DataPart(media_type="image/png", data="AAAA"), author_name="Ann"),
        ChatMessage.from_json(reply.message.to_json()),
        ChatMessage.assistant("", ToolCall(id="a", name="now", arguments={"zone": "UTC"})),
        ChatMessage.tool(ToolResult(call_id="a", name="now", content={"t": 1}, is_error=True)),
    )
    await bridge.complete(request(*messages, instructions="Be brief."))
    kinds = [message.type for message in model.seen[-1]]
    assert kinds == ["system", "system", "human", "ai", "ai", "tool"]
    sent = model.seen[-1]
    assert sent[2].content[0] == {"type": "text", "text": "Ann: Hi"}
    assert sent[3].content[0]["signature"] == "s"  # type: ignore[index]
    assert isinstance(last := sent[5], ToolMessage)
    assert (last.content, last.status, last.tool_call_id) == ('{"t":1}', "error", "a")
    await LangChainModel(model, name="langchain:other").complete(request(*messages))
    assert model.seen[-1][2].content == "So."


class StatusError(Exception):
    status_code = 429

    def __init__(self) -> None:
        super().__init__("Slow down.")


@pytest.mark.parametrize(
    ("error", "cls"),
    [
        (StatusError(), RateLimitedError),
        (TimeoutError("late"), ModelTimeoutError),
        (RuntimeError("odd"), ModelError),
    ],
)
async def test_failures_have_the_class_that_fits(error: Exception, cls: type[ModelError]) -> None:
    with pytest.raises(cls) as caught:
        await LangChainModel(scripted(AIMessageChunk(content="So"), error)).complete(request())
    assert type(caught.value) is cls
    assert caught.value.__context__ is None


async def test_an_empty_stream_is_cut_and_a_schema_is_refused_with_the_next_step() -> None:
    with pytest.raises(ModelError):
        await LangChainModel(scripted()).complete(request())
    with pytest.raises(BadModelRequestError, match="use a tool"):
        await LangChainModel(scripted()).complete(request(output=OutputFormat(schema={"type": "object"})))
    odd = ChatMessage.user("Hi", DataPart(media_type="application/x-odd", data="AAAA"))
    with pytest.raises(BadModelRequestError, match="application/x-odd"):
        await LangChainModel(scripted()).complete(request(odd))


async def test_the_time_limit_holds() -> None:
    class Silent(Scripted):
        async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
            await asyncio.Event().wait()
            yield ChatGenerationChunk(message=AIMessageChunk(content=""))

    model = LangChainModel(Silent(messages=iter(()), chunks=[], seen=[], bound=[]))
    with pytest.raises(ModelTimeoutError, match=r"0\.05 s"):
        await model.complete(request(settings=ModelSettings(timeout_s=0.05)))


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentic.plugins import langchain

    monkeypatch.delitem(vars(langchain), "LangChainModel", raising=False)
    monkeypatch.delitem(sys.modules, "agentic.plugins.langchain.model", raising=False)
    monkeypatch.setitem(sys.modules, "langchain_core", None)
    monkeypatch.setitem(sys.modules, "langchain_core.exceptions", None)
    with pytest.raises(MissingSdkError, match=r"agentic-pipelines\[langchain\]"):
        langchain.LangChainModel  # noqa: B018  # loaded here
