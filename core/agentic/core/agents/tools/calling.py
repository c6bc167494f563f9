"""Calls of tools: each ends with a result for the model, also if it fails."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

from pydantic_core import to_jsonable_python

from agentic.core.agents.errors import ToolError
from agentic.core.agents.tools.pausing import ToolPause
from agentic.core.agents.tools.tool import Tool, ToolContext
from agentic.core.errors import line_of, name_of
from agentic.core.graph.model.policies import delay_before_retry
from agentic.core.llm.messages import ToolCall, ToolResult
from agentic.core.llm.nesting import MAX_NESTING, is_too_deep
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue

log = get_logger(__name__)


async def call_tool(
    tool: Tool,
    call: ToolCall,
    context: ToolContext,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> ToolResult | ToolPause:
    """Return the result of a call: its value, the error as the model reads it, or a pause.

    Args:
        tool: The tool.
        call: The call.
        context: Given to the tool.
        sleep: Waits between tries.
    """
    if call.invalid is not None:
        return failed(call, f"the arguments are not a JSON object: {call.invalid[:500]}")
    attempt = 0
    while True:
        attempt += 1
        try:
            value = await _called(tool, call, context)
            if isinstance(value, ToolPause):
                return value
            content = as_json(value)
            if is_too_deep(content):
                raise ToolError(f"the result is nested more than {MAX_NESTING} levels deep")
            return ToolResult(call_id=call.id, name=call.name, content=content)
        except Exception as exc:
            delay = delay_before_retry(tool.retry, attempt, exc, random.random())  # noqa: S311  # jitter
            if delay is None:
                return failed(call, _for_model(tool, exc))
        await sleep(delay)


async def _called(tool: Tool, call: ToolCall, context: ToolContext) -> JSONValue | ToolPause:
    if tool.timeout_s is None:
        return await tool.call(call.arguments, context)
    async with asyncio.timeout(tool.timeout_s):
        return await tool.call(call.arguments, context)


def failed(call: ToolCall, message: str) -> ToolResult:
    """Return an error as the result of a call."""
    return ToolResult(call_id=call.id, name=call.name, content=message, is_error=True)


def as_json(value: object) -> JSONValue:
    """Return a value as JSON; models and dataclasses become objects, unknown objects their ``str``.

    NaN and infinity are null, as in JavaScript: JSON has neither.
    """
    found: JSONValue = to_jsonable_python(value, fallback=str, inf_nan_mode="null")
    return found


def _for_model(tool: Tool, error: Exception) -> str:
    if isinstance(error, ToolError):
        return str(error)
    log.warning("tool.failed", tool=tool.name, error=line_of(error))
    if isinstance(error, TimeoutError):
        return f"the tool did not end within {tool.timeout_s:g} s" if tool.timeout_s else "the tool timed out"
    return f"the tool failed with {name_of(error)}"
