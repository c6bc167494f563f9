"""Agents on wrapped models: recorded conversations, broken streams, budgets."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.core.llm.wrappers.streams import PiecewiseModel

from agentic.core.agents import AgentStoppedError, ChatAgent, ChunkKind, tool
from agentic.core.llm import (
    Budget,
    BudgetModel,
    CutReplyError,
    FallbackModel,
    FunctionModel,
    LLMAdapter,
    ModelRequest,
    ReplayModel,
    RetryingModel,
    ScriptedModel,
    ScriptLine,
    ToolCall,
)


@tool
def price(sku: str) -> str:
    """Return the price of an article."""
    return {"s-1": "9.90", "s-2": "12.50"}[sku]


def clerk(request: ModelRequest) -> ScriptLine:
    """Ask for two prices after each question, and then tell how many messages there are."""
    if request.messages[-1].role == "user":
        return [ToolCall(id="", name="price", arguments={"sku": sku}) for sku in ("s-1", "s-2")]
    return f"message {len(request.messages) + 1}"


async def talk(model: LLMAdapter) -> list[str]:
    agent = ChatAgent(model, "You check prices.", name="clerk", tools=[price])
    thread = agent.new_thread()
    return [(await agent.run(question, thread)).text for question in ("Cheaper?", "Sure?")]


@pytest.mark.requirement("LM01")
async def test_a_recorded_conversation_is_replayed_in_a_new_thread(tmp_path: Path) -> None:
    path = tmp_path / "clerk.jsonl"
    said = await talk(ReplayModel(path, FunctionModel(clerk)))
    assert said == ["message 4", "message 8"]
    assert await talk(ReplayModel(path, mode="replay")) == said


@pytest.mark.requirement("LM01")
async def test_a_stream_that_breaks_is_told_to_the_reader_of_the_agent() -> None:
    broken = PiecewiseModel(["Goo", CutReplyError("piecewise:model", "closed")])
    agent = ChatAgent(FallbackModel(broken, ScriptedModel(["Hello."])), "", name="host")
    seen = [(chunk.kind, chunk.text) async for chunk in agent.run_stream("Hello?")]
    told = [one for one in seen if one[0] in (ChunkKind.TEXT, ChunkKind.RESTARTED)]
    assert told == [(ChunkKind.TEXT, "Goo"), (ChunkKind.RESTARTED, ""), (ChunkKind.TEXT, "Hello.")]


@pytest.mark.requirement("LM08")
async def test_agents_share_a_budget_and_a_call_without_room_is_not_made() -> None:
    budget = Budget(max_usd=0.5, name="run-1")
    first, second = (ScriptedModel(["Yes.", "Yes."], cost_usd=0.3) for _ in range(2))
    agents = [ChatAgent(RetryingModel(BudgetModel(model, budget)), "") for model in (first, second)]
    assert (await agents[0].run("Go on?")).text == "Yes."
    with pytest.raises(AgentStoppedError, match=r"'run-1' has no room .*\$0\.3 spent"):
        await agents[1].run("Go on?")
    assert second.requests == []
