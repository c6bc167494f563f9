from __future__ import annotations

import pickle

import pytest
from sqlalchemy.orm import Session

from agentic.mappers import (
    AgentModel,
    Database,
    DuplicateAgentError,
    DuplicateProjectError,
    ProjectModel,
    UnknownAgentError,
    UnknownProjectError,
    add_agent,
    add_project,
    find_agent,
    find_project,
    list_agents,
    list_projects,
)


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
