"""A conversation with a model about one site, within a number of calls and tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import ValidationError

from agentic.core.llm import (
    Budget,
    BudgetAmount,
    BudgetExceededError,
    BudgetModel,
    ChatMessage,
    ContentRefusedError,
    LLMAdapter,
    ModelReply,
    ModelRequest,
    ModelSettings,
    StopReason,
)
from agentic.core.llm.structured import OUTPUT_TOOL, bind_schema, read_json
from agentic.core.masking import mask_known
from agentic.core.pipeline.intent_inference.errors import ModelLimitError, UnusableAnswerError
from agentic.core.types import JSONValue

MAX_CALLS = 5
"""Calls of the model for a site, corrections included."""

MAX_TOKENS = 30_000
"""Tokens of the model for a site, in and out."""

REPLY_TOKENS = 4_000
"""Of an answer, thoughts included."""

MAX_KEPT_CHARS = 2_000
"""Of an answer that later questions show again."""

TRIES = 2
"""A question, and the same once more after an answer that cannot be used."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelQuestion(Generic[T]):
    """A question to a model, and how to read the answer.

    Attributes:
        about: Its subject, for messages.
        instructions: The task.
        text: The question.
        schema: JSON Schema of the answer, an object.
        read: Returns the answer of JSON data; raises ``ValueError`` with words for the model.
        kept: Stands for the text in later questions, which have no room for two pages.
    """

    about: str
    instructions: str
    text: str
    schema: dict[str, JSONValue]
    read: Callable[[JSONValue], T]
    kept: str


class Conversation:
    """Asks a model about one site: at most 5 calls and 30,000 tokens.

    Args:
        model: The model.

    Attributes:
        calls: Made so far, those that failed included.
    """

    def __init__(self, model: LLMAdapter) -> None:
        self.calls = 0
        self._budget = Budget(max_tokens=MAX_TOKENS, name="words")
        self._model = BudgetModel(model, self._budget)
        self._said: tuple[ChatMessage, ...] = ()

    async def spent(self) -> BudgetAmount:
        """Return the tokens, in and out, and the money spent so far."""
        return (await self._budget.account()).spent

    async def ask(self, question: ModelQuestion[T]) -> T:
        """Return the answer to a question; after one that cannot be used the model is asked once more.

        Raises:
            UnusableAnswerError: The second answer cannot be used either.
            ModelLimitError: The calls or the tokens are used up.
            ModelError: The model did not reply.
        """
        asked = mask_known(question.text)
        after: tuple[ChatMessage, ...] = ()
        fault = ""
        for _ in range(TRIES):
            reply = await self._reply(question, (*self._said, ChatMessage.user(asked), *after))
            after = (*after, ChatMessage.assistant(_answer_of(reply)))
            try:
                answer = _read(reply, question)
            except ValueError as exc:
                fault = _told(exc)
                after = (*after, ChatMessage.user(f"This answer cannot be used: {fault}. Answer again."))
            else:
                self._said = (*self._said, ChatMessage.user(question.kept), *after)
                return answer
        raise UnusableAnswerError(self._model.name, question.about, fault)

    async def _reply(self, question: ModelQuestion[T], messages: tuple[ChatMessage, ...]) -> ModelReply:
        if self.calls == MAX_CALLS:
            raise await self._limit(question, f"it was asked {MAX_CALLS} times")
        request = ModelRequest(
            instructions=question.instructions,
            messages=messages,
            settings=ModelSettings(max_tokens=REPLY_TOKENS),
        )
        mode = self._model.capabilities.structured
        self.calls += 1
        try:
            reply = await self._model.complete(bind_schema(request, question.schema, mode, name="answer"))
        except BudgetExceededError as exc:
            self.calls -= 1
            reason = f"the question may need {exc.needed:,.0f} more of {MAX_TOKENS:,} tokens"
            raise await self._limit(question, reason) from exc
        if reply.stop_reason is StopReason.REFUSED:
            raise ContentRefusedError(reply.replied_by or self._model.name, reply.text[:200] or "no reason")
        if (await self.spent()).tokens > MAX_TOKENS:
            raise await self._limit(question, f"its answers took more than {MAX_TOKENS:,} tokens")
        return reply

    async def _limit(self, question: ModelQuestion[T], reason: str) -> ModelLimitError:
        tokens = (await self.spent()).tokens
        return ModelLimitError(self._model.name, question.about, reason, calls=self.calls, tokens=tokens)


def _read(reply: ModelReply, question: ModelQuestion[T]) -> T:
    if reply.stop_reason is StopReason.LENGTH:
        raise ValueError(f"it is longer than {REPLY_TOKENS:,} tokens")
    return question.read(read_json(reply.message))


def _answer_of(reply: ModelReply) -> str:
    """Return an answer as text; one by a tool, too, because a later request would need the tool's result."""
    call = next((call for call in reply.tool_calls if call.name == OUTPUT_TOOL), None)
    text = reply.text if call is None else json.dumps(call.arguments, ensure_ascii=False)
    return text[:MAX_KEPT_CHARS] or "(nothing)"


def _told(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    faults = error.errors(include_url=False, include_context=False, include_input=False)[:5]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in faults)
