"""A script in place of a model: its answer depends only on the request, so any worker can continue."""

from __future__ import annotations

from typing import Any

from agentic.core.llm import FunctionModel, ModelRequest, ScriptLine, ToolCall

FIRST: dict[str, Any] = {
    "kind": "list",
    "name": "lamps",
    "url": "https://shop.example/",
    "items": ".offer",  # a guess that is wrong
    "fields": {"title": "h1.title", "price": {"selector": ".price", "type": "number"}},
    "limit": 3,
}


def reply(request: ModelRequest) -> ScriptLine:
    """Answer as a model would: a first guess, and a better one after the failure."""
    (tool,) = request.tools
    if tool.name == "IntentSpec":
        return ToolCall(id="intent", name=tool.name, arguments=FIRST)
    if "whatever you do" in request.messages[-1].text:  # words that it does not understand
        return ToolCall(id="change", name=tool.name, arguments={"items": ".offers", "why": "a guess"})
    better = {"items": ".products li", "why": "no element matches .offer"}
    return ToolCall(id="change", name=tool.name, arguments=better)


def scripted_model() -> FunctionModel:
    """Return the script."""
    return FunctionModel(reply, name="script:builder")
