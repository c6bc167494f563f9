"""A model of this project as a chat model of LangChain."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict

from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.errors import BadModelRequestError, CutReplyError
from agentic.core.llm.requests import ModelDelta, ModelRequest, ModelSettings, ToolDefinition
from agentic.plugins.langchain.blocking import waited
from agentic.plugins.langchain.messages import message_of_reply, request_parts

_SETTINGS = ("temperature", "top_p", "max_tokens", "seed", "parallel_tool_calls")


class AgenticChatModel(BaseChatModel):
    """A model of this project for graphs of LangChain, with its wrappers: retries, budgets, replays.

    Thoughts and other data of the provider are kept in the message, and go back unchanged.

    Args:
        adapter: The model. Use one object from sync code or from async code, not from both: its connections
            belong to an event loop.
        settings: How it replies.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    adapter: LLMAdapter
    settings: ModelSettings = ModelSettings()

    @property
    def _llm_type(self) -> str:
        return "agentic"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.adapter.name}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,  # noqa: ANN401 - as LangChain has it
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with tools that it may call; see LangChain's :meth:`BaseChatModel.bind_tools`."""
        return self.bind(
            tools=[convert_to_openai_tool(one) for one in tools], tool_choice=tool_choice, **kwargs
        )

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002 - as LangChain has it
        **kwargs: Any,  # noqa: ANN401
    ) -> ChatResult:
        reply = await self.adapter.complete(self._request(messages, stop, kwargs))
        return ChatResult(generations=[ChatGeneration(message=message_of_reply(reply, self.adapter.name))])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - as LangChain has it
        **kwargs: Any,  # noqa: ANN401
    ) -> ChatResult:
        return waited(self._agenerate(messages, stop, **kwargs))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> AsyncIterator[ChatGenerationChunk]:
        has_begun = False
        async for delta in self.adapter.stream(self._request(messages, stop, kwargs)):
            if delta.restarted and has_begun:
                raise CutReplyError(self.adapter.name, "its reply broke off after a part was passed on")
            chunk = self._chunk(delta)
            if chunk is None:
                continue
            has_begun = True
            if run_manager is not None:
                await run_manager.on_llm_new_token(str(chunk.message.text), chunk=chunk)
            yield chunk

    def _chunk(self, delta: ModelDelta) -> ChatGenerationChunk | None:
        if delta.reply is None:
            return ChatGenerationChunk(message=AIMessageChunk(content=delta.text)) if delta.text else None
        whole = message_of_reply(delta.reply, self.adapter.name)
        calls = [*whole.tool_calls, *whole.invalid_tool_calls]
        return ChatGenerationChunk(
            message=AIMessageChunk(
                content="",
                id=whole.id,
                additional_kwargs=whole.additional_kwargs,
                response_metadata=whole.response_metadata,
                usage_metadata=whole.usage_metadata,
                tool_call_chunks=[
                    tool_call_chunk(id=one["id"], name=one["name"], args=_text(one["args"]), index=index)
                    for index, one in enumerate(calls)
                ],
                chunk_position="last",
            )
        )

    def _request(
        self, messages: Sequence[BaseMessage], stop: Sequence[str] | None, given: dict[str, Any]
    ) -> ModelRequest:
        instructions, parts = request_parts(messages, self.adapter.name)
        settings = {name: given[name] for name in _SETTINGS if given.get(name) is not None}
        if stop:
            settings["stop"] = tuple(stop)
        tools = [self._function(one) for one in given.get("tools") or ()]
        return ModelRequest(
            instructions=instructions,
            messages=tuple(parts),
            tools=tuple(
                ToolDefinition(
                    name=one["name"],
                    description=one.get("description", ""),
                    parameters=one.get("parameters") or {"type": "object", "properties": {}},
                    is_strict=bool(one.get("strict", False)),
                )
                for one in tools
            ),
            tool_choice=self._choice(given.get("tool_choice")),
            settings=self.settings.overlaid(ModelSettings(**settings)),
        )

    def _function(self, tool: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(function := tool.get("function"), dict):
            kind = tool.get("type", tool)
            raise BadModelRequestError(
                self.adapter.name, f"the tool {kind!r:.100} is the provider's own; give functions"
            )
        return function

    def _choice(self, choice: object) -> str:
        match choice:
            case None | "auto" | False:
                return "auto"
            case True | "any" | "required":
                return "required"
            case {"type": "function", "function": {"name": str(name)}}:
                return name
            case str():
                return choice
        raise BadModelRequestError(self.adapter.name, f"the tool_choice {choice!r} is not known")


def _text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
