"""Graphs as a package would have them; every function notes its entries in ``$AGENTIC_TEST_NOTES``."""

from __future__ import annotations

import asyncio
import operator
import os
from pathlib import Path
from typing import Annotated, Any, Required, TypedDict

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.types import Send, interrupt
from pydantic import BaseModel

NOTES = "AGENTIC_TEST_NOTES"
"""Names a folder."""


def note(word: str) -> None:
    with (Path(os.environ[NOTES]) / "notes.txt").open("a") as file:
        file.write(f"{word}\n")


async def wait(name: str) -> None:
    """Wait for a file of this name."""
    note(name)
    file = Path(os.environ[NOTES]) / name
    while not file.exists():  # noqa: ASYNC110 - of another process
        await asyncio.sleep(0.01)


class Trip(TypedDict, total=False):
    city: Required[str]
    found: Annotated[list[str], operator.add]
    plan: str


def places(state: Trip) -> list[Send]:
    note("route")
    return [Send("look", {"city": f"{state['city']} {number}"}) for number in range(3)]


def look(state: Trip) -> dict[str, Any]:
    note(f"look {state['city']}")
    get_stream_writer()({"looked": state["city"]})
    return {"found": [f"found {state['city']}"]}


def ask(state: Trip) -> dict[str, Any]:
    note("ask")
    who, when = interrupt({"question": "who goes?"}), interrupt("when?")
    note("asked")
    return {"found": [f"{who} on {when}"]}


async def hold(state: Trip) -> dict[str, Any]:
    await wait("gate")
    return {"plan": "done"}


def leave(state: Trip) -> dict[str, Any]:
    note("leave")
    return {"found": ["left"]}


def _asking() -> Any:
    return StateGraph(Trip).add_node("ask", ask).add_edge(START, "ask").compile()


def trip() -> Any:
    """Send, a nested graph that asks twice, a node that waits for a file, and a last one."""
    builder = StateGraph(Trip).add_node("look", look).add_node("talk", _asking()).add_node("hold", hold)
    builder.add_node("leave", leave).add_conditional_edges(START, places, ["look"])
    return builder.add_edge("look", "talk").add_edge("talk", "hold").add_edge("hold", "leave")


def slow() -> Any:
    """A node that waits for a file, and a last one."""
    builder = StateGraph(Trip).add_node("hold", hold).add_node("leave", leave)
    return builder.add_edge(START, "hold").add_edge("hold", "leave")


class Seat(BaseModel):
    row: int


def seat() -> Any:
    """Asks for an answer with a schema."""

    def choose(state: Trip) -> dict[str, Any]:
        chosen = interrupt("which seat?", response_schema=Seat)
        return {"plan": f"row {chosen.row}"}

    return StateGraph(Trip).add_node("choose", choose).add_edge(START, "choose").compile()


def careful() -> Any:
    """Stops before a node and after another."""

    def first(state: Trip) -> dict[str, Any]:
        return {"found": ["first"]}

    def second(state: Trip) -> dict[str, Any]:
        return {"found": ["second"]}

    builder = StateGraph(Trip).add_node("first", first).add_node("second", second)
    builder.add_edge(START, "first").add_edge("first", "second")
    return builder.compile(interrupt_before=["first"], interrupt_after=["first"])


def broken() -> Any:
    """One of two nodes fails."""

    def good(state: Trip) -> dict[str, Any]:
        note("good")
        return {"found": ["good"]}

    async def bad(state: Trip) -> dict[str, Any]:
        note("bad")
        await asyncio.sleep(0.02)
        raise ValueError("no luck")

    builder = StateGraph(Trip).add_node("good", good).add_node("bad", bad)
    return builder.add_edge(START, "good").add_edge(START, "bad").compile()


@tool
async def weather(city: str) -> str:
    """Look up the weather."""
    await wait("gate")
    return f"sun in {city}"


class Scripted(FakeMessagesListChatModel):
    """Calls the tool until it has a result."""

    def bind_tools(self, tools: Any, **_kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> ChatResult:
        note(f"model {len(messages)}")
        done = any(isinstance(one, ToolMessage) for one in messages)
        calls: Any = [{"id": "c1", "name": "weather", "args": {"city": "Oslo"}}]
        reply = AIMessage("It is sunny.", id="a2") if done else AIMessage("", id="a1", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def agent() -> Any:
    """LangGraph's own agent: its graph, its nodes and its tool node come from ``langgraph-prebuilt``."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has moved to the package langchain
        return create_react_agent(Scripted(responses=[]), [weather])


@task
async def double(number: int) -> int:
    note(f"double {number}")
    if number == 2:
        await wait("gate")
    return number * 2


@entrypoint()
async def doubled(given: dict[str, list[int]]) -> list[int]:
    """A graph of the functional API."""
    return [await double(number) for number in given["numbers"]]
