"""Pieces of messages in the forms that providers want."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from agentic.core.graph.names import is_storable
from agentic.core.llm.errors import BadModelRequestError
from agentic.core.llm.messages import ChatMessage, ChatRole, DataPart, Part, ToolCall, ToolResult
from agentic.core.llm.requests import ModelRequest
from agentic.core.types import JSONValue

_FITTING: dict[ChatRole, frozenset[str]] = {
    ChatRole.SYSTEM: frozenset({"text"}),
    ChatRole.USER: frozenset({"text", "data"}),
    ChatRole.ASSISTANT: frozenset({"text", "thinking", "tool_call"}),
    ChatRole.TOOL: frozenset({"tool_result"}),
}
_NAMES = {
    "text": "a text",
    "thinking": "thoughts",
    "tool_call": "a tool call",
    "tool_result": "a tool result",
    "data": "an image or file",
}


def check_request(model: str, request: ModelRequest) -> None:
    """Refuse a request that no provider accepts, before it is sent.

    Raises:
        BadModelRequestError: It has no message, a part in a message of a wrong role, an unknown tool choice,
            or a schema of something that is not an object.
    """
    if not request.messages:
        raise BadModelRequestError(model, "the request has no messages")
    for message in request.messages:
        for part in message.parts:
            if part.kind not in _FITTING[message.role]:
                raise refused_part(model, part, f"in a message of the role {message.role.value!r}")
    known = ("auto", "none", "required", *(tool.name for tool in request.tools))
    if request.tool_choice not in known or (request.tool_choice == "required" and not request.tools):
        raise BadModelRequestError(
            model,
            f"tool_choice {request.tool_choice!r} is not a tool of the request (known: {', '.join(known)})",
        )
    schemas = {f"of the tool {tool.name!r}": tool.parameters for tool in request.tools}
    if request.output is not None:
        schemas["of the output"] = request.output.schema_
    for name, schema in schemas.items():
        if schema.get("type") != "object" and "$ref" not in schema:
            raise BadModelRequestError(
                model, f"the schema {name} must have the type 'object', not {schema.get('type')!r}"
            )


def sendable(request: ModelRequest) -> ModelRequest:
    """Return a request in valid Unicode: half of a surrogate pair becomes U+FFFD.

    Scraped texts have such halves, where a text was cut. An SDK would raise ``UnicodeEncodeError``, at this
    request and at each later one of the conversation.
    """
    said = [*(vars(part) for message in request.messages for part in message.parts), request.instructions]
    if not _has_half(said):
        return request
    return ModelRequest.model_validate(_whole(request.model_dump(by_alias=True)))


def _has_half(value: object) -> bool:
    if isinstance(value, str):
        return not is_storable(value)
    if isinstance(value, Mapping):
        return any(_has_half(name) or _has_half(part) for name, part in value.items())
    return isinstance(value, (list, tuple)) and any(map(_has_half, value))


def _whole(value: Any) -> Any:  # noqa: ANN401  # JSON, with tuples
    if isinstance(value, str):  # two halves beside each other are one character
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_whole(name): _whole(part) for name, part in value.items()}
    return [_whole(one) for one in value] if isinstance(value, (list, tuple)) else value


def refused_part(model: str, part: Part, why: str) -> BadModelRequestError:
    """Return the error for a part that cannot be sent."""
    shown = f" of the type {part.media_type!r}" if isinstance(part, DataPart) else ""
    return BadModelRequestError(model, f"{_NAMES[part.kind]}{shown} ({part.kind}) cannot be sent {why}")


def result_text(result: ToolResult, *, marks_errors: bool) -> str:
    """Return the content of a tool result as text: JSON, if it is not a text.

    Args:
        result: The result.
        marks_errors: Begin an error with ``Error: ``, for providers that have no flag for errors.
    """
    content = result.content
    text = content if isinstance(content, str) else json_text(content)
    return f"Error: {text}" if marks_errors and result.is_error else text


def arguments_text(call: ToolCall) -> str:
    """Return the arguments of a call as the JSON text that the model wrote, or that it could have written."""
    return call.invalid if call.invalid is not None else json_text(call.arguments)


def arguments_object(call: ToolCall) -> dict[str, JSONValue]:
    """Return the arguments of a call, for providers that accept objects only."""
    return call.arguments if call.invalid is None else {"invalid_arguments": call.invalid}


def late_instructions(message: ChatMessage) -> str:
    """Return a system message as words of the user, for providers that have instructions only at the top."""
    return f"<instructions>\n{message.text}\n</instructions>"


def split_instructions(request: ModelRequest) -> tuple[list[str], tuple[ChatMessage, ...]]:
    """Return the instructions at the top, and the messages after them."""
    top = list(takewhile(lambda message: message.role is ChatRole.SYSTEM, request.messages))
    texts = [request.instructions, *(message.text for message in top)]
    return [text for text in texts if text.strip()], request.messages[len(top) :]


def json_text(value: JSONValue) -> str:
    """Return compact JSON, in the order of the data: the same data always give the same text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def spoken_text(message: ChatMessage, text: str) -> str:
    """Return a text with the name of its author in front, where several people or agents speak."""
    is_named = message.author_name and message.role is ChatRole.USER
    return f"{message.author_name}: {text}" if is_named else text


def text_of_data(part: DataPart) -> str | None:
    """Return the text of a file that is text; None for any other one."""
    is_text = part.media_type.startswith("text/") or part.media_type == "application/json"
    if not is_text or part.data is None:
        return None
    try:
        text = base64.b64decode(part.data, validate=True).decode()
    except ValueError:
        return None
    return f"{part.name}:\n{text}" if part.name else text
