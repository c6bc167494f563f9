"""Agents: they answer messages in threads, with models and tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.agents.agent import Agent
    from agentic.core.agents.background.executor import BackgroundTask, background_workflow
    from agentic.core.agents.background.local import ProcessBackgroundRuns
    from agentic.core.agents.background.port import BackgroundRuns
    from agentic.core.agents.background.token import ContinuationToken
    from agentic.core.agents.chat_agent import ChatAgent, ChatAgentBuilder
    from agentic.core.agents.errors import (
        AgentError,
        AnswerMismatchError,
        BackgroundError,
        BackgroundSetupError,
        ContinuationTokenError,
        OutputNotMetError,
        PiecesGoneError,
        TaskFailedError,
        TaskNotFoundError,
        TaskUnderWayError,
        ThreadBusyError,
        ThreadConflictError,
        ThreadError,
        ThreadExistsError,
        ThreadFormatError,
        ThreadInUseError,
        ThreadMisfitError,
        ThreadNotFoundError,
        ToolArgumentsError,
        ToolDefinitionError,
        ToolError,
    )
    from agentic.core.agents.executor import AgentExecutor, AgentExecutorResponse
    from agentic.core.agents.guards import Guard
    from agentic.core.agents.limits import UsageLimits
    from agentic.core.agents.memory.embedding import Embedder, HashingEmbedder
    from agentic.core.agents.memory.extracting import MemoryExtractor, ModelExtractor, RuleExtractor
    from agentic.core.agents.memory.provider import MemoryContext, MemoryProvider, MemoryScope
    from agentic.core.agents.memory.qdrant import QdrantVectorIndex
    from agentic.core.agents.memory.records import AgentMemoryError, Memory, MemoryCategory, UserMemories
    from agentic.core.agents.memory.redis import RedisMemoryStore
    from agentic.core.agents.memory.semantic import CombinedMemory, SemanticMemoryProvider
    from agentic.core.agents.memory.stored import (
        InMemoryProvider,
        KeyValueMemoryStore,
        MemoryStore,
        NatsMemoryProvider,
        NoOpMemoryProvider,
        ProcessMemoryStore,
        StoredMemoryProvider,
    )
    from agentic.core.agents.memory.vectors import (
        InMemoryVectorIndex,
        VectorEntry,
        VectorIndex,
        VectorMatch,
    )
    from agentic.core.agents.options import InvokeOptions, RunOptions
    from agentic.core.agents.reducers.counting import (
        ChainReducer,
        MessageCountingReducer,
        NoOpReducer,
        SlidingWindowReducer,
        TokenCountingReducer,
    )
    from agentic.core.agents.reducers.reducer import ChatReducer
    from agentic.core.agents.reducers.summarizing import SummarizingReducer
    from agentic.core.agents.requests import AgentInput, PendingRequest, RequestAnswer, RequestKind
    from agentic.core.agents.responses import (
        AgentChunk,
        AgentResponse,
        AgentStoppedError,
        ChunkKind,
        ResponseStatus,
        SpokenOutput,
    )
    from agentic.core.agents.specs.building import build_agent
    from agentic.core.agents.specs.loading import AgentSpecError, load_agent_spec, parse_agent_spec
    from agentic.core.agents.specs.spec import AgentSpec, agent_schema
    from agentic.core.agents.specs.spec_agent import SpecAgent
    from agentic.core.agents.structured import OutputSchema
    from agentic.core.agents.threads.entries import ThreadEntry, ThreadMetadata
    from agentic.core.agents.threads.keyvalue import KeyValueThreadStore
    from agentic.core.agents.threads.store import MemoryThreadStore, StoredThread, ThreadStore
    from agentic.core.agents.threads.thread import AgentThread
    from agentic.core.agents.tools.actors import ActorTool
    from agentic.core.agents.tools.agents import AgentTool
    from agentic.core.agents.tools.functions import FunctionTool, tool
    from agentic.core.agents.tools.pausing import ToolPause, ToolQuestion
    from agentic.core.agents.tools.runs import PipelineTool, WorkflowTool
    from agentic.core.agents.tools.tool import ExternalTool, Tool, ToolContext, ask_person
    from agentic.core.agents.tools.toolset import Toolset
    from agentic.core.agents.tracing.observing import (
        AgentObserver,
        ObservedWork,
        observe_agents,
        trace_agents,
    )
    from agentic.core.agents.workflow_agents import (
        WorkflowAgent,
        WorkflowAsAgent,
        chat_messages,
        total_usage,
    )

_HOMES = {
    "Agent": "agent",
    **dict.fromkeys(("BackgroundTask", "background_workflow"), "background.executor"),
    "BackgroundRuns": "background.port",
    "ContinuationToken": "background.token",
    "ProcessBackgroundRuns": "background.local",
    "ChatAgent": "chat_agent",
    "ChatAgentBuilder": "chat_agent",
    **dict.fromkeys(
        (
            "AgentError",
            "AnswerMismatchError",
            "BackgroundError",
            "BackgroundSetupError",
            "ContinuationTokenError",
            "OutputNotMetError",
            "PiecesGoneError",
            "TaskFailedError",
            "TaskNotFoundError",
            "TaskUnderWayError",
            "ThreadBusyError",
            "ThreadConflictError",
            "ThreadError",
            "ThreadExistsError",
            "ThreadFormatError",
            "ThreadInUseError",
            "ThreadMisfitError",
            "ThreadNotFoundError",
            "ToolArgumentsError",
            "ToolDefinitionError",
            "ToolError",
        ),
        "errors",
    ),
    **dict.fromkeys(("AgentExecutor", "AgentExecutorResponse"), "executor"),
    "Guard": "guards",
    "UsageLimits": "limits",
    **dict.fromkeys(("MemoryExtractor", "ModelExtractor", "RuleExtractor"), "memory.extracting"),
    **dict.fromkeys(("Memory", "MemoryCategory", "AgentMemoryError", "UserMemories"), "memory.records"),
    **dict.fromkeys(
        (
            "InMemoryProvider",
            "KeyValueMemoryStore",
            "MemoryStore",
            "NatsMemoryProvider",
            "NoOpMemoryProvider",
            "ProcessMemoryStore",
            "StoredMemoryProvider",
        ),
        "memory.stored",
    ),
    **dict.fromkeys(("MemoryContext", "MemoryProvider", "MemoryScope"), "memory.provider"),
    **dict.fromkeys(("Embedder", "HashingEmbedder"), "memory.embedding"),
    "QdrantVectorIndex": "memory.qdrant",
    "RedisMemoryStore": "memory.redis",
    **dict.fromkeys(("CombinedMemory", "SemanticMemoryProvider"), "memory.semantic"),
    **dict.fromkeys(("InMemoryVectorIndex", "VectorEntry", "VectorIndex", "VectorMatch"), "memory.vectors"),
    **dict.fromkeys(("InvokeOptions", "RunOptions"), "options"),
    **dict.fromkeys(
        (
            "ChainReducer",
            "MessageCountingReducer",
            "NoOpReducer",
            "SlidingWindowReducer",
            "TokenCountingReducer",
        ),
        "reducers.counting",
    ),
    "ChatReducer": "reducers.reducer",
    "SummarizingReducer": "reducers.summarizing",
    **dict.fromkeys(("AgentInput", "RequestAnswer", "PendingRequest", "RequestKind"), "requests"),
    **dict.fromkeys(
        ("AgentChunk", "AgentResponse", "AgentStoppedError", "ChunkKind", "ResponseStatus", "SpokenOutput"),
        "responses",
    ),
    **dict.fromkeys(("AgentSpec", "agent_schema"), "specs.spec"),
    "build_agent": "specs.building",
    **dict.fromkeys(("AgentSpecError", "load_agent_spec", "parse_agent_spec"), "specs.loading"),
    "SpecAgent": "specs.spec_agent",
    "OutputSchema": "structured",
    **dict.fromkeys(("ThreadEntry", "ThreadMetadata"), "threads.entries"),
    "KeyValueThreadStore": "threads.keyvalue",
    **dict.fromkeys(("MemoryThreadStore", "StoredThread", "ThreadStore"), "threads.store"),
    "AgentThread": "threads.thread",
    "ActorTool": "tools.actors",
    **dict.fromkeys(("AgentObserver", "ObservedWork", "observe_agents", "trace_agents"), "tracing.observing"),
    "AgentTool": "tools.agents",
    "PipelineTool": "tools.runs",
    "WorkflowTool": "tools.runs",
    **dict.fromkeys(("ToolPause", "ToolQuestion"), "tools.pausing"),
    "Toolset": "tools.toolset",
    **dict.fromkeys(("FunctionTool", "tool"), "tools.functions"),
    **dict.fromkeys(("WorkflowAgent", "WorkflowAsAgent", "chat_messages", "total_usage"), "workflow_agents"),
    **dict.fromkeys(("ExternalTool", "Tool", "ToolContext", "ask_person"), "tools.tool"),
}

__all__ = [
    "ActorTool",
    "Agent",
    "AgentChunk",
    "AgentError",
    "AgentExecutor",
    "AgentExecutorResponse",
    "AgentInput",
    "AgentMemoryError",
    "AgentObserver",
    "AgentResponse",
    "AgentSpec",
    "AgentSpecError",
    "AgentStoppedError",
    "AgentThread",
    "AgentTool",
    "AnswerMismatchError",
    "BackgroundError",
    "BackgroundRuns",
    "BackgroundSetupError",
    "BackgroundTask",
    "ChainReducer",
    "ChatAgent",
    "ChatAgentBuilder",
    "ChatReducer",
    "ChunkKind",
    "CombinedMemory",
    "ContinuationToken",
    "ContinuationTokenError",
    "Embedder",
    "ExternalTool",
    "FunctionTool",
    "Guard",
    "HashingEmbedder",
    "InMemoryProvider",
    "InMemoryVectorIndex",
    "InvokeOptions",
    "KeyValueMemoryStore",
    "KeyValueThreadStore",
    "Memory",
    "MemoryCategory",
    "MemoryContext",
    "MemoryExtractor",
    "MemoryProvider",
    "MemoryScope",
    "MemoryStore",
    "MemoryThreadStore",
    "MessageCountingReducer",
    "ModelExtractor",
    "NatsMemoryProvider",
    "NoOpMemoryProvider",
    "NoOpReducer",
    "ObservedWork",
    "OutputNotMetError",
    "OutputSchema",
    "PendingRequest",
    "PiecesGoneError",
    "PipelineTool",
    "ProcessBackgroundRuns",
    "ProcessMemoryStore",
    "QdrantVectorIndex",
    "RedisMemoryStore",
    "RequestAnswer",
    "RequestKind",
    "ResponseStatus",
    "RuleExtractor",
    "RunOptions",
    "SemanticMemoryProvider",
    "SlidingWindowReducer",
    "SpecAgent",
    "SpokenOutput",
    "StoredMemoryProvider",
    "StoredThread",
    "SummarizingReducer",
    "TaskFailedError",
    "TaskNotFoundError",
    "TaskUnderWayError",
    "ThreadBusyError",
    "ThreadConflictError",
    "ThreadEntry",
    "ThreadError",
    "ThreadExistsError",
    "ThreadFormatError",
    "ThreadInUseError",
    "ThreadMetadata",
    "ThreadMisfitError",
    "ThreadNotFoundError",
    "ThreadStore",
    "TokenCountingReducer",
    "Tool",
    "ToolArgumentsError",
    "ToolContext",
    "ToolDefinitionError",
    "ToolError",
    "ToolPause",
    "ToolQuestion",
    "Toolset",
    "UsageLimits",
    "UserMemories",
    "VectorEntry",
    "VectorIndex",
    "VectorMatch",
    "WorkflowAgent",
    "WorkflowAsAgent",
    "WorkflowTool",
    "agent_schema",
    "ask_person",
    "background_workflow",
    "build_agent",
    "chat_messages",
    "load_agent_spec",
    "observe_agents",
    "parse_agent_spec",
    "tool",
    "total_usage",
    "trace_agents",
]


def __getattr__(name: str) -> object:
    return loaded(__name__, _HOMES, name)
