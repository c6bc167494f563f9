"""A chat model of LangChain behind our port."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Any

from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message
from langchain_core.runnables import Runnable

from agentic.core.llm.adapter import ModelCapabilities, StructuredMode
from agentic.core.llm.adapting import FailedAnswer, StreamAdapter, clean, failure_of
from agentic.core.llm.errors import (
    BadModelRequestError,
    ContextWindowExceededError,
    CutReplyError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
)
from agentic.core.llm.requests import ModelDelta, ModelRequest, ToolCallChunk
from agentic.plugins.langchain.messages import langchain_messages, reply_of, text_of


class LangChainModel(StreamAdapter):
    """A chat model of LangChain. Replies are always streamed.

    Thoughts and other data of the provider go back unchanged, to the same model only. Turn the retries of the
    chat model off (``max_retries=0`` for most): wrappers of this project retry in one place.

    Args:
        chat_model: The chat model; its user configures key, address and connections.
        name: ``provider:model``; by default ``langchain:`` and the name that the chat model has.
        structured: How agents bind it to a schema: by a tool, or by words in its prompt.
        context_tokens: Size of the model's window, if known.
    """

    def __init__(
        self,
        chat_model: BaseChatModel,
        *,
        name: str | None = None,
        structured: StructuredMode = "tool",
        context_tokens: int | None = None,
    ) -> None:
        own = getattr(chat_model, "model_name", None) or getattr(chat_model, "model", None)
        self.name = name or f"langchain:{own or chat_model._llm_type}"
        self.capabilities = ModelCapabilities(structured=structured, context_tokens=context_tokens)
        self._chat_model = chat_model

    async def pieces(self, request: ModelRequest) -> AsyncGenerator[ModelDelta]:
        """Yield the pieces of the reply."""
        if request.output is not None:
            raise BadModelRequestError(
                self.name,
                "LangChain has no common way to enforce a schema; use a tool, or words in the prompt",
            )
        bound = self._bound(request)
        whole: AIMessageChunk | None = None
        stop = list(request.settings.stop) or None
        async for chunk in bound.astream(langchain_messages(request, self.name), stop=stop):
            if not isinstance(chunk, AIMessageChunk):
                continue
            whole = chunk if whole is None else whole + chunk
            for delta in _deltas(chunk):
                yield delta
        if whole is None:
            raise CutReplyError(self.name, "its stream ended without a whole reply")
        message = message_chunk_to_message(whole)
        if not isinstance(message, AIMessage):
            raise ModelError(self.name, f"the reply is a {type(message).__name__}")
        yield ModelDelta(reply=reply_of(message, self.name))

    def error_for(self, exc: Exception) -> ModelError | None:
        """Return the error for an exception of the chat model, by the status that most SDKs give."""
        if isinstance(exc, ContextOverflowError):
            return ContextWindowExceededError(self.name, clean(str(exc)))
        response = getattr(exc, "response", None)
        status = getattr(exc, "status_code", None) or getattr(response, "status_code", None)
        if isinstance(status, int):
            headers = {name.lower(): value for name, value in getattr(response, "headers", {}).items()}
            code = str(getattr(exc, "code", None) or "")
            return failure_of(
                self.name, FailedAnswer(status=status, message=str(exc), code=code, headers=headers)
            )
        kinds = {cls.__name__ for cls in type(exc).__mro__}
        if kinds & {"TimeoutError", "TimeoutException", "APITimeoutError"}:
            return ModelTimeoutError(self.name, clean(str(exc) or "no answer"))
        if kinds & {"ConnectionError", "TransportError", "APIConnectionError"}:
            return ModelConnectionError(self.name, clean(str(exc) or type(exc).__name__))
        return ModelError(self.name, clean(f"{type(exc).__name__}: {exc}"))

    def _bound(self, request: ModelRequest) -> Runnable[LanguageModelInput, AIMessage]:
        given = request.settings
        options: dict[str, object] = {
            "temperature": given.temperature,
            "top_p": given.top_p,
            "max_tokens": given.max_tokens,
            "seed": given.seed,
        }
        options = {name: value for name, value in options.items() if value is not None} | dict(given.extra)
        model: Runnable[LanguageModelInput, AIMessage] = self._chat_model
        if request.tools and request.tool_choice != "none":
            more: dict[str, Any] = {}
            if request.tool_choice != "auto":
                more["tool_choice"] = "any" if request.tool_choice == "required" else request.tool_choice
            if given.parallel_tool_calls is not None:
                more["parallel_tool_calls"] = given.parallel_tool_calls
            functions = [
                {"name": one.name, "description": one.description, "parameters": one.parameters}
                for one in request.tools
            ]
            tools = [{"type": "function", "function": function} for function in functions]
            model = self._chat_model.bind_tools(tools, **more)
        return model.bind(**options) if options else model


def _deltas(chunk: AIMessageChunk) -> Iterator[ModelDelta]:
    thinking, text = text_of(chunk)
    if thinking:
        yield ModelDelta(thinking=thinking)
    if text:
        yield ModelDelta(text=text)
    for number, call in enumerate(chunk.tool_call_chunks):
        index = call.get("index")
        yield ModelDelta(
            tool_call=ToolCallChunk(
                index=index if isinstance(index, int) else number,
                id=call.get("id") or "",
                name=call.get("name") or "",
                arguments=call.get("args") or "",
            )
        )
