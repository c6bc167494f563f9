"""Pipelines kept by name and version, and dead letters."""

from __future__ import annotations

import pytest

from agentic.core.pipeline import PipelineResult, PipelineSpec, read_spec
from agentic.mappers import AgentModel, Database, FrontierModel, FrontierState, create_execution
from agentic.mappers.catalog.dead_letters import drop_dead_letters, list_dead_letters, store_dead_letters
from agentic.mappers.catalog.pipelines import find_stored, list_pipelines, store_pipeline
from agentic.mappers.errors import UnknownPipelineError


def spec(url: str) -> PipelineSpec:
    return read_spec({"name": "shop", "steps": [{"actor": "fetch", "config": {"url": url}}]})


def test_a_pipeline_that_is_changed_becomes_the_next_version(database: Database, agent: AgentModel) -> None:
    made = []
    for url in ("http://a/", "http://a/", "http://b/", "http://a/"):
        with database.writing() as session:
            kept, is_new = store_pipeline(session, agent.project_id, spec(url))
            made.append((kept.version, is_new))
    assert made == [(1, True), (1, False), (2, True), (3, True)]
    with database.reading() as session:
        assert [kept.version for kept in list_pipelines(session, agent.project_id)] == [3, 2, 1]
        assert read_spec(find_stored(session, agent.project_id, "shop@2").spec) == spec("http://b/")
        assert find_stored(session, agent.project_id, "shop").version == 3


@pytest.mark.parametrize("name", ["shop@9", "shpo", "shop@x", "shop@0"])
def test_one_that_is_not_there_is_named_with_those_that_are(
    database: Database, agent: AgentModel, name: str
) -> None:
    with database.writing() as session:
        store_pipeline(session, agent.project_id, spec("http://a/"))
    with database.reading() as session, pytest.raises(UnknownPipelineError, match="known: shop"):
        find_stored(session, agent.project_id, name)


TRY = {"actor": "fetch", "failure_class": "empty", "message": "nothing", "action": "give_up"}

RESULT = {
    "pipeline": "shop",
    "item_key": "url",
    "items": [],
    "counts": {},
    "failures": {},
    "retried": [],
    "skipped": [],
    "failed_items": [
        {
            "step": "details/fetch",
            "item": item,
            "failure_class": "empty",
            "message": "nothing",
            "attempts": [
                {"actor": "fetch", "failure_class": "empty", "message": "nothing", "action": "give_up"}
            ],
            "is_letter": is_letter,
        }
        for item, is_letter in (("http://a/1", True), ("http://a/2", False))
    ],
}


def test_items_and_pages_are_kept_as_letters_once(database: Database, agent: AgentModel) -> None:
    with database.writing() as session:
        execution = create_execution(session, agent)
    with database.writing() as session:
        for number, is_letter in ((3, True), (4, False)):
            session.add(
                FrontierModel(
                    project_id=agent.project_id,
                    run=execution.id,
                    url_key=str(number),
                    url=f"http://a/{number}",
                    depth=0,
                    state=FrontierState.FAILED,
                    failure_class="http_404",
                    message="gone",
                    is_letter=is_letter,
                )
            )
    for _ in range(2):
        with database.writing() as session:
            assert store_dead_letters(session, execution, PipelineResult.model_validate(RESULT)) == 2
    with database.reading() as session:
        letters = list_dead_letters(session, agent.project_id, 10)
    assert sorted((letter.step, letter.item) for letter in letters) == [
        ("crawl", "http://a/3"),
        ("details/fetch", "http://a/1"),
    ]
    assert [letter.tries for letter in letters if letter.step != "crawl"] == [[TRY]]
    with database.writing() as session:
        assert drop_dead_letters(session, agent.project_id, execution.id) == 2
