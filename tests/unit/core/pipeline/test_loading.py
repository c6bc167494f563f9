"""From text to spec, and what is said when that cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from agentic.core.actors import Actor, PipelineError
from agentic.core.errors import DuplicateNameError
from agentic.core.hooks import Offers, get_registry
from agentic.core.pipeline import (
    PipelineSpec,
    SpecError,
    load_spec,
    outline,
    parse_spec,
    read_spec,
    spec_schema,
)
from agentic.core.pipeline.spec.spec import CrawlStep

Actors = dict[str, type[Actor]]

SPEC = """
name: shop
inputs: {start: {default: "http://a/"}}
steps:
  - {actor: fetch, config: {url: "${inputs.start}"}}
  - {actor: extract_list}
  - type: loop
    source: list_item_urls
    loop_steps: [{actor: fetch}, {actor: extract_detail}]
"""


def faults(text: str, actors: Actors | None = None) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse_spec(text, actors, source="shop.yaml")
    assert str(caught.value).startswith("pipeline shop.yaml is invalid: ")
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("steps:\n  - crawl:\n    start: http://a/", "unknown key 'crawl'; write it as `type: crawl`"),
        ("max_pages: 5\nsteps: []", "unknown key 'max_pages'; it belongs in a step with `type: crawl`"),
        ("limits: {max_pages: 5}\nsteps: []", "'max_pages'; it belongs in a step with `type: crawl`"),
        (
            "obey_robots: false\nsteps: []",
            "'obey_robots'; it belongs under http: {obey_robots: ...} at the top of the pipeline",
        ),
        (
            "steps: [{type: crawl, start: http://a/, requests_per_second: 2}]",
            "it belongs under http: {requests_per_second: ...} at the top",
        ),
        ("http: {max_failed: 2}\nsteps: []", "it belongs under limits: {max_failed: ...} at the top"),
        ("inputs: {ids: {default: [1]}}\nsteps: []", "the default is not a string; add type: list"),
        ("inputs: {all: {default: yes}}\nsteps: []", "the default is not a string; add type: boolean"),
        ("name: 商品\nsteps: []", "set `name` to a word of A-Z, a-z, 0-9, '_', '.' and '-'; it is '商品'"),
        ("steps:\n\t- actor: fetch", "cannot start any token"),
        ("steps:\n\t- actor: fetch", "; indent with spaces instead of tabs"),
    ],
)
def test_what_belongs_elsewhere_is_named_with_its_place(text: str, said: str) -> None:
    assert any(said in fault for fault in faults(text))


@pytest.mark.parametrize("given", ["shop.example/a", ["http://a/", "shop.example/a"]])
def test_an_address_that_no_request_can_have_is_found_before_the_run(given: object) -> None:
    config = json.dumps({"url": given})
    [fault] = faults(f"steps: [{{actor: download, config: {config}}}]", dict(get_registry().actors))
    assert "'shop.example/a': it has no scheme; give an absolute http:// or https:// URL" in fault


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (
            "{pric: {selector: .price, typ: number}}",
            "schema.pric.typ, line 2 column 76: unknown key 'typ'; did ",
        ),
        ("{price: {type: numbr}}", "'numbr' is not a known value; did you mean 'number'? (known: boolean, "),
        (
            "{of: {selector: li, fields: {a: {slector: b}}}}",
            "unknown key 'slector'; did you mean 'selector'?",
        ),
        ("{a: {selector: 'h1['}}", "schema.a.selector, line 2 column 55: 'h1[' is not a CSS selector"),
    ],
)
def test_a_misspelt_option_of_a_field_is_named_with_its_place(schema: str, said: str) -> None:
    text = f"name: shop\nsteps: [{{actor: extract_detail, config: {{schema: {schema}}}}}]"
    assert any(said in fault for fault in faults(text, dict(get_registry().actors)))


@pytest.mark.requirement("SP07")
def test_a_spec_survives_being_stored_as_json(actors: Actors) -> None:
    spec = parse_spec(SPEC, actors)
    assert read_spec(json.loads(spec.model_dump_json()), actors) == spec


def test_json_is_read_like_yaml(actors: Actors) -> None:
    spec = parse_spec(SPEC, actors)
    assert parse_spec(spec.model_dump_json(indent=2), actors) == spec


def test_a_spec_without_a_name_is_named_after_its_file(tmp_path: Path) -> None:
    path = tmp_path / "daily.yaml"
    path.write_text("steps: [{actor: fetch}]", encoding="utf-8")
    assert load_spec(path).name == "daily"


def test_a_spec_has_a_json_schema_for_editors() -> None:
    schema = PipelineSpec.model_json_schema()
    assert {"ActorStep", "LoopStep", "CrawlStep", "ErrorRule"} <= set(schema["$defs"])


def test_every_fault_is_listed_with_its_place_and_line(actors: Actors) -> None:
    text = """
