from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentic.core.errors import DuplicateNameError, UnknownPlatformError
from agentic.core.types import JSONValue
from agentic.executors import BaseAgentExecutor, ExecutorFactory
from agentic.executors.agents.runner import run_execution
from agentic.executors.errors import AgentConfigError, ExecutionError, SessionClosedError

if TYPE_CHECKING:
    from tests.unit.executors.conftest import Lab


Config = dict[str, JSONValue]


class PlainExecutor(BaseAgentExecutor):
    async def execute_agent(self, state: dict[str, object]) -> dict[str, object]:
        return state


def make(
    lab: Lab, *, platform: str = "toy", goals: str | None = None, config: Config | None = None
) -> BaseAgentExecutor:
    return ExecutorFactory.create(lab.agent(platform=platform, goals=goals, config=config), execution_id="e1")


@pytest.mark.requirement("PL05", "PL01")
def test_the_factory_makes_the_executor_of_the_agents_platform(lab: Lab) -> None:
    executor = make(lab)

    assert type(executor).__name__ == "ToyExecutor"
    assert (executor.agent.agent_name, executor.execution_id) == ("toy-agent", "e1")


@pytest.mark.requirement("PL25")
def test_an_agent_of_an_unknown_platform_is_refused_by_name(lab: Lab) -> None:
    with pytest.raises(UnknownPlatformError, match=r"'nope'.*toy"):
        make(lab, platform="nope")


@pytest.mark.requirement("PL06", "PL07")
def test_a_platform_is_added_by_one_registration(lab: Lab) -> None:
    ExecutorFactory.register_executor("plain", PlainExecutor)

    assert isinstance(make(lab, platform="plain"), PlainExecutor)


async def test_a_platform_without_a_mapper_stores_the_general_result(lab: Lab) -> None:
    ExecutorFactory.register_executor("plain", PlainExecutor)
    execution = lab.execution(lab.agent(platform="plain"))

    outcome = await run_execution(execution.id, execution.agent_id, database=lab.database, bus=lab.bus)

    assert (str(outcome.status), lab.result_count()) == ("succeeded", 1)


def test_a_registered_name_cannot_be_taken_again(lab: Lab) -> None:
    with pytest.raises(DuplicateNameError, match="toy"):
        ExecutorFactory.register_executor("toy", PlainExecutor)


@pytest.mark.requirement("PL02")
def test_the_initial_state_holds_name_goals_split_at_commas_and_config(lab: Lab) -> None:
    executor = make(lab, goals=" find news, ,rank them ", config={"limit": 5})

    assert executor.create_initial_state() == {
        "agent_name": "toy-agent",
        "goals": ["find news", "rank them"],
        "config": {"limit": 5, "token": ""},
    }


@pytest.mark.requirement("PL41")
def test_the_initial_state_shows_no_secret(lab: Lab) -> None:
    assert "s3cret" not in str(make(lab, config={"token": "s3cret"}).create_initial_state())


@pytest.mark.requirement("PL25")
def test_every_fault_of_a_config_is_named_and_no_value_shown(lab: Lab) -> None:
    executor = make(lab, config={"limit": "many", "tokn": "s3cret"})

    with pytest.raises(AgentConfigError) as caught:
        executor.validate()

    assert "limit: " in str(caught.value)
    assert "unknown key 'tokn'; did you mean 'token'? (known: limit, token)" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.requirement("PL25")
def test_a_config_for_a_platform_that_takes_none_is_refused(lab: Lab) -> None:
    ExecutorFactory.register_executor("plain", PlainExecutor)

    with pytest.raises(AgentConfigError, match="takes no config, but the agent has limit"):
        make(lab, platform="plain", config={"limit": 1}).validate()


@pytest.mark.requirement("PL32")
def test_a_session_is_there_only_while_one_is_lent(lab: Lab) -> None:
    executor = make(lab)

    with lab.database.reading() as session:
        with executor.attached(executor.agent, session):
            assert executor.db_session is session
        with pytest.raises(SessionClosedError, match="save_results"):
            _ = executor.db_session


def test_there_is_no_context_outside_execute_agent(lab: Lab) -> None:
    with pytest.raises(ExecutionError, match="only while execute_agent runs"):
        _ = make(lab).context
