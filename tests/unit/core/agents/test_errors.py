from __future__ import annotations

import pickle
from collections.abc import Awaitable, Callable

import pytest

from agentic.core.agents import (
    AgentError,
    AgentStoppedError,
    ChatAgent,
    MemoryThreadStore,
    OutputNotMetError,
    ThreadNotFoundError,
    ToolDefinitionError,
    UsageLimits,
    tool,
)
from agentic.core.llm import ScriptedModel, ToolCall


async def lose_a_thread() -> object:
    return await MemoryThreadStore().load("lost")


async def answer_without_a_number() -> object:
    return await ChatAgent(ScriptedModel.repeating("many", times=3), output_type=int).run("How many?")


async def reach_a_limit() -> object:
    model = ScriptedModel.repeating(ToolCall(id="", name="unknown", arguments={}), times=3)
    return await ChatAgent(model, limits=UsageLimits(max_model_calls=2)).run("go")


async def define_a_tool_badly() -> object:
    def guess(thing):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202  # the fault
        return thing

    return tool(guess)


@pytest.mark.requirement("AG08")
@pytest.mark.parametrize(
    ("work", "kind"),
    [
        (lose_a_thread, ThreadNotFoundError),
        (answer_without_a_number, OutputNotMetError),
        (reach_a_limit, AgentStoppedError),
        (define_a_tool_badly, ToolDefinitionError),
    ],
)
async def test_each_failure_of_an_agent_is_an_agent_error_and_survives_a_process(
    work: Callable[[], Awaitable[object]], kind: type[Exception]
) -> None:
    with pytest.raises(AgentError) as caught:
        await work()
    assert type(caught.value) is kind
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy)) == (kind, str(caught.value))
