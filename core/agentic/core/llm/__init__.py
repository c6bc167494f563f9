"""Language models: one port, adapters as plugins, and wrappers that add policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.llm.adapter import LLMAdapter, ModelCapabilities, StructuredMode
    from agentic.core.llm.errors import (
        BadModelRequestError,
        ContentRefusedError,
        ContextWindowExceededError,
        CutReplyError,
        MissingKeyError,
        MissingSdkError,
        ModelAuthError,
        ModelConnectionError,
        ModelError,
        ModelTimeoutError,
        OverloadedError,
        QuotaExhaustedError,
        RateLimitedError,
        SchemaNotMetError,
        UnknownModelError,
        UnknownProviderError,
    )
    from agentic.core.llm.folding import ReplyFold
    from agentic.core.llm.messages import (
        ChatMessage,
        ChatRole,
        DataPart,
        Part,
        TextPart,
        ThinkingPart,
        ToolCall,
        ToolResult,
    )
    from agentic.core.llm.registry import llm
    from agentic.core.llm.requests import (
        ModelDelta,
        ModelReply,
        ModelRequest,
        ModelSettings,
        OutputFormat,
        StopReason,
        ToolCallChunk,
        ToolDefinition,
    )
    from agentic.core.llm.scripted import FunctionModel, ScriptedModel, ScriptEndedError, ScriptLine
    from agentic.core.llm.usage import TokenUsage

_HOMES = {
    **dict.fromkeys(("LLMAdapter", "ModelCapabilities", "StructuredMode"), "adapter"),
    **dict.fromkeys(
        (
            "BadModelRequestError",
            "ContentRefusedError",
            "ContextWindowExceededError",
            "CutReplyError",
            "MissingKeyError",
            "MissingSdkError",
            "ModelAuthError",
            "ModelConnectionError",
            "ModelError",
            "ModelTimeoutError",
            "OverloadedError",
            "QuotaExhaustedError",
            "RateLimitedError",
            "SchemaNotMetError",
            "UnknownModelError",
            "UnknownProviderError",
        ),
        "errors",
    ),
    "ReplyFold": "folding",
    **dict.fromkeys(
        ("ChatMessage", "ChatRole", "DataPart", "Part", "TextPart", "ThinkingPart", "ToolCall", "ToolResult"),
        "messages",
    ),
    "llm": "registry",
    **dict.fromkeys(
        (
            "ModelDelta",
            "ModelReply",
            "ModelRequest",
            "ModelSettings",
            "OutputFormat",
            "StopReason",
            "ToolCallChunk",
            "ToolDefinition",
        ),
        "requests",
    ),
    **dict.fromkeys(("FunctionModel", "ScriptEndedError", "ScriptLine", "ScriptedModel"), "scripted"),
    "TokenUsage": "usage",
}

__all__ = [
    "BadModelRequestError",
    "ChatMessage",
    "ChatRole",
    "ContentRefusedError",
    "ContextWindowExceededError",
    "CutReplyError",
    "DataPart",
    "FunctionModel",
    "LLMAdapter",
    "MissingKeyError",
    "MissingSdkError",
    "ModelAuthError",
    "ModelCapabilities",
    "ModelConnectionError",
    "ModelDelta",
    "ModelError",
    "ModelReply",
    "ModelRequest",
    "ModelSettings",
    "ModelTimeoutError",
    "OutputFormat",
    "OverloadedError",
    "Part",
    "QuotaExhaustedError",
    "RateLimitedError",
    "ReplyFold",
    "SchemaNotMetError",
    "ScriptEndedError",
    "ScriptLine",
    "ScriptedModel",
    "StopReason",
    "StructuredMode",
    "TextPart",
    "ThinkingPart",
    "TokenUsage",
    "ToolCall",
    "ToolCallChunk",
    "ToolDefinition",
    "ToolResult",
    "UnknownModelError",
    "UnknownProviderError",
    "llm",
]


def __getattr__(name: str) -> object:
    return loaded(__name__, _HOMES, name)