name: shop
stepz: []
steps:
  - actor: fetsh
  - actor: fetch
    confg: {url: x}
  - type: lop
    source: x
error_handling:
  timeout: {retry: 2}
"""
    told = [fault.partition(" (")[0] for fault in faults(text, actors)]
    assert told == [
        "stepz, line 3 column 1: unknown key 'stepz'; did you mean 'steps'?",
        "steps[0].actor, line 5 column 5: unknown actor 'fetsh'; did you mean 'fetch'?",
        "steps[1].confg, line 7 column 5: unknown key 'confg'; did you mean 'config'?",
        "steps[2], line 8 column 5: unknown step type 'lop'; did you mean 'loop'?",
        "error_handling.timeout.retry, line 11 column 13: unknown key 'retry'; did you mean 'retry_count'?",
    ]


def test_an_actor_that_two_plugins_claim_is_a_fault_where_it_is_named(actors: Actors) -> None:
    clash = DuplicateNameError("actor", "fetch", "agentic-plugin-a 1.0 (a)", "agentic-plugin-b 2.0 (b)")
    contested = Offers(actors, {"fetch": clash})
    text = """
name: shop
error_handling:
  timeout: {retry_with_actor: fetch}
steps:
  - actor: fetch
"""
    with pytest.raises(SpecError) as caught:
        parse_spec(text, contested)
    told = [str(fault).partition(" (")[0] for fault in caught.value.faults]
    said = "the actor 'fetch' is claimed by two plugins, agentic-plugin-a 1.0"
    assert told == [
        f"error_handling.timeout.retry_with_actor, line 4 column 13: {said}",
        f"steps[0].actor, line 6 column 5: {said}",
    ]


def test_one_fault_makes_one_sentence(actors: Actors) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec("steps: [{actor: fetch, config: {url: x}}, {actor: fetsh}]", actors, source="shop.yaml")
    assert str(caught.value) == (
        "pipeline shop.yaml is invalid: steps[1].actor, line 1 column 44: unknown actor 'fetsh'; did "
        "you mean 'fetch'? (known: aggregate, extract_detail, extract_list, fetch)"
    )


def test_a_loop_over_nothing_names_what_there_is(actors: Actors) -> None:
    [fault] = faults(SPEC.replace("source: list_item_urls", "source: list_item_url"), actors)
    assert fault == (
        "steps[2].source, line 8 column 5: no earlier step provides 'list_item_url'; did you mean "
        "'list_item_urls'? (known: extract_list, fetch, inputs, list_item_urls, next_url, page, start, title)"
    )


def test_a_misspelt_key_of_an_actors_config_is_found(actors: Actors) -> None:
    text = (
        "steps: [{actor: fetch, config: {url: http://a/}}, {actor: extract_list, config: {item_selektor: a}}]"
    )
    [fault] = faults(text, actors)
    assert "steps[1].config.item_selektor" in fault
    assert "did you mean 'item_selector'?" in fault


def test_a_value_an_actor_cannot_take_is_found(actors: Actors) -> None:
    [fault] = faults("steps: [{actor: fetch, config: {url: [http://a/]}}]", actors)
    assert fault == "steps[0].config.url, line 1 column 33: it should be a text"


def test_an_input_nothing_gives_is_found(actors: Actors) -> None:
    [fault] = faults("steps: [{actor: extract_list}]", actors)
    assert fault == (
        "steps[0].config, line 1 column 9: actor 'extract_list' needs 'page', but no earlier step "
        "provides it; set it here"
    )


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (
            "${inputs.strat}",
            "${inputs.strat}: 'inputs' does not provide 'strat'; did you mean 'start'? (known: start)",
        ),
        ("${later.page}", "no earlier step provides 'later'"),
        ("${1 + 1}", "is neither a dotted path nor a JMESPath expression"),
        ("${inputs.start", "has a '${' without '}'"),
    ],
)
def test_a_dangling_or_clever_reference_is_found(actors: Actors, config: str, reason: str) -> None:
    text = f"""
