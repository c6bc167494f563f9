"""Tools of LangChain as tools of this project, and the other way round."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, ValidationError

from agentic.core.agents.errors import ToolArgumentsError, ToolDefinitionError, ToolError
from agentic.core.agents.journal import ThreadJournal
from agentic.core.agents.limits import no_limit
from agentic.core.agents.responses import AgentChunk
from agentic.core.agents.tools.calling import call_tool
from agentic.core.agents.tools.pausing import ToolPause
from agentic.core.agents.tools.tool import Approval, Tool, ToolContext
from agentic.core.llm.messages import ToolCall
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue
from agentic.plugins.langchain.blocking import waited

_call_id: ContextVar[str] = ContextVar("agentic_langchain_call", default="")


class LangChainTool(Tool):
    """A tool of LangChain for our agents.

    Args:
        tool: The tool. Parameters that LangChain injects (state, stores, runtimes) have no value here.
        approval: Whether a person must approve a call.
        timeout_s: Seconds that one try may take.
    """

    def __init__(
        self, tool: BaseTool, *, approval: Approval = "never", timeout_s: float | None = None
    ) -> None:
        found = convert_to_openai_tool(tool)["function"]
        parameters = found.get("parameters") or {"type": "object", "properties": {}}
        description = found.get("description", "")
        super().__init__(tool.name, description, parameters, approval=approval, timeout_s=timeout_s)
        self._tool = tool

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        """Return the result of a call; see :class:`~agentic.core.agents.Tool`."""
        call = {"type": "tool_call", "id": context.call_id, "name": self.name, "args": dict(arguments)}
        try:
            result = await self._tool.ainvoke(cast("Any", call))
        except ValidationError as exc:
            faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in exc.errors())
            raise ToolArgumentsError("; ".join(faults)) from exc
        except ToolException as exc:
            raise ToolError(str(exc)) from exc
        if not isinstance(result, ToolMessage):
            return cast("JSONValue", result)
        if result.status == "error":
            raise ToolError(str(result.text))
        return cast("JSONValue", result.content)


class AgenticTool(BaseTool):
    """A tool of this project for graphs and agents of LangChain: ``AgenticTool.of(tool)``.

    An approval that the tool needs is an ``interrupt()`` of LangGraph with the call, before it runs; answer
    with ``{"approved": true}``. An external tool asks for its result in the same way.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    tool: Tool
    facts: Mapping[str, object] = {}

    @classmethod
    def of(cls, tool: Tool, *, facts: Mapping[str, object] | None = None) -> AgenticTool:
        """Return a tool of LangChain.

        Args:
            tool: The tool. It must not pause: agents and workflows as tools need an agent of this project.
            facts: Given to the tool, as ``RunOptions.facts``.
        """
        return cls(
            name=tool.name,
            description=tool.description or tool.name,
            args_schema=cast("Any", tool.parameters),
            handle_tool_error=True,
            tool=tool,
            facts=facts or {},
        )

    async def arun(self, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:  # noqa: ANN401 - as LangChain has it
        """Run the tool, and remember which call it is for."""
        token = _call_id.set(tool_call_id or "")
        try:
            return await super().arun(*args, tool_call_id=tool_call_id, **kwargs)
        finally:
            _call_id.reset(token)

    def run(self, *args: Any, tool_call_id: str | None = None, **kwargs: Any) -> Any:  # noqa: ANN401 - as LangChain has it
        """Run the tool, and remember which call it is for; blocks."""
        token = _call_id.set(tool_call_id or "")
        try:
            return super().run(*args, tool_call_id=tool_call_id, **kwargs)
        finally:
            _call_id.reset(token)

    async def _arun(self, agentic_config: RunnableConfig, **arguments: Any) -> Any:  # noqa: ANN401
        call = self._call(arguments)
        if self.tool.is_external:
            return _ask(call, "result")
        self._approve(call)
        return await self._result(call, agentic_config)

    def _run(self, agentic_config: RunnableConfig, **arguments: Any) -> Any:  # noqa: ANN401
        call = self._call(arguments)
        if self.tool.is_external:
            return _ask(call, "result")
        self._approve(call)
        return waited(self._result(call, agentic_config))

    def _call(self, arguments: dict[str, Any]) -> ToolCall:
        return ToolCall(id=_call_id.get() or "call", name=self.tool.name, arguments=arguments)

    def _approve(self, call: ToolCall) -> None:
        """Ask for an approval, if the call needs one.

        Raises:
            ToolException: A person has rejected it.
        """
        if not self.tool.needs_approval(call.arguments):
            return
        answer = _ask(call, "approval")
        found = answer if isinstance(answer, Mapping) else {}
        if found.get("approved") is not True:
            reason = str(found.get("reason") or "")
            raise ToolException(f"a person has rejected the call{f': {reason}' if reason else ''}")

    async def _result(self, call: ToolCall, config: RunnableConfig) -> JSONValue:
        result = await call_tool(self.tool, call, self._context(call, config))
        if isinstance(result, ToolPause):
            raise ToolDefinitionError(
                f"the tool {self.tool.name!r} pauses, and only agents of this project can continue it"
            )
        if result.is_error:
            raise ToolException(str(result.content))
        return result.content

    def _context(self, call: ToolCall, config: RunnableConfig) -> ToolContext:
        thread_id = str(config.get("configurable", {}).get("thread_id", ""))

        async def report(_: AgentChunk) -> None:
            """LangChain has its own ways to report."""

        def add_usage(_: TokenUsage) -> None:
            """The models inside report their own use to LangChain."""

        return ToolContext(
            agent="langchain",
            thread_id=thread_id,
            user_id=None,
            call_id=call.id,
            idempotency_key=f"{thread_id}:{call.id}",
            path=(),
            facts=self.facts,
            report=report,
            add_usage=add_usage,
            journal=ThreadJournal(),
            limit_reached=no_limit,
        )


def _ask(call: ToolCall, kind: str) -> object:
    try:
        from langgraph.types import interrupt
    except ModuleNotFoundError:
        raise ToolException(f"{call.name} needs a person, and only LangGraph can ask one") from None
    asked = {"kind": kind, "tool": call.name, "arguments": call.arguments, "call": call.id}
    found: object = interrupt(asked)
    return found
