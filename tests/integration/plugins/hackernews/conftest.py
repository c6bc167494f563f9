"""A migrated database with one project."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.mappers import AgentModel, Database, add_agent, add_project, find_project
from agentic.migrations.runner import upgrade

MakeAgent = Callable[..., AgentModel]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'hn.db'}"
    upgrade(url, get_registry())
    opened = Database(url)
    with opened.writing() as session:
        add_project(session, "news")
    yield opened
    opened.dispose()


@pytest.fixture
def make_agent(database: Database) -> MakeAgent:
    """Add a Hacker News agent; ``project`` names an existing project, other keywords are its config."""

    def make(name: str = "front", project: str = "news", **config: JSONValue) -> AgentModel:
        with database.writing() as session:
            return add_agent(session, find_project(session, project), name, "hackernews", config)

    return make
