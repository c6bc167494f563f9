"""Messages, requests and replies for properties."""

from __future__ import annotations

from hypothesis import strategies as st

from agentic.core.llm import (
    ChatMessage,
    ChatRole,
    DataPart,
    ModelReply,
    ModelRequest,
    ModelSettings,
    OutputFormat,
    Part,
    StopReason,
    TextPart,
    ThinkingPart,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    ToolResult,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
words = st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
opaque = st.none() | json_objects
counts = st.integers(min_value=0, max_value=10**9)

text_parts = st.builds(TextPart, text=texts, opaque=opaque)
thinking_parts = st.builds(ThinkingPart, text=texts, opaque=opaque)
tool_calls = st.builds(
    ToolCall, id=words, name=words, arguments=json_objects, invalid=st.none() | texts, opaque=opaque
)
tool_results = st.builds(
    ToolResult,
    call_id=words,
    name=words,
    content=json_values,
    is_error=st.booleans(),
    reference=st.none() | words,
    opaque=opaque,
)
data_parts = st.builds(
    DataPart,
    media_type=st.sampled_from(["image/png", "application/pdf"]),
    data=st.none() | st.just("aGk="),
    url=st.none() | st.just("https://site.example/a.png"),
    name=st.none() | texts,
    opaque=opaque,
)
parts: st.SearchStrategy[Part] = st.one_of(text_parts, thinking_parts, tool_calls, tool_results, data_parts)

messages = st.builds(
    ChatMessage,
    role=st.sampled_from(ChatRole),
    parts=st.lists(parts, max_size=4).map(tuple),
    author_name=st.none() | texts,
    id=st.none() | words,
    meta=json_objects,
)
settings = st.builds(
    ModelSettings,
    temperature=st.none() | st.floats(min_value=0, max_value=2),
    max_tokens=st.none() | st.integers(min_value=1, max_value=10**6),
    stop=st.lists(texts, max_size=2).map(tuple),
    seed=st.none() | st.integers(),
    timeout_s=st.floats(min_value=0.1, max_value=600),
    extra=json_objects,
)
tools = st.builds(ToolDefinition, name=words, description=texts, is_strict=st.booleans())
requests = st.builds(
    ModelRequest,
    instructions=texts,
    tools=st.lists(tools, max_size=2).map(tuple),
    messages=st.lists(messages, min_size=1, max_size=4).map(tuple),
    output=st.none() | json_objects.map(lambda schema: OutputFormat(schema=schema)),
    settings=settings,
)
usages = st.builds(
    TokenUsage,
    input_tokens=counts,
    output_tokens=counts,
    cache_read_tokens=counts,
    cache_write_tokens=counts,
    thinking_tokens=counts,
    requests=counts,
    tool_calls=counts,
    cost_usd=st.none() | st.floats(min_value=0, max_value=1e6),
)
replies = st.builds(
    ModelReply,
    message=messages,
    usage=usages,
    stop_reason=st.sampled_from(StopReason),
    model=texts,
    id=st.none() | words,
    replied_by=texts,
    is_cached=st.booleans(),
)
