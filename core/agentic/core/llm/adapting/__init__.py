"""Parts for adapters to models: access, errors, schemas, event streams. For plugins that add a provider."""

from __future__ import annotations

from agentic.core.llm.adapting.access import Access, ProviderHome, find_access, is_private_host, own_headers
from agentic.core.llm.adapting.contents import (
    arguments_object,
    arguments_text,
    json_text,
    late_instructions,
    refused_part,
    result_text,
    split_instructions,
    spoken_text,
    text_of_data,
)
from agentic.core.llm.adapting.failures import (
    FailedAnswer,
    FailedAnswerError,
    UnreadableAnswerError,
    clean,
    failure_of,
    parse_failure,
    read_failure,
)
from agentic.core.llm.adapting.schemas import FittedSchema, SchemaDialect, fit_schema, restored_reply
from agentic.core.llm.adapting.sdk import CONNECT_S, SdkAdapter, SdkFaults, StreamAdapter
from agentic.core.llm.adapting.sse import EventDecoder, LongEventError

__all__ = [
    "CONNECT_S",
    "Access",
    "EventDecoder",
    "FailedAnswer",
    "FailedAnswerError",
    "FittedSchema",
    "LongEventError",
    "ProviderHome",
    "SchemaDialect",
    "SdkAdapter",
    "SdkFaults",
    "StreamAdapter",
    "UnreadableAnswerError",
    "arguments_object",
    "arguments_text",
    "clean",
    "failure_of",
    "find_access",
    "fit_schema",
    "is_private_host",
    "json_text",
    "late_instructions",
    "own_headers",
    "parse_failure",
    "read_failure",
    "refused_part",
    "restored_reply",
    "result_text",
    "split_instructions",
    "spoken_text",
    "text_of_data",
]
