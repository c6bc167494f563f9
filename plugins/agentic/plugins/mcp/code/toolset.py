"""Code mode: two tools stand for any number of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from agentic.core.agents import (
    Tool,
    ToolArgumentsError,
    ToolContext,
    ToolDefinitionError,
    ToolPause,
    Toolset,
)
from agentic.core.agents.tools.functions import as_tool
from agentic.core.agents.tools.toolset import check_tools
from agentic.core.types import JSONValue
from agentic.plugins.mcp.code.programs import run_program
from agentic.plugins.mcp.code.searching import find_tools
from agentic.plugins.mcp.code.signatures import described, names_of

FEW = 10
"""Below this number, ``auto`` gives tools to the model unchanged."""

FOUND = 6
MOST_FOUND = 20
MAX_CODE_CHARS = 50_000

SEARCH = "search_tools"
RUN = "run_code"

RUN_DESCRIPTION = """\
Run a Python program that calls tools; find their signatures with search_tools first. Tools are async \
functions with keyword arguments: `rows = await find_orders(status="open")`, several at a time with \
`asyncio.gather`. The value of the last line is the result, and print() is shown: return only what you need. \
No files, network, generators or modules but json, re, math, datetime, collections, asyncio. A tool that \
fails or is refused raises RuntimeError."""


class CodeMode(Toolset):
    """Tools as functions of programs that the model writes: it sees two tools, whatever their number.

    The results of tools stay in the program, so only its last value costs tokens. Programs run in
    interpreters of pydantic-monty, in processes of their own. A call that needs approval, or whose tool asks
    a person, stops the program; its state is kept in the thread, and any process continues it.

    Args:
        tools: Tools, functions, agents and toolsets.
        mode: ``auto`` gives fewer than ten tools to the model as they are.
    """

    name = "code mode"

    def __init__(
        self, *tools: Tool | Toolset | Callable[..., Any], mode: Literal["auto", "always"] = "auto"
    ) -> None:
        self._toolsets = [one for one in tools if isinstance(one, Toolset)]
        self._tools = [as_tool(one) for one in tools if not isinstance(one, Toolset)]
        if mode not in ("auto", "always"):
            raise ToolDefinitionError(f"CodeMode has no mode {mode!r}; use 'auto' or 'always'")
        self._mode = mode

    async def tools(self) -> Sequence[Tool]:
        """Return ``search_tools`` and ``run_code``, or the tools themselves if they are few."""
        found = list(self._tools)
        for toolset in self._toolsets:
            found += await toolset.tools()
        inside = check_tools(found)
        if self._mode == "auto" and len(inside) < FEW:
            return inside
        outside = [one for one in inside if one.is_external]
        named = names_of(one for one in inside if not one.is_external)
        return (SearchTools(named), RunCode(named), *outside)

    async def aclose(self) -> None:
        """Close its toolsets."""
        for toolset in self._toolsets:
            await toolset.aclose()


class SearchTools(Tool):
    """Finds the functions of programs by words.

    Args:
        named: The tools, by the names of the functions.
    """

    def __init__(self, named: Mapping[str, Tool]) -> None:
        count: dict[str, JSONValue] = {"type": "integer", "minimum": 1, "maximum": MOST_FOUND}
        super().__init__(
            SEARCH,
            f"Find functions for run_code among {len(named)}, by a few words; details adds all descriptions.",
            {
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "limit": count,
                    "details": {"type": "boolean"},
                },
                "required": ["query"],
                "additionalProperties": False,
            },
        )
        self._named = named

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue:
        """Return signatures and descriptions; see :class:`Tool`."""
        del context
        query, limit = arguments.get("query"), arguments.get("limit", FOUND)
        if not isinstance(query, str) or not isinstance(limit, int):
            raise ToolArgumentsError("give query as a text, and limit as an integer")
        found = find_tools(query, self._named, min(max(limit, 1), MOST_FOUND))
        if not found:
            words = sorted({name.partition("_")[0] for name in self._named})
            return f"nothing fits; names begin with: {', '.join(words)[:1_000]}"
        has_details = arguments.get("details") is True
        return "\n".join(described(name, self._named[name], has_details=has_details) for name in found)


class RunCode(Tool):
    """Runs programs over tools.

    Args:
        named: The tools, by the names of the functions.
    """

    def __init__(self, named: Mapping[str, Tool]) -> None:
        super().__init__(
            RUN,
            RUN_DESCRIPTION,
            {
                "type": "object",
                "properties": {"code": {"type": "string", "maxLength": MAX_CODE_CHARS}},
                "required": ["code"],
                "additionalProperties": False,
            },
        )
        self._named = named

    async def call(self, arguments: Mapping[str, JSONValue], context: ToolContext) -> JSONValue | ToolPause:
        """Run a program, or continue it; see :class:`Tool`."""
        code = arguments.get("code")
        if not isinstance(code, str) or len(code) > MAX_CODE_CHARS:
            raise ToolArgumentsError(f"give code as a text of at most {MAX_CODE_CHARS} characters")
        return await run_program(code, self._named, context)
