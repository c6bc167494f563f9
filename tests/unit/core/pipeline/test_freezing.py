"""Specs made whole: pipelines they name, inputs they take for granted, and what is built of intents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import ValidationError

from agentic.core.actors import Actor
from agentic.core.hooks import get_registry
from agentic.core.pipeline import (
    ActorStep,
    IntentSpec,
    PipelineSpec,
    PipelineStep,
    RuleBuilder,
    SpecError,
    actor_schema,
    load_spec,
    parse_spec,
    spec_schema,
)
from agentic.core.pipeline.expressions.references import resolve
from agentic.core.types import JSONValue

Actors = Mapping[str, type[Actor]]

OUTER = "steps: [{type: pipeline, pipeline: NAME}]"
INNER = "name: inner\nsteps: [{actor: fetch, config: {url: 'http://a/'}}]"


def inner_of(spec: PipelineSpec) -> PipelineSpec:
    step = spec.steps[0]
    assert isinstance(step, PipelineStep)
    assert isinstance(step.pipeline, PipelineSpec)
    return step.pipeline


class TestNamedPipelines:
    def test_a_file_beside_the_spec_is_put_in(self, tmp_path: Path, actors: Actors) -> None:
        (tmp_path / "outer.yaml").write_text(OUTER.replace("NAME", "parts/inner.yaml"))
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts" / "inner.yaml").write_text(INNER)
        assert inner_of(load_spec(tmp_path / "outer.yaml", actors)).name == "inner"

    def test_a_file_that_is_a_part_of_itself_is_refused(self, tmp_path: Path, actors: Actors) -> None:
        (tmp_path / "a.yaml").write_text(OUTER.replace("NAME", "b.yaml"))
        (tmp_path / "b.yaml").write_text(OUTER.replace("NAME", "a.yaml"))
        with pytest.raises(SpecError, match="it contains itself"):
            load_spec(tmp_path / "a.yaml", actors)

    def test_a_name_is_looked_up_wherever_it_stands(self, actors: Actors) -> None:
        text = """
steps:
  - {actor: fetch, config: {url: "http://a/"}}
  - {actor: extract_list}
  - type: loop
    source: list_item_urls
    collect: items
    loop_steps: [{type: choose, when: url, steps: [{type: pipeline, pipeline: inner}]}]