inputs: {{start: {{default: x}}}}
steps:
  - actor: fetch
    config: {{url: "{config}"}}
  - {{actor: fetch, id: later, config: {{url: x}}}}
"""
    [fault] = faults(text, actors)
    assert fault.startswith("steps[0].config.url, line 5 column 14: ")
    assert reason in fault


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("timeuot: {}", "unknown failure class 'timeuot'; did you mean 'timeout'?"),
        ("timeout: {retry_with_actor: fetsh}", "unknown actor 'fetsh'; did you mean 'fetch'?"),
        ("timeout: {retrycount: 1}", "unknown key 'retrycount'; did you mean 'retry_count'?"),
        ("timeout: {then: stop}", "'stop' is not a known value (known: dead_letter, fail, skip)"),
        (
            "timeout: {retry_with_actor: {actor: fetch, confg: {}}}",
            "timeout.retry_with_actor.confg, line 1 column 61: unknown key 'confg'; did you mean 'config'?",
        ),
        (
            "timeout: {retry_with_actor: {actor: fetch, config: {mod: 1}}}",
            "timeout.retry_with_actor.config.mod, line 1 column 70: unknown key 'mod'",
        ),
        (
            "timeout: {retry_with_actor: {actor: fetch, config: {url: '${x}'}}}",
            "the config of a fallback takes plain values only",
        ),
    ],
)
def test_a_bad_rule_is_found(actors: Actors, rule: str, reason: str) -> None:
    text = f"error_handling: {{{rule}}}\nsteps: [{{actor: fetch, config: {{url: x}}}}]"
    [fault] = faults(text, actors)
    assert reason in fault


def test_a_fallback_that_cannot_stand_in_is_found(actors: Actors) -> None:
    text = """
steps:
  - actor: fetch
    config: {url: x}
    error_handling: {timeout: {retry_with_actor: aggregate}}
