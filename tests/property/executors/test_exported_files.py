"""What was exported and is imported again is as it was, whatever became of it meanwhile."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy.orm import Session
from tests.property.graph.effort import examples

from agentic.core.types import JSONValue
from agentic.executors.agents.catalog import find_named, put_agent
from agentic.executors.commands.agents.files import read_agents, told_agent, write_agents
from agentic.executors.projects.facts import told_project
from agentic.executors.projects.files import read_project, write_project
from agentic.executors.projects.importing import import_project
from agentic.mappers import Database, ProjectModel, add_agent, add_project
from agentic.mappers.catalog.projects import (
    change_agent,
    describe_project,
    disable_agent,
    enable_agent,
    limit_project,
)

PLATFORM = "hackernews"
words = st.none() | st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)


@dataclass(frozen=True, slots=True)
class Agent:
    goals: str | None
    limit: int | None
    is_disabled: bool

    @property
    def config(self) -> dict[str, JSONValue]:
        return {} if self.limit is None else {"limit": self.limit}


@dataclass(frozen=True, slots=True)
class Stand:
    description: str | None
    max_running: int | None
    agents: dict[str, Agent]


agents = st.builds(Agent, words, st.none() | st.integers(1, 9), st.booleans())
stands = st.builds(
    Stand,
    words.filter(lambda text: text != ""),  # no command leaves one that is empty
    st.none() | st.integers(1, 9),
    st.dictionaries(st.sampled_from(["one", "no", "3", "four: #4"]), agents),
)

BARE = Stand(None, None, {"one": Agent(None, None, is_disabled=False)})
FULL = Stand("shops", 4, {"one": Agent("news", 5, is_disabled=True)})
# One database does: each example has a project of its own.
each_stand = settings(examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])


def bring(session: Session, owner: ProjectModel, stand: Stand) -> None:
    """Bring a project, and the agents that are named, to a stand."""
    describe_project(session, owner, stand.description)
    limit_project(session, owner, stand.max_running)
    for name, agent in stand.agents.items():
        found = find_named(session, owner, name) or add_agent(session, owner, name, PLATFORM)
        change_agent(session, found, platform=PLATFORM, config=agent.config, goals=agent.goals)
        (disable_agent if agent.is_disabled else enable_agent)(session, found)


def exported(session: Session, owner: ProjectModel, stand: Stand) -> str:
    """Return the agents of a stand, and no other, as their file."""
    found = [find_named(session, owner, name) for name in stand.agents]
    return write_agents([told_agent(agent) for agent in found if agent is not None])


@pytest.mark.requirement("BR08")
@each_stand
@given(stands, stands)
@example(BARE, FULL)
@example(FULL, BARE)
def test_agents_are_again_what_their_file_says(
    agentic_database: Database, before: Stand, meanwhile: Stand
) -> None:
    with agentic_database.writing() as session:
        owner = add_project(session, uuid.uuid4().hex)
        bring(session, owner, before)
        file = exported(session, owner, before)
        bring(session, owner, meanwhile)

        for facts in read_agents(file, "agents.yaml"):
            put_agent(session, owner, facts, replace=True)

        assert exported(session, owner, before) == file


@pytest.mark.requirement("BR08")
@each_stand
@given(stands, stands)
@example(BARE, FULL)
@example(FULL, BARE)
def test_a_project_is_again_what_its_file_says(
    agentic_database: Database, before: Stand, meanwhile: Stand
) -> None:
    with agentic_database.writing() as session:
        owner = add_project(session, uuid.uuid4().hex)
        bring(session, owner, before)
        agents_of_file = exported(session, owner, before)
        told = told_project(session, owner)
        bring(session, owner, meanwhile)

        import_project(session, read_project(write_project(told), "project.yaml"))

        assert told_project(session, owner)["project"] == told["project"]
        assert exported(session, owner, before) == agents_of_file
