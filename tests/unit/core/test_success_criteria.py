"""The figures that the requirements demand, in CPU time, because others use the machine, too."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import pytest
from tests.bench.measuring import idle

from agentic.core import WorkflowBuilder, executor
from agentic.core.agents import ChatAgent, tool
from agentic.core.graph import Executor, Workflow
from agentic.core.llm import FunctionModel, ModelRequest, ScriptLine, ToolCall
from agentic.core.patterns import GroupChatBuilder, PatternResult


async def least_cpu_s(work: Callable[[], Awaitable[None]]) -> float:
    """Return the CPU time of some work, the least of three times."""
    found = []
    for _ in range(3):
        begun = time.process_time()
        await work()
        found.append(time.process_time() - begun)
    return min(found)


@pytest.mark.requirement("SC02")
async def test_a_turn_of_ten_takes_less_than_10_ms_with_a_call_of_a_tool() -> None:
    @tool
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    def reply(request: ModelRequest) -> ScriptLine:
        is_answered = bool(request.messages[-1].tool_results)
        return "Three." if is_answered else ToolCall(id="", name="add", arguments={"a": 1, "b": 2})

    async def talk() -> None:
        agent = ChatAgent(FunctionModel(reply), "You add.", tools=[add])
        thread = agent.new_thread()
        for _ in range(10):
            assert (await agent.run("What is 1 + 2?", thread)).text == "Three."
        assert len(thread.messages) == 40

    assert await least_cpu_s(talk) / 10 < 0.010


@pytest.mark.requirement("SC03")
async def test_a_group_chat_of_five_comes_to_its_end_in_twenty_rounds_within_a_second() -> None:
    async def talk() -> None:
        agents = [ChatAgent(FunctionModel(lambda _: "It depends."), name=name) for name in "abcde"]
        flow = GroupChatBuilder("chat").participants(agents).with_max_iterations(20).build()
        result = await flow.run("How much is it?")
        assert result.output(PatternResult).round_count == 20

    assert await least_cpu_s(talk) < 1.0


@pytest.mark.requirement("SC04")
def test_a_workflow_of_ten_nodes_that_waits_takes_less_than_50_kib() -> None:
    def node(name: str) -> Executor:
        @executor(id=name)
        async def pass_on(text: str) -> str:
            return text

        return pass_on

    def build() -> Workflow:
        builder = WorkflowBuilder("chain").set_start(node("0"))
        for number in range(1, 10):
            builder.add_edge(str(number - 1), node(str(number)))
        return builder.build()

    assert idle(build, count=20)["traced_kib"] < 50