"""
    [fault] = faults(text, actors)
    assert fault.startswith("steps[0].error_handling.timeout.retry_with_actor, line 5 column 32: ")
    assert fault.endswith("'aggregate' cannot be a fallback here: the step returns page")


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("[{type: crawl, start: http://x/}, {type: crawl, start: http://x/}]", "only one crawl step"),
        (
            "[{actor: fetch, id: a, config: {url: x}}, {actor: fetch, id: a, config: {url: x}}]",
            "two steps have the name 'a'",
        ),
        ("[{actor: fetch, id: inputs, config: {url: x}}]", "'inputs' is reserved"),
        (
            "[{type: crawl, start: http://x/, links: {actor: fetch}}]",
            "returns list_item_urls; 'fetch' does not",
        ),
        ("[{type: crawl, start: http://x/, max_pages: 0}]", "Input should be greater than 0"),
        (
            "[{type: crawl, start: shop.example}]",
            "'shop.example': it has no scheme; give an absolute http://",
        ),
        (
            "[{type: crawl, start: ['http://a/', 'htp:/b']}]",
            "'htp:/b': its scheme is 'htp'; give an absolute",
        ),
        ("[{type: crawl, start: '${inputs.x}'}]", "'inputs' does not provide 'x'"),
        ("[]", "should have at least 1 item"),
        ("[fetch]", "a step is a mapping with 'actor' or 'type', not 'fetch'"),
    ],
)
def test_a_bad_step_is_found(actors: Actors, steps: str, reason: str) -> None:
    assert any(reason in fault for fault in faults(f"steps: {steps}", actors))


def test_a_crawl_within_a_loop_is_refused(actors: Actors) -> None:
    text = SPEC.replace("loop_steps: [", "loop_steps: [{type: crawl, start: http://x/}, ")
    assert any("a crawl cannot be in a loop" in fault for fault in faults(text, actors))


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("proxy: 'http://me:hunter2@p.example:1'", "http.proxy"),
        ("proxies: 'http://me:hunter2@p.example:1'", "http.proxies"),
        ("proxies: ['${secrets.EU}', 'http://me:hunter2@p.example:1']", "http.proxies"),
    ],
)
def test_a_proxy_in_a_pipeline_is_a_secret(given: str, place: str, actors: Actors) -> None:
    [fault] = faults(f"http: {{{given}}}\n{SPEC}", actors)
    assert place in fault
    assert "refer to it here as ${secrets.NAME}" in fault
    assert "hunter2" not in fault
    spec = parse_spec(f"http: {{proxies: '${{secrets.EU}}', rotation: random}}\n{SPEC}", actors)
    assert [proxy.get_secret_value() for proxy in spec.http.proxies] == ["${secrets.EU}"]


def test_a_default_of_another_type_is_refused() -> None:
    [fault] = faults("inputs: {n: {type: integer, default: many}}\nsteps: [{actor: fetch}]")
    assert "inputs.n, line 1 column 10: the default is not a valid integer" in fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is empty; a pipeline needs at least 'steps'"),
        ("# nothing\n", "it holds only comments; a pipeline needs at least 'steps'"),
        ("- a\n", "it is a list; a pipeline is a mapping with 'steps'"),
        (
            "steps:\n  - {actor: fetch\n",
            "line 3 column 1: it is not valid YAML: expected ',' or '}'",
        ),
        ("steps: []\nsteps: []\n", "steps, line 2 column 1: duplicate key; keep one"),
        ("name: shop", "steps: 'steps' is missing"),
        ("steps: !!python/object:os.system {}", "line 1 column 8: it is not valid YAML: could not determine"),
        (
            "schema_version: 2\nsteps: [{actor: fetch}]",
            "schema_version, line 1 column 1: Input should be 1 (it is 2)",
        ),
    ],
)
def test_a_text_that_is_no_spec_is_refused(text: str, fault: str) -> None:
    assert faults(text)[0].startswith(fault) or fault in faults(text)[0]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    with pytest.raises(SpecError, match="No such file") as caught:
        load_spec(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not UTF-8"):
        load_spec(path)


def test_a_spec_with_references_for_numbers_is_written_as_it_was_read(actors: Actors) -> None:
    text = "inputs: {n: {type: integer}}\nsteps: [{type: crawl, start: http://x/, max_pages: '${inputs.n}'}]"
    spec = parse_spec(text, actors)
    stored = spec.model_dump(mode="json", exclude_unset=True)
    assert stored["steps"] == [{"type": "crawl", "start": "http://x/", "max_pages": "${inputs.n}"}]
    assert read_spec(stored, actors) == spec


@pytest.mark.parametrize("fallback", ["fetch", {"actor": "fetch", "config": {"url": "http://b/"}}])
def test_a_fallback_is_written_as_it_was_read(actors: Actors, fallback: object) -> None:
    rules = {"timeout": {"retry_with_actor": fallback}}
    spec = read_spec({"steps": [{"actor": "fetch", "config": {"url": "x"}}], "error_handling": rules}, actors)
    stored = spec.model_dump(mode="json", exclude_unset=True)
    assert stored["error_handling"] == rules
    assert read_spec(stored, actors) == spec
    jsonschema.validate(stored, spec_schema(actors))


async def test_an_outline_can_be_drawn_and_not_be_run(actors: Actors) -> None:
    workflow = outline(parse_spec("steps: [{type: crawl, id: pages, start: 'http://a/'}]", actors), actors)
    assert "pages" in workflow.to_mermaid()
    with pytest.raises(PipelineError, match="this is an outline of pipeline 'pipeline'"):
        await workflow.run({})


def places(text: str, actors: Actors) -> list[str]:
    return [fault.partition(",")[0] for fault in faults(text, actors)]


HOME = "steps: [{actor: fetch, ID, config: {url: x}}, {actor: fetch, config: {url: '${home.page.url}'}}]"

INNER = """
steps:
  - type: pipeline
    inputs: {}
    pipeline: {inputs: {x: {}}, setps: 1, steps: [{actor: fetch, config: {url: '${y}'}}]}
"""


class TestFaultsOfBothKinds:
    def test_what_is_wrong_in_shape_hides_nothing_else(self, actors: Actors) -> None:
        text = """
inputs: {start: {default: "http://a/"}, n: {type: integer, default: many}}
stepz: []
steps:
  - {actor: fetch, config: {url: "${inputs.strat}"}, timeout_s: soon}
  - {actor: extract_list, config: {item_selektor: a}}
  - type: loop
    source: list_item_url
    max_items: -1
    loop_steps:
      - {actor: fetch, error_handling: {timeuot: {}, timeout: {retry_with_actor: fetsh, retries: 2}}}
      - {actor: extract_detail, config: {page: "${none}"}, wehn: "x"}
  - {type: lop, source: x}
  - {actor: fetch, config: {url: "${inputs.end}"}}
