"""The rules that pages of a crawl are watched by: with the repairs, while these fit the pipeline."""

from __future__ import annotations

import pytest
from tests.unit.executors.conftest import Lab

from agentic.core.pipeline import PipelineSpec
from agentic.core.pipeline.repairs.proposals import SpecChange
from agentic.core.pipeline.repairs.versions import repaired_spec
from agentic.core.types import JSONValue
from agentic.executors.agents.repairing.sql_store import rules_in_effect
from agentic.mappers.catalog.pipelines import as_written
from agentic.mappers.catalog.repairs import import_changes

DETAIL: JSONValue = {"match": ["*/lamp/*"], "config": {"schema": {"title": "h1"}}}
LAMPS = PipelineSpec.model_validate(
    {"name": "lamps", "steps": [{"type": "crawl", "start": "http://a.example/", "detail": DETAIL}]}
)
TITLE = ("steps", 0, "detail", "config", "schema", "title")


def titles(lab: Lab, change: SpecChange) -> list[JSONValue]:
    """Return the selectors of the titles while a change is in effect."""
    agent = lab.agent()
    with lab.database.writing() as session:
        import_changes(session, agent, [change])
        found = rules_in_effect(session, agent, LAMPS)
    return [rule.model_dump(mode="json")["config"]["schema"]["title"] for rule in found]


def test_rules_in_effect_have_the_repairs(lab: Lab) -> None:
    assert titles(lab, SpecChange(place=TITLE, old="h1", new="h2")) == ["h2"]


@pytest.mark.parametrize("new", [5, None], ids=["no rules", "another number of rules"])
def test_repairs_that_no_longer_make_a_pipeline_with_these_rules_do_not_stop_learning(
    lab: Lab, new: JSONValue
) -> None:
    written = as_written(LAMPS)
    old = written["steps"][0]["detail"]  # type: ignore[index,call-overload]  # as written above
    change = SpecChange(place=("steps", 0, "detail"), old=old, new=new)
    assert repaired_spec(written, [change])[1] == (change,)
    assert titles(lab, change) == ["h1"]
