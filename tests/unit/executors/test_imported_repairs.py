"""Accepted repairs in a project's file: imported with their secrets, and only where they fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import yaml
from tests.unit.executors.conftest import Lab, ToyMapper, ToySettings

from agentic.core.hooks import Platform, get_registry
from agentic.core.pipeline import PipelineSpec
from agentic.core.pipeline.repairs.proposals import SpecChange
from agentic.core.types import JSONValue
from agentic.executors.agents.pipeline import PipelineAgentExecutor
from agentic.executors.projects.facts import told_project
from agentic.executors.projects.files import ProjectFileError, read_project
from agentic.executors.projects.importing import import_project
from agentic.mappers import AgentModel, find_project
from agentic.mappers.catalog.repairs import changes_of, import_changes, newest_version, roll_back

START = "http://a.example/?api_key=k3y-of-the-shop"
LAMPS = PipelineSpec.model_validate({"name": "lamps", "steps": [{"type": "crawl", "start": START}]})
MOVED = SpecChange(place=("steps", 0, "start"), old=START, new=START.replace("a.example/", "a.example/lamps"))
STALE = SpecChange(place=("steps", 0, "id"), old="shop", new="lamps")


class LampsExecutor(PipelineAgentExecutor):
    def pipeline(self) -> PipelineSpec:
        return LAMPS

    def inputs(self) -> Mapping[str, JSONValue]:
        return {}


@pytest.fixture
def agent(lab: Lab) -> AgentModel:
    get_registry().add_platform(
        Platform(name="lamps", executor=LampsExecutor, mapper=ToyMapper, settings=ToySettings)
    )
    return lab.agent("lamps", platform="lamps")


def exported(lab: Lab, agent: AgentModel, changes: Sequence[SpecChange]) -> str:
    """Return the file of the project while these changes are in effect, and undo them."""
    with lab.database.writing() as session:
        import_changes(session, agent, changes)
        text = yaml.safe_dump(told_project(session, find_project(session, "lab")))
        roll_back(session, agent, to=0)
    assert "k3y" not in text
    return text


def imported(lab: Lab, agent: AgentModel, text: str) -> tuple[str, Sequence[SpecChange]]:
    """Import a file; return the report about the repairs, and the changes in effect."""
    with lab.database.writing() as session:
        done = import_project(session, read_project(text, "lab.yaml"))
        return str(done[-1]), changes_of(newest_version(session, agent))


def test_masked_secrets_of_repairs_are_those_of_the_stored_ones(lab: Lab, agent: AgentModel) -> None:
    text = exported(lab, agent, [MOVED])
    with pytest.raises(ProjectFileError, match="stands for a hidden secret"):
        imported(lab, agent, text)
    with lab.database.writing() as session:
        import_changes(session, agent, [MOVED, STALE])
    assert imported(lab, agent, text) == ("repairs of lamps: changed", (MOVED,))
    assert imported(lab, agent, text) == ("repairs of lamps: unchanged", (MOVED,))


def test_repairs_that_do_not_fit_the_pipeline_are_named_and_not_stored(lab: Lab, agent: AgentModel) -> None:
    fitting = SpecChange(place=("steps", 0, "max_pages"), old=None, new=5)
    both, stale = exported(lab, agent, [fitting, STALE]), exported(lab, agent, [STALE])
    why = "; left out, because the pipeline has another value there: steps.0.id"
    assert imported(lab, agent, stale) == (f"repairs of lamps: unchanged{why}", ())
    assert imported(lab, agent, both) == (f"repairs of lamps: changed{why}", (fitting,))
    assert imported(lab, agent, both) == (f"repairs of lamps: unchanged{why}", (fitting,))
    assert imported(lab, agent, stale) == (f"repairs of lamps: unchanged{why}", (fitting,))


def test_repairs_that_an_edit_has_overtaken_are_imported_unchanged(lab: Lab, agent: AgentModel) -> None:
    text = exported(lab, agent, [STALE])
    with lab.database.writing() as session:
        import_changes(session, agent, [STALE])
    assert imported(lab, agent, text) == ("repairs of lamps: unchanged", (STALE,))
