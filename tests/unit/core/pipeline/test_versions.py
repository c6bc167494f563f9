"""What a run in the middle of a pipeline is held against before it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentic.core.actors import Actor

Compile = Callable[[str], Any]
MakeActor = Callable[..., Any]

ONE = "steps: [{actor: fetch, config: {url: u}}]"

NAMING = {
    "step": "steps: [{actor: special, config: {n: 1}}]",
    "alias": "steps: [{actor: Special, config: {n: 1}}]",
    "loop": "steps: [{type: loop, source: '`[1]`', item_as: n, collect: n, loop_steps: [{actor: special}]}]",
    "choice": (
        "steps: [{type: choose, when: '`1`', steps: [{actor: fetch, config: {url: u}}], "
        "otherwise: [{actor: special, config: {n: 1}}]}]"
    ),
    "pipeline": (
        "steps: [{type: pipeline, inputs: {}, pipeline: {steps: [{actor: special, config: {n: 1}}]}}]"
    ),
    "fallback of the pipeline": ONE + "\nerror_handling: {timeout: {retry_with_actor: special}}",
    "fallback of a step": (
        "steps: [{actor: plain, config: {n: 1}, error_handling: {timeout: {retry_with_actor: Special}}}]"
    ),
    "fallback in a loop": (
        "steps: [{type: loop, source: '`[1]`', item_as: n, collect: n, "
        "loop_steps: [{actor: plain, error_handling: {timeout: {retry_with_actor: special}}}]}]"
    ),
    "fallback of a pipeline within": (
        "steps: [{type: pipeline, inputs: {}, pipeline: {error_handling: {'*': {retry_with_actor: special}}, "
        "steps: [{actor: plain, config: {n: 1}}]}}]"
    ),
}

CRAWLING = {
    "fetch": "steps: [{type: crawl, start: http://u/}]",
    "extract_list": "steps: [{type: crawl, start: http://u/}]",
    "extract_detail": "steps: [{type: crawl, start: http://u/, detail: {match: ['*']}}]",
}


@pytest.fixture(autouse=True)
def numbers(make_actor: MakeActor) -> None:
    make_actor("plain", lambda n: n, gives="value")
    make_actor("special", lambda n: n, gives="value", aliases=["Special"])


def test_an_actor_that_a_pipeline_does_not_name_changes_nothing(
    compiled: Compile, make_actor: MakeActor, actors: dict[str, type[Actor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = compiled(ONE).version
    make_actor("unrelated", lambda n: n, gives="value")
    monkeypatch.setattr(actors["special"], "version", "2")
    assert compiled(ONE).version == before


@pytest.mark.parametrize("text", [ONE, NAMING["pipeline"], ONE + "\nhttp: {timeout_s: 31}"])
def test_what_a_process_sets_for_all_pipelines_changes_nothing(
    compiled: Compile, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    before = compiled(text).version
    monkeypatch.setenv("AGENTIC_USER_AGENT", "somebody-else/2.0")
    assert compiled(text).version == before


def test_what_a_pipeline_says_counts(compiled: Compile) -> None:
    said = [ONE, ONE + "\nhttp: {user_agent: me}", ONE + "\nhttp: {timeout_s: 31}", ONE.replace("u}", "v}")]
    assert len({compiled(text).version for text in said}) == len(said)
    assert compiled(ONE + "\ndescription: new words").version == compiled(ONE).version


@pytest.mark.parametrize("where", NAMING)
def test_another_version_of_an_actor_that_a_pipeline_names_counts(
    compiled: Compile, actors: dict[str, type[Actor]], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    before = compiled(NAMING[where]).version
    monkeypatch.setattr(actors["special"], "version", "2")
    assert compiled(NAMING[where]).version != before


@pytest.mark.parametrize("name", CRAWLING)
def test_another_version_of_an_actor_that_a_crawl_calls_counts(
    compiled: Compile, actors: dict[str, type[Actor]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = compiled(CRAWLING[name]).version
    monkeypatch.setattr(actors[name], "version", "2")
    assert compiled(CRAWLING[name]).version != before


def test_an_actor_is_the_same_under_another_name(compiled: Compile, make_actor: MakeActor) -> None:
    before = compiled(ONE).version
    make_actor("renamed", lambda n: n, gives="value", aliases=["fetch_too"])
    assert compiled(ONE).version == before
