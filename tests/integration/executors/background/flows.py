"""A workflow that a client finds by the name of its module."""

from __future__ import annotations

from agentic.core.agents import ChatAgent, background_workflow
from agentic.core.graph import Workflow
from agentic.core.llm import ScriptedModel
from agentic.core.settings import load_settings
from agentic.executors import DurableBackgroundRuns
from agentic.mappers import Database, SqlThreadStore
from agentic.mappers.catalog.projects import ensure_project

FLOW = "tests.integration.executors.background.flows:writing"


def writer() -> ChatAgent[str]:
    """Return an agent as a program of a user makes it."""
    database = Database.configured(load_settings())
    with database.writing() as session:
        project = ensure_project(session, "default")
    return ChatAgent(
        ScriptedModel(["A novel."]),
        name="writer",
        store=SqlThreadStore(database, project_id=project.id),
        background=DurableBackgroundRuns(FLOW),
    )


def writing() -> Workflow:
    """Return its workflow."""
    return background_workflow(writer())
