"""What somebody wants becomes a pipeline, which then runs: by the rules in the box, and by a stranger's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.integration.executors.shells import Shell

from agentic.core.hooks import get_registry
from agentic.core.pipeline.spec.intents import IntentKind
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

PRODUCT = {"title": {"selector": "h1", "required": True}, "price": {"selector": ".price", "type": "number"}}

INTENTS: dict[str, dict[str, Any]] = {
    "page": {"url": "shop/product/1", "fields": PRODUCT},
    "rows": {
        "url": "shop/category/lamps",
        "items": "ul.products li",
        "next": "a.next",
        "fields": {**PRODUCT, "title": "a.product"},
        "filters": [{"field": "price", "op": "<", "value": 900}],
        "limit": 3,
    },
    "list": {"url": "shop/category/lamps", "items": ".product", "fields": PRODUCT, "limit": 3},
    "search": {"url": "shop/", "items": ".product", "keywords": ["copper"], "fields": PRODUCT, "limit": 3},
    "site": {"url": "shop/", "details": ["/shop/product/*"], "fields": PRODUCT, "limit": 12},
    "feed": {"url": "feeds/rss.xml", "limit": 3},
}

BUILDER = """
import json

from agentic.core import hookimpl
from agentic.core.llm import FunctionModel
from agentic.core.pipeline import read_spec


class OnePageBuilder:
    def __init__(self, actors):
        self.actors = actors

    async def build(self, intent):
        steps = [
            {"actor": "fetch", "config": {"url": intent.url}},
            {"actor": "extract_detail", "config": {"schema": {"title": "h1"}}},
            {"actor": "aggregate", "config": {"items": ["${item}"]}},
        ]
        http = {"allow_private_hosts": list(intent.allow_private_hosts)}
        return read_spec({"name": intent.name, "http": http, "steps": steps}, self.actors)


@hookimpl
def agentic_builders():
    return {"one-page": OnePageBuilder}


def read(request):
    url = request.messages[-1].text.split()[-1]
    return json.dumps({"name": "read", "kind": "page", "url": url, "fields": {"title": "h1"}})


@hookimpl
def agentic_models():
    return {"one-page": lambda model: FunctionModel(read, name=f"one-page:{model}")}
"""


@pytest.fixture(scope="module")
def fakes() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=30) as server:
        yield server


@pytest.fixture
def items(shell: Shell, fakes: FakeServer, tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Build a pipeline from an intent, run it, and return the items it stored."""

    def items(*options: str, **intent: Any) -> list[dict[str, Any]]:
        wanted = {
            "name": "wanted",
            "browser": "never",
            "allow_private_hosts": ["127.0.0.1"],
            **intent,
            "url": f"{fakes.url}/{intent['url']}",
        }
        (tmp_path / "intent.yaml").write_text(json.dumps(wanted))
        built = tmp_path / "wanted.yaml"
        built.write_text(shell("pipelines", "build", str(tmp_path / "intent.yaml"), *options))
        shell("pipelines", "validate", str(built))
        told = shell.json("run", str(built))
        assert told["status"] == "succeeded"
        assert all("max_pages" in warning for warning in told["warnings"])  # the limit of the intent
        return [row["data"] for row in told["tables"]["items"]["rows"]]

    return items


def test_every_kind_of_intent_is_run() -> None:
    assert set(INTENTS) == set(get_args(IntentKind))


@pytest.mark.requirement("SP05")
@pytest.mark.parametrize("kind", INTENTS)
def test_what_the_rules_build_of_an_intent_runs(
    items: Callable[..., list[dict[str, Any]]], kind: str
) -> None:
    found = items(kind=kind, **INTENTS[kind])

    assert 0 < len(found) <= INTENTS[kind].get("limit", 1)
    assert all(item["title"] for item in found)
    if "fields" in INTENTS[kind]:
        assert all(item["price"] > 0 for item in found)


def test_an_article_needs_no_fields(items: Callable[..., list[dict[str, Any]]]) -> None:
    [found] = items(kind="page", url="shop/product/1")
    assert found["title"]


@pytest.fixture
def one_page_builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A plugin with a builder, as a stranger would install it."""
    info = tmp_path / "plugins" / "one_page-1.0.dist-info"
    info.mkdir(parents=True)
    (tmp_path / "plugins" / "one_page.py").write_text(BUILDER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: one-page\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[agentic]\none_page = one_page\n")
    monkeypatch.syspath_prepend(str(tmp_path / "plugins"))
    get_registry.cache_clear()
    yield
    get_registry.cache_clear()


@pytest.mark.usefixtures("one_page_builder")
def test_what_a_strangers_builder_makes_of_an_intent_runs(
    items: Callable[..., list[dict[str, Any]]],
) -> None:
    [found] = items("--builder", "one-page", kind="page", url="shop/product/1")
    assert set(found) - {"url"} == {"title"}


@pytest.mark.requirement("SP04")
@pytest.mark.usefixtures("one_page_builder")
def test_the_words_of_a_person_become_a_pipeline_by_a_model(
    shell: Shell, items: Callable[..., list[dict[str, Any]]], fakes: FakeServer
) -> None:
    words = f"The title of the page {fakes.url}/shop/product/1"
    intent = shell.json("pipelines", "intent", words, "--model", "one-page:any")
    assert intent["goal"] == words
    assert "kind: page" in shell("pipelines", "intent", words, "--model", "one-page:any")
    [found] = items(**{**intent, "url": "shop/product/1"})
    assert found["title"]
    failure = shell.fails("pipelines", "intent", "the title of nowhere", "--model", "one-page:any")
    assert "the words do not name the site" in str(failure)
