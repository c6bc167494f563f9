"""Agents made of their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentic.core.agents.chat_agent import ChatAgent
from agentic.core.agents.errors import ToolDefinitionError
from agentic.core.agents.memory.provider import MemoryProvider
from agentic.core.agents.memory.stored import InMemoryProvider, MemoryStore, StoredMemoryProvider
from agentic.core.agents.reducers.counting import (
    MessageCountingReducer,
    SlidingWindowReducer,
    TokenCountingReducer,
)
from agentic.core.agents.reducers.reducer import ChatReducer
from agentic.core.agents.reducers.summarizing import INSTRUCTIONS, SummarizingReducer
from agentic.core.agents.specs.models import OpenModel, make_model
from agentic.core.agents.specs.spec import (
    AgentSpec,
    MessagesReducer,
    SummaryReducer,
    TokensReducer,
    WindowReducer,
    chosen,
)
from agentic.core.agents.specs.tools import make_tool, with_approval
from agentic.core.agents.specs.toolsets import McpToolSpec, make_toolset
from agentic.core.agents.structured import OutputSchema
from agentic.core.agents.threads.store import ThreadStore
from agentic.core.agents.tools.actors import ContextOf
from agentic.core.agents.tools.tool import Tool
from agentic.core.agents.tools.toolset import Toolset
from agentic.core.hooks import get_registry
from agentic.core.llm.adapter import LLMAdapter
from agentic.core.llm.registry import llm
from agentic.core.records import record
from agentic.core.secret_names import folded_name


def build_agent(  # noqa: PLR0913  # the surroundings of an agent, all optional
    spec: AgentSpec,
    *,
    name: str = "agent",
    secrets: Mapping[str, str] | None = None,
    store: ThreadStore | None = None,
    memories: Mapping[str, MemoryStore] | None = None,
    context: ContextOf | None = None,
    open_model: OpenModel = llm,
) -> ChatAgent[Any]:
    """Return the agent that a spec describes. Its models are retried, unless ``max_attempts`` is 1.

    Args:
        spec: The agent as data.
        name: Its name, if the spec has none.
        secrets: Name -> value, for options such as ``api_key: ${secrets.NAME}``.
        store: Where its threads are kept.
        memories: Kind of memory, such as ``sql`` -> where memories of that kind are kept.
        context: Services of the actors and pipelines among its tools: see
            :class:`~agentic.core.agents.ActorTool`.
        open_model: Opens its models.

    Raises:
        ValueError: A tool, a secret, a memory or the output schema cannot be used.
        OwnCodeError: A file of tools cannot be used.
        ToolDefinitionError: Two tools have the same name.
        UnknownProviderError, MissingSdkError, MissingKeyError: A model cannot be used.
    """
    given = {folded_name(key): value for key, value in (secrets or {}).items()}
    around = _Around(given, memories or {}, context, open_model)
    model = make_model(spec.models, spec.max_attempts, given, open_model)
    return ChatAgent(
        model,
        spec.instructions,
        name=spec.name or name,
        description=spec.description,
        tools=_tools(spec, around),
        # A schema stands for the type that it describes.
        output_type=cast(Any, None if spec.output is None else OutputSchema.of(spec.output)),
        structured=spec.structured,
        limits=spec.limits,
        settings=spec.settings,
        reducer=_reducer(spec, model, around),
        memory=_memory(spec, around.memories),
        store=store,
    )


@record
class _Around:
    """The surroundings of an agent and of the agents below it."""

    secrets: Mapping[str, str]
    memories: Mapping[str, MemoryStore]
    context: ContextOf | None
    open_model: OpenModel


def _tools(spec: AgentSpec, around: _Around) -> list[Tool | Toolset]:
    made: list[Tool] = []
    servers: list[Toolset] = []
    for entry in spec.tools:
        if isinstance(entry, str):
            made.append(make_tool(entry, around.context))
        elif isinstance(entry, McpToolSpec):
            servers.append(make_toolset(entry, around.secrets))
        else:
            below = build_agent(
                entry.agent,
                name=entry.name or "agent",
                secrets=around.secrets,
                memories=around.memories,
                context=around.context,
                open_model=around.open_model,
            )
            made.append(below.as_tool(name=entry.name))
    tools: list[Tool | Toolset] = [*(with_approval(made, spec.approval) if spec.approval else made), *servers]
    return tools if spec.code_mode == "off" else _in_code_mode(tools, spec.code_mode)


def _in_code_mode(tools: Sequence[Tool | Toolset], mode: str) -> list[Tool | Toolset]:
    """Put tools behind programs, but external ones."""
    toolsets = get_registry().toolsets
    if "code_mode" not in toolsets:
        raise ToolDefinitionError(
            "the plugin for code mode is not installed, or disabled; see `agentic plugins`"
        )
    outside = [one for one in tools if isinstance(one, Tool) and one.is_external]
    inside = [one for one in tools if one not in outside]
    return [*outside, toolsets["code_mode"](inside, mode)]


def _reducer(spec: AgentSpec, model: LLMAdapter, around: _Around) -> ChatReducer | None:
    match spec.reducer:
        case None:
            return None
        case MessagesReducer() as wanted:
            return MessageCountingReducer(wanted.max_messages)
        case TokensReducer() as wanted:
            return TokenCountingReducer(wanted.max_tokens)
        case WindowReducer() as wanted:
            return SlidingWindowReducer(wanted.window_size, max_important=wanted.max_important)
        case SummaryReducer() as wanted:
            own = wanted.model
            writer = model
            if own is not None:
                writer = make_model([chosen(own)], spec.max_attempts, around.secrets, around.open_model)
            words = wanted.instructions or INSTRUCTIONS
            return SummarizingReducer(writer, max_tokens=wanted.max_tokens, instructions=words)


def _memory(spec: AgentSpec, memories: Mapping[str, MemoryStore]) -> tuple[MemoryProvider, ...]:
    if spec.memory is None or spec.memory.kind == "none":
        return ()
    kind, count = spec.memory.kind, spec.memory.max_memories
    if kind == "process":
        return (InMemoryProvider(max_memories=count),)
    if kind not in memories:
        raise ValueError(f"memory of the kind {kind!r} needs a store: pass memories={{{kind!r}: ...}}")
    return (StoredMemoryProvider(memories[kind], max_memories=count),)