"""
        assert places(text, actors) == [
            "inputs.n",
            "stepz",
            "steps[0].config.url",
            "steps[0].timeout_s",
            "steps[1].config.item_selektor",
            "steps[2].source",
            "steps[2].max_items",
            "steps[2].loop_steps[0].error_handling.timeuot",
            "steps[2].loop_steps[0].error_handling.timeout.retry_with_actor",
            "steps[2].loop_steps[0].error_handling.timeout.retries",
            "steps[2].loop_steps[1].config.page",
            "steps[2].loop_steps[1].wehn",
            "steps[3]",
            "steps[4].config.url",
        ]

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("steps: [{actor: fetch, confg: {url: x}}]", ["steps[0].confg"]),
            ("steps: [{actor: fetsh}, {actor: extract_list}]", ["steps[0].actor"]),
            ("steps: [{type: lop}, {type: loop, source: x, loop_steps: [{actor: fetch}]}]", ["steps[0]"]),
            (
                HOME.replace("ID", "ide: home"),
                ["steps[0].ide"],
            ),
            (
                HOME.replace("ID", "id: 1home"),
                ["steps[0].id", "steps[1].config.url"],
            ),
            ("inputs: [x]\nsteps: [{actor: fetch, config: {url: '${inputs.x}'}}]", ["inputs"]),
            ("steps: [{type: loop, collect: page, loop_steps: [{actor: fetch}]}]", ["steps[0].source"]),
            ("steps: {actor: fetch}", ["steps"]),
            (
                "steps: [{type: crawl, start: http://x/, detial: {match: ['*']}, store: {pages: false}}]",
                ["steps[0].detial"],
            ),
            (
                INNER,
                [
                    "steps[0].inputs",
                    "steps[0].pipeline.setps",
                    "steps[0].pipeline.steps[0].config.url",
                ],
            ),
            (
                "limits: {max_failed: few}\nsteps: [{actor: fetch}, {actor: fetch, id: fetch}]",
                ["limits.max_failed"],
            ),
        ],
    )
    def test_nothing_is_told_that_only_follows_from_something_else(
        self, actors: Actors, text: str, told: list[str]
    ) -> None:
        assert places(text, actors) == told

    def test_a_mess_is_refused_all_the_same(self, actors: Actors) -> None:
        assert faults("steps: [[[1]], {}, null]\nlimits: 3\nhttp: []\nerror_handling: [1]", actors)

    def test_a_faulty_pipeline_that_is_named_hides_none(self, actors: Actors, tmp_path: Path) -> None:
        (tmp_path / "inner.yaml").write_text("steps: 1")
        path = tmp_path / "outer.yaml"
        path.write_text("steps: [{type: pipeline, pipeline: inner.yaml, wehn: x}]")
        with pytest.raises(SpecError, match="wehn"):
            load_spec(path, actors)


def test_who_takes_a_kind_of_step_for_an_actor_is_told_how_to_write_it(actors: Actors) -> None:
    with pytest.raises(SpecError, match="write `type: crawl` instead of `actor: crawl`"):
        parse_spec("steps:\n  - {actor: crawl, config: {start: 'http://a/'}}", actors)


CRAWLED = "steps: [{type: crawl, start: 'http://a.example/', %s}]"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            CRAWLED % "detail: {match: '*', schema: {a: b}}",
            "unknown key 'schema' .*; options of the actor belong under config: {schema: ...}",
        ),
        (CRAWLED % "detail: {match: '*', confg: {}}", "unknown key 'confg'; did you mean 'config'"),
        (CRAWLED % "detail: {match: {a: b}}", r"detail\.match, .* it should be a list \(it is"),
        ("steps: {actor: fetch}", r"steps, .* it should be a list \(it is"),
        ("steps: [{actor: fetch, config: x}]", r"config, .* it should be a mapping \(it is 'x'\)"),
    ],
)
def test_a_fault_is_told_in_the_words_of_the_file(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        parse_spec(text, get_registry().actors)


def test_an_actor_that_always_returns_items_needs_no_fields() -> None:
    actors = get_registry().actors
    assert parse_spec(CRAWLED % "detail: {match: '*', actor: json, config: {items: data}}", actors).steps
    with pytest.raises(SpecError, match="set 'fields', so that 'extract_list' returns items"):
        parse_spec(CRAWLED % "detail: {match: '*', actor: extract_list, config: {item_selector: a}}", actors)


def test_one_pattern_needs_no_list() -> None:
    one = parse_spec(CRAWLED % "follow: {include: '/a/*'}, detail: {match: '*', config: {schema: {a: b}}}")
    step = one.steps[0]
    assert isinstance(step, CrawlStep)
    assert (step.follow.include, step.details[0].match) == (("/a/*",), ("*",))
