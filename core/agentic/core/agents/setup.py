"""The parts of a chat agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentic.core.agents.guards import Guard
from agentic.core.agents.limits import UsageLimits
from agentic.core.agents.memory.provider import MemoryProvider
from agentic.core.agents.reducers.reducer import ChatReducer
from agentic.core.agents.tools.tool import Tool
from agentic.core.agents.tools.toolset import Toolset
from agentic.core.llm.adapter import LLMAdapter, StructuredMode
from agentic.core.llm.requests import ModelSettings
from agentic.core.records import record


@record(kw_only=True)
class AgentSetup:
    """The parts of a chat agent; see :class:`~agentic.core.agents.ChatAgent` for each."""

    name: str
    model: LLMAdapter
    instructions: str
    tools: Sequence[Tool]
    toolsets: Sequence[Toolset]
    output_type: Any
    structured: StructuredMode | None
    limits: UsageLimits
    settings: ModelSettings
    reducer: ChatReducer | None
    memory: Sequence[MemoryProvider]
    guards: Sequence[Guard]
    keeps_refused: bool = False
