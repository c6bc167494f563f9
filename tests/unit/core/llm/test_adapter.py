"""The port: one of two methods makes a model, and what it can do follows from it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

import agentic.core.llm as room
from agentic.core.llm import (
    ChatMessage,
    CutReplyError,
    LLMAdapter,
    ModelDelta,
    ModelError,
    ModelReply,
    ModelRequest,
    RateLimitedError,
    ThinkingPart,
    TokenUsage,
    ToolCall,
    ToolDefinition,
)

pytestmark = pytest.mark.requirement("LM01")

ASKED = ModelRequest(messages=(ChatMessage.user("Hello?"),))
REPLY = ModelReply(message=ChatMessage.assistant("Hello.", ToolCall(id="1", name="wave")))


class Whole(LLMAdapter):
    name = "some:whole"

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request)
        return REPLY


class Streamed(LLMAdapter):
    name = "some:streamed"

    def __init__(self, *deltas: ModelDelta) -> None:
        self.deltas = deltas

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        for delta in self.deltas:
            yield delta


async def test_a_model_that_completes_also_streams() -> None:
    deltas = [delta async for delta in Whole().stream(ASKED)]
    assert "".join(delta.text for delta in deltas) == "Hello."
    assert [delta.tool_call.name for delta in deltas if delta.tool_call] == ["wave"]
    assert [delta.reply for delta in deltas if delta.reply] == [REPLY]
    assert deltas[-1].reply == REPLY


async def test_thoughts_are_streamed_before_the_text() -> None:
    class Thoughtful(LLMAdapter):
        name = "some:thoughtful"

        async def complete(self, request: ModelRequest) -> ModelReply:
            message = ChatMessage(role="assistant", parts=(ThinkingPart(text="Hm."), *REPLY.message.parts))  # type: ignore[arg-type]  # pydantic makes it a role
            return ModelReply(message=message)

    deltas = [delta async for delta in Thoughtful().stream(ASKED)]
    assert [delta.thinking or delta.text for delta in deltas[:2]] == ["Hm.", "Hello."]


async def test_a_model_that_streams_also_completes() -> None:
    assert await Streamed(ModelDelta(text="Hel"), ModelDelta(reply=REPLY)).complete(ASKED) == REPLY


async def test_a_stream_without_a_whole_reply_was_cut() -> None:
    with pytest.raises(CutReplyError, match="some:streamed"):
        await Streamed(ModelDelta(text="Hel")).complete(ASKED)


def test_a_model_that_does_neither_is_refused_when_its_class_is_made() -> None:
    with pytest.raises(TypeError, match=r"Mute must define stream\(\), complete\(\) or both"):
        type("Mute", (LLMAdapter,), {})


async def test_chat_and_generate_make_requests() -> None:
    model = Whole()
    tool = ToolDefinition(name="wave")
    assert await model.chat("Be brief.", "Hello?", [tool]) == REPLY
    assert await model.generate("Be brief.", "Hello?") == "Hello."
    first, second = model.asked
    assert first == ModelRequest(instructions="Be brief.", messages=ASKED.messages, tools=(tool,))
    assert second == ModelRequest(instructions="Be brief.", messages=ASKED.messages)
    await model.chat("", [ChatMessage.user("a"), ChatMessage.assistant("b")])
    assert [message.text for message in model.asked[-1].messages] == ["a", "b"]


@pytest.mark.requirement("LM08")
def test_the_cost_of_a_use_is_not_known_without_a_price() -> None:
    assert Whole().cost_of(TokenUsage(input_tokens=1)) is None


ERRORS = [
    getattr(room, name)
    for name in room.__all__
    if name.endswith("Error") and issubclass(getattr(room, name), ModelError)
]


@pytest.mark.parametrize("cls", ERRORS, ids=lambda cls: cls.__name__)
def test_errors_of_models_say_which_one_and_survive_pickling(cls: type[ModelError]) -> None:
    error = cls("some:model", "it said no", status=418, retry_after_s=2)
    back = pickle.loads(pickle.dumps(error))
    assert str(back) == str(error)
    assert str(error).startswith("some:model ")
    assert "(HTTP 418): it said no" in str(error)
    assert (back.model, back.status, back.retry_after_s) == ("some:model", 418, 2)


def test_each_error_of_a_model_has_a_word_of_its_own_for_policies() -> None:
    assert len({cls.failure_class for cls in ERRORS}) == len(ERRORS) >= 13


def test_errors_that_may_pass_are_retriable() -> None:
    retriable = {cls.__name__ for cls in ERRORS if cls.is_retriable}
    assert retriable == {
        "CutReplyError",
        "ModelConnectionError",
        "ModelTimeoutError",
        "OverloadedError",
        "RateLimitedError",
    }
    assert isinstance(RateLimitedError("a:b", "x"), ModelError)


HEAVY = ("aiohttp", "anthropic", "celery", "genai_prices", "google", "httpx", "httpx2", "nats", "ollama")
HEAVY_TOO = ("openai", "redis", "sqlalchemy", "agentic.core.bus", "agentic.core.http", "agentic.core.hooks")


@pytest.mark.parametrize(
    "code",
    [
        "import agentic.core.llm",
        "from agentic.core.llm import ChatMessage, LLMAdapter, ModelRequest, ScriptedModel",
        "from agentic.core.llm import BudgetModel, CacheModel, FallbackModel, ReplayModel, RetryingModel",
    ],
)
def test_importing_models_loads_no_library_of_a_provider_or_a_server(code: str) -> None:
    checked = f"{code}; import sys; print([name for name in {HEAVY + HEAVY_TOO!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", checked], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_naming_the_room_loads_none_of_its_modules_nor_pydantic() -> None:
    checked = (
        "import agentic.core.llm, sys; print([name for name in sys.modules "
        "if name.startswith('agentic.core.llm.') or name == 'pydantic'])"
    )
    run = subprocess.run([sys.executable, "-c", checked], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
