"""One example of all that a message and a request can hold, for the golden files beside this one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from agentic.core.llm import (
    ChatMessage,
    ChatRole,
    DataPart,
    ModelReply,
    ModelRequest,
    ModelSettings,
    OutputFormat,
    ReplayModel,
    ScriptedModel,
    StopReason,
    TextPart,
    ThinkingPart,
    TokenUsage,
    ToolCall,
    ToolDefinition,
    ToolResult,
)
from agentic.core.types import JSONValue

DATA = Path(__file__).parent / "data"

MESSAGES = (
    ChatMessage.system("You check prices."),
    ChatMessage.user(
        "Is this a bargain? Größe 42, 靴",
        DataPart(media_type="image/png", data="iVBORw0KGgo=", name="shoe.png"),
        DataPart(media_type="application/pdf", url="https://shop.example/offer.pdf"),
        author_name="anna",
    ),
    ChatMessage(
        role=ChatRole.ASSISTANT,
        parts=(
            ThinkingPart(text="Compare.", opaque={"anthropic": {"signature": "c2ln"}}),
            TextPart(text="I look it up.", opaque={"google": {"thought": True}}),
            ToolCall(id="call_0", name="fetch_price", arguments={"sku": "s-1", "limits": [1, 2.5, None]}),
            ToolCall(id="call_1", name="fetch_price", invalid='{"sku": '),
        ),
        author_name="checker",
        id="m-3",
        meta={"turn": 1},
    ),
    ChatMessage.tool(
        ToolResult(call_id="call_0", name="fetch_price", content={"price": "9.90"}, reference="ab12"),
        ToolResult(call_id="call_1", name="fetch_price", content="not JSON", is_error=True),
    ),
    ChatMessage.assistant("Yes."),
)

REPLY = ModelReply(
    message=MESSAGES[2],
    usage=TokenUsage(
        input_tokens=120,
        output_tokens=30,
        cache_read_tokens=100,
        cache_write_tokens=5,
        thinking_tokens=7,
        requests=1,
        cost_usd=0.0012,
    ),
    stop_reason=StopReason.TOOL_CALLS,
    model="model-2026",
    id="r-1",
    replied_by="anthropic:model",
    is_cached=True,
)

REQUESTS = {
    "a question": ModelRequest(messages=(ChatMessage.user("Hello?"),)),
    "all messages": ModelRequest(instructions="Be brief.", messages=MESSAGES),
    "tools": ModelRequest(
        messages=(ChatMessage.user("Price?"),),
        tools=(
            ToolDefinition(
                name="fetch_price",
                description="The price of an article.",
                parameters={"type": "object", "properties": {"sku": {"type": "string"}}},
            ),
            ToolDefinition(name="stop", is_strict=False),
        ),
        tool_choice="required",
    ),
    "an output format": ModelRequest(
        messages=(ChatMessage.user("Price?"),),
        output=OutputFormat(name="price", schema={"type": "object"}),
        settings=ModelSettings(
            temperature=0,
            top_p=0.5,
            max_tokens=100,
            stop=("END",),
            seed=1,
            thinking="low",
            extra={"tier": "x"},
        ),
    ),
}


def stored(name: str) -> JSONValue:
    """Return the content of a golden file."""
    found: JSONValue = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return found


def recorded() -> ReplayModel:
    """Return a model that replays the golden recording: ``REPLY`` to each of ``REQUESTS``."""
    return ReplayModel(DATA / "recording_1.jsonl", mode="replay")


def write() -> None:
    """Write the golden files of a new format: ``python -m tests.unit.core.llm.golden``."""
    path = DATA / "recording_1.jsonl"
    path.unlink(missing_ok=True)
    recording = ReplayModel(path, ScriptedModel([REPLY] * len(REQUESTS), name="some:model"))
    for request in REQUESTS.values():
        asyncio.run(recording.complete(request))
    files: dict[str, object] = {
        "messages_1": [message.to_json() for message in MESSAGES],
        "reply_1": REPLY.to_json(),
        "digests_1": {name: request.digest for name, request in REQUESTS.items()},
    }
    for name, content in files.items():
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (DATA / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
