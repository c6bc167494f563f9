"""``agentic pipelines`` and ``agentic dead-letters``, and the queue of what needs a browser."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from tests.commands import invoke
from typer.testing import Result

from agentic.core.cli.main import build_app
from agentic.core.settings import load_settings
from agentic.executors.agents.factory import route_of
from agentic.executors.celery import make_app
from agentic.executors.workers.dispatch import agent_queue
from agentic.mappers import AgentModel

SHOP = "name: shop\nsteps: [{actor: fetch, config: {url: 'http://a/'}}]\n"
INTENT = "{name: offers, kind: page, url: 'http://a/', fields: {title: h1}}"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_file: Path) -> None:
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    shutil.copy(first_file, tmp_path / "home" / "agentic.db")
    monkeypatch.chdir(tmp_path)


def agentic(*words: str) -> Result:
    return invoke(build_app(), words)


def written(text: str, name: str = "shop.yaml") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_every_fault_is_told_with_line_and_column_as_json_too() -> None:
    result = agentic("pipelines", "validate", written("steps:\n  - actor: fetsh\n    confg: {}\n"), "--json")
    told = json.loads(result.output)
    assert result.exit_code == 1
    assert [(fault["place"], fault["line"], fault["column"]) for fault in told["faults"]] == [
        ("steps[0].actor", 2, 5),
        ("steps[0].confg", 3, 5),
    ]


def test_a_pipeline_is_drawn_and_printed() -> None:
    file = written(SHOP)
    assert agentic("pipelines", "show", file).output.startswith("flowchart TD")
    assert agentic("pipelines", "show", file, "--yaml").output.startswith("schema_version: 1\nname: shop")
    assert agentic("pipelines", "show", file, "--svg", "shop.svg").exit_code == 0
    assert Path("shop.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize("form", [("--yaml",), ()])
def test_the_rules_that_stand_where_it_has_none_are_told_as_comments(form: tuple[str, ...]) -> None:
    shown = agentic("pipelines", "show", written(SHOP), *form).output
    mark = "# " if form else "%% "
    told = "".join(line.removeprefix(mark) for line in shown.splitlines(keepends=True) if mark in line)
    rules = yaml.safe_load(told.partition(":\n")[2])
    assert rules["rate_limited"]["retry_count"] == 3
    assert {name: rules[name]["retry_count"] for name in ("connect", "http_5xx", "timeout")} == {
        "connect": 2,
        "http_5xx": 2,
        "timeout": 2,
    }
    if form:
        assert yaml.safe_load(shown)["steps"] == [{"actor": "fetch", "config": {"url": "http://a/"}}]


@pytest.mark.parametrize("form", ["--yaml", "--json"])
def test_what_is_a_secret_to_all_appearance_is_not_printed(form: str) -> None:
    text = """
        name: shop
        steps:
          - actor: fetch
            config:
              url: "http://me:hush-7d-zebra@a.example/"
              headers: {Authorization: "Bearer hush-8e-koala"}
    """
    shown = agentic("pipelines", "show", written(text), form).output
    assert "hush" not in shown
    assert "a.example" in shown


def test_versions_are_kept_and_listed_and_one_is_found_again() -> None:
    assert "shop@1 is stored" in agentic("pipelines", "add", written(SHOP)).output
    assert "shop@1 is stored already" in agentic("pipelines", "add", "shop.yaml").output
    assert "shop@2 is stored" in agentic("pipelines", "add", written(SHOP.replace("//a/", "//b/"))).output
    listed = json.loads(agentic("pipelines", "list", "--json").output)
    assert [(kept["name"], kept["version"]) for kept in listed] == [("shop", 2), ("shop", 1)]
    kept = json.loads(agentic("pipelines", "show", "shop@1", "--json").output)
    assert kept["steps"][0]["config"] == {"url": "http://a/"}


def test_a_file_may_name_a_pipeline_that_is_kept() -> None:
    agentic("pipelines", "add", written(SHOP))
    outer = written("steps: [{type: pipeline, pipeline: shop@1}]", "outer.yaml")
    shown = json.loads(agentic("pipelines", "show", outer, "--json").output)
    assert shown["steps"][0]["pipeline"]["name"] == "shop"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("shop@3", "pipeline 'shop@3' is not stored (known: shop@2, shop@1)"),
        ("shpo@1", "pipeline 'shpo@1' is not stored (known: shop)"),
        ("shpo@", "pipeline 'shpo' is not stored (known: shop)"),
        ("ada@home", "no agent 'ada@home'"),
    ],
)
def test_a_pipeline_that_is_not_kept_is_named_with_those_that_are(target: str, said: str) -> None:
    agentic("pipelines", "add", written(SHOP))
    agentic("pipelines", "add", written(SHOP.replace("//a/", "//b/")))
    assert said in str(agentic("run", target).exception)


def test_an_intent_becomes_a_pipeline_that_can_be_kept() -> None:
    built = agentic("pipelines", "build", written(INTENT, "intent.yaml"))
    assert "offers@1 is stored" in agentic("pipelines", "add", written(built.output, "offers.yaml")).output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["build", "none.yaml"], "none.yaml cannot be read"),
        (["build", "intent.yaml", "--builder", "ruls"], "unknown builder 'ruls'; did you mean 'rules'?"),
        (["actors", "fetsh"], "unknown actor 'fetsh'; did you mean 'fetch'?"),
    ],
)
def test_what_is_not_there_is_one_clear_error(words: list[str], said: str) -> None:
    written(INTENT, "intent.yaml")
    assert said in str(agentic("pipelines", *words).exception)


def test_actors_and_the_schema_are_told_as_json() -> None:
    actors = json.loads(agentic("pipelines", "actors", "--json").output)
    assert "InitialFetcher" in next(actor for actor in actors if actor["name"] == "fetch")["aliases"]
    assert json.loads(agentic("pipelines", "actors", "fetch").output)["input"]["type"] == "object"
    assert json.loads(agentic("pipelines", "schema").output)["title"] == "Pipeline"


def test_there_are_no_letters_in_a_new_project() -> None:
    agentic("pipelines", "add", written(SHOP))
    assert json.loads(agentic("dead-letters", "list", "--json").output) == []


def test_the_old_name_of_the_command_for_dead_letters_works_with_a_warning() -> None:
    agentic("pipelines", "add", written(SHOP))
    result = agentic("letters", "list", "--json")
    assert json.loads(result.stdout) == []
    assert result.stderr.startswith(
        "agentic: `agentic letters` is now `agentic dead-letters`; the old name works"
    )
    listed = re.findall(r"^\W+([a-z-]+) ", agentic("--help").output, re.MULTILINE)
    assert "dead-letters" in listed
    assert "letters" not in listed


@pytest.mark.parametrize(
    ("config", "queue"),
    [
        ({"mode": "http"}, "agentic.default"),
        ({}, "agentic.default"),
        ({"mode": "auto"}, "agentic.browser"),
        ({"use_playwright": True}, "agentic.browser"),
    ],
)
def test_what_needs_a_browser_has_a_queue_of_its_own(config: dict[str, object], queue: str) -> None:
    steps = [{"actor": "fetch", "config": {"url": "http://a/", **config}}]
    agent = AgentModel(agent_platform="web", config={"pipeline": {"name": "shop", "steps": steps}})
    assert agent_queue(make_app(load_settings()), route_of(agent)) == queue


FORM: dict[str, object] = {"strategy": "form", "login_url": "http://a/", "fields": {"user": "${secrets.U}"}}
IN_A_BROWSER = {"blocked": {"retry_with_actor": {"actor": "fetch", "config": {"mode": "browser"}}}}
FETCH: dict[str, object] = {"actor": "fetch", "config": {"url": "http://a/"}}


def login(**config: object) -> dict[str, object]:
    return {"actor": "authenticate", "config": {"platform": "shop", **config}}


@pytest.mark.parametrize(
    ("spec", "queue"),
    [
        ({"steps": [login(login=FORM)]}, "agentic.default"),
        ({"steps": [login()]}, "agentic.default"),
        ({"steps": [login(login={**FORM, "via": "browser"})]}, "agentic.browser"),
        ({"steps": [login(browser=True)]}, "agentic.browser"),
        ({"steps": [FETCH], "error_handling": {"blocked": {"retry_with_actor": "fetch"}}}, "agentic.default"),
        ({"steps": [FETCH], "error_handling": IN_A_BROWSER}, "agentic.browser"),
        ({"steps": [{**FETCH, "error_handling": IN_A_BROWSER}]}, "agentic.browser"),
        (
            {"steps": [{"type": "crawl", "start": "http://a/", "error_handling": IN_A_BROWSER}]},
            "agentic.browser",
        ),
        (
            {"steps": [{"type": "pipeline", "pipeline": {"steps": [FETCH], "error_handling": IN_A_BROWSER}}]},
            "agentic.browser",
        ),
        (
            {
                "steps": [
                    {
                        "type": "choose",
                        "when": "`true`",
                        "steps": [{**FETCH, "error_handling": IN_A_BROWSER}],
                    }
                ]
            },
            "agentic.browser",
        ),
    ],
)
def test_logins_and_fallbacks_in_a_browser_go_to_its_queue(spec: dict[str, object], queue: str) -> None:
    agent = AgentModel(agent_platform="web", config={"pipeline": {"name": "shop", **spec}})
    assert agent_queue(make_app(load_settings()), route_of(agent)) == queue