"""
        asked: list[str] = []

        def find(name: str) -> PipelineSpec:
            asked.append(name)
            return parse_spec(INNER, actors)

        spec = parse_spec(text, actors, find=find)
        assert asked == ["inner"]
        assert "'name': 'inner'" in str(spec.model_dump())

    def test_faults_within_are_told_with_the_place_of_the_step(self, actors: Actors) -> None:
        text = "steps: [{type: pipeline, pipeline: {steps: [{actor: fetch, confg: 1}]}}]"
        with pytest.raises(SpecError) as caught:
            parse_spec(text, actors)
        assert str(caught.value.faults[0]).startswith(
            "steps[0].pipeline.steps[0].confg, line 1 column 60: unknown key 'confg'; did you mean 'config'?"
        )


class TestImpliedInputs:
    def test_what_the_first_step_lacks_is_an_input(self, actors: Actors) -> None:
        spec = parse_spec("steps: [{actor: fetch}, {actor: extract_list}]", actors)
        assert {name: declared.is_required for name, declared in spec.inputs.items()} == {"url": True}

    def test_a_spec_that_declares_its_inputs_has_no_others(self, actors: Actors) -> None:
        with pytest.raises(SpecError, match="actor 'fetch' needs 'url'"):
            parse_spec("inputs: {}\nsteps: [{actor: fetch}]", actors)

    def test_later_steps_imply_nothing(self, actors: Actors) -> None:
        with pytest.raises(SpecError, match="actor 'extract_detail' needs 'page'"):
            parse_spec("steps: [{actor: aggregate, config: {items: []}}, {actor: extract_detail}]", actors)


INTENTS: dict[str, dict[str, Any]] = {
    "page": {"fields": {"title": "h1"}},
    "list": {"items": ".card", "limit": 5},
    "search": {"items": ".card", "keywords": ["pm"], "login": "LinkedIn", "fallback": "fetch"},
    "site": {"fields": {"title": "h1"}, "details": ["*/item/*"], "requests_per_second": 2},
    "feed": {"limit": 3, "goal": "news"},
}


class TestIntents:
    @pytest.mark.requirement("SP01", "SP05", "SP06")
    @pytest.mark.parametrize("kind", INTENTS)
    async def test_every_intent_becomes_a_pipeline_without_a_model(self, kind: str) -> None:
        actors = get_registry().actors
        intent = IntentSpec.model_validate({"kind": kind, "url": "http://a/", **INTENTS[kind]})
        spec = await RuleBuilder(actors).build(intent)
        assert spec == await RuleBuilder(actors).build(intent)
        assert spec.steps
        assert parse_spec(spec.model_dump_json(by_alias=True), actors).steps == spec.steps

    def test_an_intent_that_says_too_little_is_refused(self) -> None:
        with pytest.raises(ValidationError, match="an intent of kind 'search' needs items and keywords"):
            IntentSpec(kind="search", url="http://a/")


ODD = "a`{}$'\"\\ é"
FILTERED: dict[str, Any] = {
    "url": "http://a/",
    "fields": {"price": {"selector": ".price", "type": "price"}, ODD: "h1"},
    "filters": [
        {"field": "price", "op": "<", "value": 500, "currency": "EUR"},
        {"field": ODD, "op": "!=", "value": ODD},
    ],
    "limit": 2,
}
CHEAP: JSONValue = {"price": {"amount": 499.5, "currency": "EUR"}, ODD: None}
OTHERS: list[JSONValue] = [
    {"price": {"amount": 500, "currency": "EUR"}, ODD: "x"},
    {"price": {"amount": 5, "currency": "USD"}, ODD: "x"},
    {"price": {"amount": 5, "currency": "EUR"}, ODD: ODD},
    {"price": None},
    None,
]


class TestFilters:
    @pytest.mark.parametrize("kind", ["list", "page"])
    async def test_only_items_that_meet_the_filters_are_kept(self, kind: str) -> None:
        intent = IntentSpec.model_validate({**FILTERED, "kind": kind, "items": ".card"})
        last = (await RuleBuilder(get_registry().actors).build(intent)).steps[-1]
        assert isinstance(last, ActorStep)
        assert last.config["limit"] == 2  # of those that meet them

        def kept(*items: JSONValue) -> JSONValue:
            values: Mapping[str, JSONValue] = {"items": list(items), "item": items[0]}
            return resolve(last.config["items"], lambda path: values[path[0]])

        assert kept(CHEAP) == [CHEAP]
        assert [kept(other) for other in OTHERS] == [[]] * len(OTHERS)

    @pytest.mark.parametrize(
        ("kind", "condition", "fault"),
        [
            ("page", {"field": "weight", "op": "<", "value": 5}, "'weight' is not a field"),
            ("page", {"field": "price", "op": "<", "value": "5"}, "< compares numbers; '5' is a text"),
            ("site", {"field": "price", "op": "<", "value": 5}, "kind 'site' has no filters"),
        ],
    )
    def test_filter_that_cannot_be_kept_is_refused(
        self, kind: str, condition: dict[str, object], fault: str
    ) -> None:
        with pytest.raises(ValidationError, match=fault):
            IntentSpec.model_validate({**FILTERED, "kind": kind, "filters": [condition]})


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = spec_schema(get_registry().actors)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


class TestSchema:
    @pytest.mark.parametrize(
        "text",
        [
            "steps: [{actor: InitialFetcher, config: {use_playwright: true}}]",
            "steps: [{actor: fetch, config: {url: x, timeout_s: '${inputs.t}'}}]",
            "steps: [{type: crawl, start: x, max_pages: '${inputs.n}', follow: {include: '${inputs.i}'}}]",
            "steps: [{actor: fetch}]\nerror_handling: {403_error: {then: skip}, http_5xx: {}, '*': {}}",
        ],
    )
    def test_it_takes_what_can_be_used(self, validator: jsonschema.Draft202012Validator, text: str) -> None:
        assert list(validator.iter_errors(yaml.safe_load(text))) == []

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("steps: [{actor: fetsh}]", ["steps", 0, "actor"]),
            ("steps: [{actor: fetch, config: {ulr: x}}]", ["steps", 0, "config"]),
            ("steps: [{type: lop}]", ["steps", 0]),
            (
                "steps: [{type: loop, source: x, loop_steps: [{actor: fetsh}]}]",
                ["steps", 0, "loop_steps", 0, "actor"],
            ),
            ("steps: [{actor: fetch}]\nerror_handling: {tiemout: {}}", ["error_handling"]),
        ],
    )
    def test_it_says_where_something_does_not_fit(
        self, validator: jsonschema.Draft202012Validator, text: str, place: list[object]
    ) -> None:
        errors = list(validator.iter_errors(yaml.safe_load(text)))
        assert place in [list(error.absolute_path) for error in errors]

    def test_packaged_pipelines_fit_it(self, validator: jsonschema.Draft202012Validator) -> None:
        folder = Path("plugins/agentic/plugins/web/pipelines")
        for path in folder.glob("*.yaml"):
            assert list(validator.iter_errors(yaml.safe_load(path.read_text(encoding="utf-8")))) == []

    def test_an_actor_is_told_with_its_input_and_output(self) -> None:
        schema: Any = actor_schema(get_registry().actors["fetch"])
        assert {"blocked", "browser_crashed", "dns", "http_4xx", "schema_invalid", "timeout"} <= {
            *schema["failure_classes"]
        }
        assert schema["input"]["properties"]["url"]["type"] == "string"
        assert "page" in schema["output"]["properties"]
