"""A set of tools that is known when a turn begins: the tools of a server."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from agentic.core.agents.errors import ToolDefinitionError
from agentic.core.agents.tools.tool import Tool
from agentic.core.llm.structured import OUTPUT_TOOL


class Toolset(ABC):
    """Tools that an agent asks for at the beginning of each turn, such as the tools of an MCP server.

    Attributes:
        name: For messages.
    """

    name: str = "toolset"

    @abstractmethod
    async def tools(self) -> Sequence[Tool]:
        """Return the tools, in an order that does not change from turn to turn.

        Raises:
            AgentError: They cannot be had now; the turn fails, and can be continued.
        """

    async def aclose(self) -> None:
        """Close connections. A closed toolset may be used again, and connects again."""
        return


def check_tools(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Return tools that an agent can have together.

    Raises:
        ToolDefinitionError: Two have the same name, or one has a reserved one.
    """
    names: set[str] = set()
    found = tuple(tools)
    for tool in found:
        if tool.name in names or tool.name == OUTPUT_TOOL:
            raise ToolDefinitionError(
                f"two tools are called {tool.name!r}; rename one: tool(name=...)"
                if tool.name in names
                else f"the name {OUTPUT_TOOL!r} is reserved for structured output; rename the tool"
            )
        names.add(tool.name)
    return found
