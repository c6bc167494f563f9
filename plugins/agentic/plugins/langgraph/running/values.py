"""States and inputs of LangGraph's graphs as JSON, and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from pydantic_core import to_jsonable_python

from agentic.core.graph.codec.codec import describe
from agentic.core.llm.messages import ChatMessage, ChatRole
from agentic.core.types import JSONValue
from agentic.plugins.langgraph.errors import LangGraphError

MESSAGES = "messages"

_PARTS = ("name", "tool_calls", "tool_call_id", "status", "id", "usage_metadata")


def json_of(value: object) -> JSONValue:
    """Return any value of a state as JSON, for people and rows; secrets and unknown objects are not shown."""
    try:
        return cast("JSONValue", _jsonable(_with_plain_messages(value)))
    except (ValueError, RecursionError):  # it contains itself, or breaks when it is looked at
        return describe(value)


def _jsonable(value: object) -> object:
    return to_jsonable_python(
        value, fallback=describe, bytes_mode="base64", inf_nan_mode="strings", serialize_unknown=False
    )


def _with_plain_messages(value: object) -> object:
    if isinstance(value, BaseMessage):
        facts = {name: getattr(value, name, None) for name in _PARTS}
        return {"type": value.type, "content": value.content} | {
            name: fact for name, fact in facts.items() if fact
        }
    if isinstance(value, Mapping):
        return {str(name): _with_plain_messages(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with_plain_messages(part) for part in value]
    return value


def values_of(state: object) -> dict[str, JSONValue]:
    """Return the values at the end of a graph; ``{"value": ...}`` if it has only one."""
    found = json_of(state)
    return found if isinstance(found, dict) else {"value": found}


def last_text(state: object) -> str:
    """Return the text of the last message that a model has written, or ""."""
    said = state.get(MESSAGES) if isinstance(state, Mapping) else getattr(state, MESSAGES, None)
    for message in reversed(said if isinstance(said, Sequence) else ()):
        if isinstance(message, AIMessage):
            return str(message.text)  # a subclass of str until langchain-core 2
    return ""


def input_of(graph: Pregel[Any, Any, Any, Any], given: object) -> object:
    """Return the input of a graph: a mapping as it is, messages and text where its state takes them.

    LangGraph drops keys that its state lacks, and runs also if none is left.

    Raises:
        LangGraphError: It has none.
    """
    names = _names_of(graph)
    if isinstance(given, Mapping):
        if names and given and given.keys().isdisjoint(names):
            raise LangGraphError(
                f"the graph takes {', '.join(names)}, and its input has none of them, but "
                f"{', '.join(map(str, given))[:200]}; check the names"
            )
        return dict(given)
    messages = [given] if isinstance(given, ChatMessage) else given
    if isinstance(messages, Sequence) and all(isinstance(one, ChatMessage) for one in messages):
        if MESSAGES in names:
            return {MESSAGES: [_message(cast("ChatMessage", one)) for one in messages]}
        given = cast("ChatMessage", messages[-1]).text if messages else ""
    if not isinstance(given, str):
        return given
    if MESSAGES in names:
        return {MESSAGES: [HumanMessage(given)]}
    if len(names) == 1:
        return {names[0]: given}
    if not names:
        return given
    raise LangGraphError(
        f"the graph takes {', '.join(names)}, and a text fits none of them alone; send a mapping"
    )


def _names_of(graph: Pregel[Any, Any, Any, Any]) -> list[str]:
    builder = getattr(graph, "builder", None)
    if not isinstance(builder, StateGraph):
        return list(graph.get_input_jsonschema().get("properties", {}))
    # Not by its JSON Schema: pydantic makes none of a ``typing.TypedDict`` before Python 3.12.
    return [name for name in builder.schemas[builder.input_schema] if name not in builder.managed]


def _message(message: ChatMessage) -> BaseMessage:
    return AIMessage(message.text) if message.role is ChatRole.ASSISTANT else HumanMessage(message.text)
