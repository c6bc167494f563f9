from __future__ import annotations

import pickle

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from agentic.mappers import (
    AgentModel,
    Database,
    DuplicateAgentError,
    DuplicateProjectError,
    ExecutionModel,
    ExecutionStatus,
    ProjectModel,
    ScheduleModel,
    UnknownAgentError,
    UnknownProjectError,
    add_agent,
    add_project,
    add_schedule,
    create_execution,
    find_agent,
    find_project,
    finish_execution,
    list_agents,
    list_projects,
)
from agentic.mappers.audit import DecisionFilter, newest_decisions
from agentic.mappers.catalog.projects import describe_project, disable_agent, enable_agent, remove_project
from agentic.mappers.errors import AgentDisabledError, ProjectBusyError


def agent_names(session: Session, project_id: str) -> list[str]:
    return [agent.agent_name for agent in list_agents(session, project_id)]


@pytest.mark.requirement("PL20")
def test_a_project_is_found_by_name_and_listed(database: Database) -> None:
    with database.writing() as session:
        added = [add_project(session, name) for name in ("beta", "alpha")]
    with database.reading() as session:
        assert find_project(session, "beta").id == added[0].id
        assert [project.name for project in list_projects(session)] == ["alpha", "beta"]


def test_an_unknown_project_names_the_known_ones(database: Database, project: ProjectModel) -> None:
    with database.reading() as session, pytest.raises(UnknownProjectError, match=r"'mine' \(known: ours\)"):
        find_project(session, "mine")


def test_a_second_project_of_one_name_is_refused_and_the_session_goes_on(
    database: Database, project: ProjectModel
) -> None:
    with database.writing() as session:
        with pytest.raises(DuplicateProjectError, match="'ours' exists"):
            add_project(session, "ours")
        add_project(session, "other")
    with database.reading() as session:
        assert [known.name for known in list_projects(session)] == ["other", "ours"]


@pytest.mark.requirement("PL19", "PL20")
def test_an_agent_has_its_platform_goals_config_and_project(
    database: Database, project: ProjectModel
) -> None:
    with database.writing() as session:
        added = add_agent(session, project, "hn", "hackernews", {"limit": 30}, "ai,databases")
    with database.reading() as session:
        agent = find_agent(session, project.id, "hn")
        assert [known.id for known in find_project(session, "ours").agents] == [agent.id]
    assert agent.id == added.id
    assert (agent.agent_platform, agent.goals, agent.config) == ("hackernews", "ai,databases", {"limit": 30})
    assert agent.project.name == "ours"


def test_an_agent_is_found_by_id_too(database: Database, agent: AgentModel) -> None:
    with database.reading() as session:
        assert find_agent(session, agent.project_id, agent.id).id == agent.id


def test_a_second_agent_of_one_name_is_refused(database: Database, agent: AgentModel) -> None:
    with (
        database.writing() as session,
        pytest.raises(DuplicateAgentError, match="'ours' has an agent 'watcher'"),
    ):
        add_agent(session, agent.project, "watcher", "test")


@pytest.mark.requirement("PL42")
def test_the_agent_of_another_project_is_not_seen(
    database: Database, agent: AgentModel, stranger: AgentModel
) -> None:
    with database.reading() as session:
        assert find_agent(session, agent.project_id, "watcher").id == agent.id
        assert agent_names(session, agent.project_id) == ["watcher"]
        with pytest.raises(UnknownAgentError, match=f"'ours' has no agent '{stranger.id}'"):
            find_agent(session, agent.project_id, stranger.id)


def test_errors_survive_the_way_through_a_worker_pool() -> None:
    error = pickle.loads(pickle.dumps(UnknownAgentError("a", "p", ["b"])))
    assert isinstance(error, UnknownAgentError)
    assert (error.agent, error.project, error.known) == ("a", "p", ("b",))
    assert "known: b" in str(error)


def test_what_a_project_is_for_can_be_said_and_left_out_again(
    database: Database, project: ProjectModel
) -> None:
    for text in ("prices of shops", None):
        with database.writing() as session:
            describe_project(session, find_project(session, "ours"), text)
        with database.reading() as session:
            assert find_project(session, "ours").description == text


def test_a_disabled_agent_begins_nothing_until_it_is_enabled(database: Database, agent: AgentModel) -> None:
    with database.writing() as session:
        assert disable_agent(session, find_agent(session, agent.project_id, agent.id))
        assert not disable_agent(session, find_agent(session, agent.project_id, agent.id))
    # ``agent`` was read before: what counts is how it stands now.
    with (
        database.writing() as session,
        pytest.raises(AgentDisabledError, match="agentic agents enable watcher"),
    ):
        create_execution(session, agent)
    with database.writing() as session:
        assert enable_agent(session, find_agent(session, agent.project_id, agent.id))
        assert not enable_agent(session, find_agent(session, agent.project_id, agent.id))
        create_execution(session, agent)


def test_a_removed_project_takes_what_it_owned_along_and_nothing_of_another(
    database: Database, agent: AgentModel, stranger: AgentModel
) -> None:
    for one in (agent, stranger):
        with database.writing() as session:
            execution = create_execution(session, one)
            add_schedule(session, one, "hourly", every_s=3600)
            finish_execution(session, one.project_id, execution.id, ExecutionStatus.SUCCEEDED)
    with database.writing() as session:
        remove_project(session, find_project(session, "ours"), {"agents": 1})
    with database.reading() as session:
        assert [project.name for project in list_projects(session)] == ["theirs"]
        for table in (AgentModel, ExecutionModel, ScheduleModel):
            assert session.scalars(select(table.project_id)).all() == [stranger.project_id]
        decisions = newest_decisions(session, agent.project_id, DecisionFilter(), 1)
    assert [(decision.kind, decision.details) for decision in decisions] == [
        ("project.removed", {"counts": {"agents": 1}})
    ]


def test_a_project_is_not_removed_while_something_of_it_goes_on(
    database: Database, agent: AgentModel
) -> None:
    with database.writing() as session:
        create_execution(session, agent)
    with database.writing() as session, pytest.raises(ProjectBusyError, match="1 run has not ended"):
        remove_project(session, find_project(session, "ours"), {})
    with database.reading() as session:
        assert find_project(session, "ours").name == "ours"
