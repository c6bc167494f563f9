"""Language models: one port, adapters as plugins, and wrappers that add policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.llm.adapter import LLMAdapter, ModelCapabilities, StructuredMode, opened_stream
    from agentic.core.llm.budget import (
        Budget,
        BudgetAccount,
        BudgetAmount,
        BudgetExceededError,
        BudgetStore,
        MemoryBudgetStore,
        UnknownPriceError,
    )
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
    from agentic.core.llm.open_models import OpenModels
    from agentic.core.llm.prices import ModelPrice, PriceTable, price_of
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
    from agentic.core.llm.tokens import TokenEstimator, Tokenizer
    from agentic.core.llm.usage import TokenUsage
    from agentic.core.llm.wrappers.budgeting import BudgetModel
    from agentic.core.llm.wrappers.caching import CacheModel, FileReplyCache, MemoryReplyCache, ReplyCache
    from agentic.core.llm.wrappers.fallback import FALLBACK_ON, FallbackModel
    from agentic.core.llm.wrappers.pricing import PricedModel
    from agentic.core.llm.wrappers.recordings import BrokenRecordingError, MissingRecordingError
    from agentic.core.llm.wrappers.replay import ReplayModel
    from agentic.core.llm.wrappers.retrying import MODEL_RETRIES, RetryingModel
    from agentic.core.llm.wrappers.tiered import (
        ErrorFingerprint,
        ErrorFingerprinter,
        FailurePick,
        TieredModel,
        WordFingerprinter,
    )
    from agentic.core.llm.wrappers.wrapping import ModelWrapper

_HOMES = {
    **dict.fromkeys(("LLMAdapter", "ModelCapabilities", "StructuredMode", "opened_stream"), "adapter"),
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
    **dict.fromkeys(
        (
            "Budget",
            "BudgetAccount",
            "BudgetAmount",
            "BudgetExceededError",
            "BudgetStore",
            "MemoryBudgetStore",
            "UnknownPriceError",
        ),
        "budget",
    ),
    "OpenModels": "open_models",
    **dict.fromkeys(("ModelPrice", "PriceTable", "price_of"), "prices"),
    **dict.fromkeys(("TokenEstimator", "Tokenizer"), "tokens"),
    "BudgetModel": "wrappers.budgeting",
    **dict.fromkeys(("CacheModel", "FileReplyCache", "MemoryReplyCache", "ReplyCache"), "wrappers.caching"),
    **dict.fromkeys(("FALLBACK_ON", "FallbackModel"), "wrappers.fallback"),
    "PricedModel": "wrappers.pricing",
    **dict.fromkeys(("BrokenRecordingError", "MissingRecordingError"), "wrappers.recordings"),
    "ReplayModel": "wrappers.replay",
    **dict.fromkeys(("MODEL_RETRIES", "RetryingModel"), "wrappers.retrying"),
    **dict.fromkeys(
        ("ErrorFingerprint", "ErrorFingerprinter", "FailurePick", "TieredModel", "WordFingerprinter"),
        "wrappers.tiered",
    ),
    "ModelWrapper": "wrappers.wrapping",
}

__all__ = [
    "FALLBACK_ON",
    "MODEL_RETRIES",
    "BadModelRequestError",
    "BrokenRecordingError",
    "Budget",
    "BudgetAccount",
    "BudgetAmount",
    "BudgetExceededError",
    "BudgetModel",
    "BudgetStore",
    "CacheModel",
    "ChatMessage",
    "ChatRole",
    "ContentRefusedError",
    "ContextWindowExceededError",
    "CutReplyError",
    "DataPart",
    "ErrorFingerprint",
    "ErrorFingerprinter",
    "FailurePick",
    "FallbackModel",
    "FileReplyCache",
    "FunctionModel",
    "LLMAdapter",
    "MemoryBudgetStore",
    "MemoryReplyCache",
    "MissingKeyError",
    "MissingRecordingError",
    "MissingSdkError",
    "ModelAuthError",
    "ModelCapabilities",
    "ModelConnectionError",
    "ModelDelta",
    "ModelError",
    "ModelPrice",
    "ModelReply",
    "ModelRequest",
    "ModelSettings",
    "ModelTimeoutError",
    "ModelWrapper",
    "OpenModels",
    "OutputFormat",
    "OverloadedError",
    "Part",
    "PriceTable",
    "PricedModel",
    "QuotaExhaustedError",
    "RateLimitedError",
    "ReplayModel",
    "ReplyCache",
    "ReplyFold",
    "RetryingModel",
    "SchemaNotMetError",
    "ScriptEndedError",
    "ScriptLine",
    "ScriptedModel",
    "StopReason",
    "StructuredMode",
    "TextPart",
    "ThinkingPart",
    "TieredModel",
    "TokenEstimator",
    "TokenUsage",
    "Tokenizer",
    "ToolCall",
    "ToolCallChunk",
    "ToolDefinition",
    "ToolResult",
    "UnknownModelError",
    "UnknownPriceError",
    "UnknownProviderError",
    "WordFingerprinter",
    "llm",
    "opened_stream",
    "price_of",
]


def __getattr__(name: str) -> object:
    return loaded(__name__, _HOMES, name)
