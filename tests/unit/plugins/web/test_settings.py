"""What an agent of the platform can be told."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from agentic.core.hooks import get_registry
from agentic.core.pipeline import CrawlStep, SpecError, StoreRules
from agentic.plugins.web.settings import WebSettings, find_pipeline, packaged_names


def refusal(**config: object) -> str:
    with pytest.raises(ValidationError) as caught:
        WebSettings.model_validate(config)
    return str(caught.value)


@pytest.mark.parametrize("name", packaged_names())
def test_every_packaged_pipeline_can_be_run(name: str) -> None:
    needed = {"start_url": "http://a.example/", "model": "fake:words", "labels": {"lamp": "gives light"}}
    declared = find_pipeline(name, get_registry().actors).inputs
    inputs = {key: value for key, value in needed.items() if key in declared}
    settings = WebSettings.model_validate({"pipeline": name, "inputs": inputs})
    assert settings.spec.name == name
    assert settings.spec.description


def test_a_pipeline_may_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("steps: [{type: crawl, start: http://a.example/}]", encoding="utf-8")
    assert WebSettings(pipeline=str(path)).spec.name == "own"


def test_a_pipeline_may_stand_in_the_config_itself() -> None:
    spec = {"name": "inline", "steps": [{"type": "crawl", "start": "http://a.example/"}]}
    assert WebSettings.model_validate({"pipeline": spec}).spec.name == "inline"


def test_what_the_agent_says_of_manners_wins_over_the_pipeline() -> None:
    spec = {
        "http": {"obey_robots": False, "timeout_s": 5},
        "steps": [{"type": "crawl", "start": "http://a.example/"}],
    }
    policy = WebSettings.model_validate({"pipeline": spec, "http": {"timeout_s": 9}}).spec.http
    assert (policy.timeout_s, policy.obey_robots) == (9, False)


def test_what_the_agent_says_of_keeping_wins_over_the_crawl() -> None:
    crawl = {"type": "crawl", "start": "http://a.example/", "store": {"html": True, "text": True}}
    config = {"pipeline": {"steps": [crawl]}, "store": {"links": True, "html": False}}
    (step,) = WebSettings.model_validate(config).spec.steps
    assert isinstance(step, CrawlStep)
    assert step.store == StoreRules(links=True, text=True)


def test_there_is_nothing_to_keep_without_a_crawl() -> None:
    spec = {"steps": [{"actor": "fetch", "config": {"url": "http://a.example/"}}]}
    assert "store is for the pages of a crawl" in refusal(pipeline=spec, store={"links": True})


def test_an_agent_cannot_take_the_rows_of_pages_from_a_crawl_that_gives_nothing_else() -> None:
    spec = {"steps": [{"type": "crawl", "start": "http://a.example/"}]}
    assert "store: a crawl without page rows stores items only" in refusal(
        pipeline=spec, store={"pages": False}
    )


def test_a_pipeline_nobody_knows_is_named_with_those_there_are() -> None:
    assert "pipeline 'shop' is invalid: no pipeline has that name (known: docs, labels, site)" in refusal(
        pipeline="shop"
    )


def test_a_missing_input_is_named() -> None:
    assert "'start_url' is missing (home page of the site)" in refusal(pipeline="site")


def test_a_fault_in_a_file_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("steps:\n  - actor: extract_lisst\n", encoding="utf-8")
    with pytest.raises(
        SpecError, match=r"line 2 column 5: unknown actor 'extract_lisst'; did you mean 'extract_list'\?"
    ):
        find_pipeline(str(path), get_registry().actors)
