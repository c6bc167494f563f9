"""A site that is redesigned in mid-crawl, as users meet it: held pages, the question, the release."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.commands import invoke

from agentic.core.cli.main import build_app
from agentic.core.pipeline.drift.learning import wrapper_keys
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.wrappers import Kind, Locator, LocatorKind, Wrapper, decode
from agentic.fakes.redesign.orders import Redesign
from agentic.fakes.server import FakeServer

pytestmark = [pytest.mark.integration]

SPEC = """
http: {allow_private_hosts: ["127.0.0.1"]}
name: shop
steps:
  - type: crawl
    start: "URL/category/lamps"
    follow: {include: ["*/product/*"]}
    commit_pages: 4
    max_parallel: 2
    store: {pages: false}
    repair: never
    MORE
    detail:
      match: ["*/product/*"]
      config: {schema: {title: h1.title, price: {selector: .price, type: number}}}
"""
PRODUCTS = 50
REDESIGN = Redesign(path="/shop/product/*", changes=("hash_classes", "wrap"), after=12)


@pytest.fixture(scope="module")
def shop() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=PRODUCTS) as server:
        yield server


def agentic(*words: str) -> tuple[int, str]:
    """Return the exit code and the output of a command; each one begins with nothing in memory."""
    with capture_logs():
        result = invoke(build_app(), words)
    return result.exit_code, result.stdout or str(result.exception)


def told(*words: str) -> Any:
    return json.loads(agentic(*words, "--json")[1])


def written(shop: FakeServer, more: str = "") -> str:
    text = SPEC.replace("URL", shop.shop_url.rstrip("/")).replace("MORE", more)
    Path("p.yaml").write_text(text, encoding="utf-8")
    return "p.yaml"


@pytest.fixture(scope="module")
def healthy_file(shop: FakeServer, first_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database after a crawl of the whole shop as it was at first."""
    home = tmp_path_factory.mktemp("healthy")
    shutil.copy(first_file, home / "agentic.db")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTIC_HOME", str(home))
        patch.chdir(home)
        code, output = agentic("run", written(shop))
        assert code == 0, output
    return home / "agentic.db"


@pytest.fixture(autouse=True)
def _home(shop: FakeServer, healthy_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.control.reset()
    (tmp_path / "home").mkdir()
    shutil.copy(healthy_file, tmp_path / "home" / "agentic.db")
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


def prices() -> list[float | None]:
    with closing(sqlite3.connect(Path("home/agentic.db"))) as database:
        found = database.execute("SELECT data FROM items ORDER BY key").fetchall()
    return [json.loads(data)["price"] for (data,) in found]


def wrappers() -> dict[str, Wrapper]:
    with closing(sqlite3.connect(Path("home/agentic.db"))) as database:
        found = database.execute("SELECT wrapper FROM field_wrappers WHERE pipeline = 'shop'").fetchall()
        assert database.execute("SELECT 1 FROM crawls WHERE wrappers IS NOT NULL").fetchall() == []
    return {one.name: one for one in (decode(text.encode()) for (text,) in found)}


def started(
    shop: FakeServer, more: str = "", redesign: Redesign = REDESIGN
) -> tuple[int, str, dict[str, Any]]:
    """Crawl the shop while it is redesigned; return exit code, output and the execution."""
    shop.control.redesigns.add(redesign)
    code, output = agentic("run", written(shop, more))
    return code, output, told("executions", "list")[0]


def asked_for(shop: FakeServer) -> int:
    total = shop.control.stats()["total"]
    assert isinstance(total, int)
    return total


def test_a_redesigned_shop_is_held_shown_and_read_again_after_its_release(shop: FakeServer) -> None:
    healthy = prices()
    assert None not in healthy
    code, output, row = started(shop)
    assert (code, row["state"]) == (0, "waiting_input")
    assert asked_for(shop) < len(healthy) * 3 / 4
    (held,) = told("crawls", "held")
    assert held["held"] > 10
    assert held["held"] + held["done"] == held["known"]
    (incident,) = held["incidents"]
    assert incident["cause"] == "layout"
    assert {fault["field"] for fault in incident["faults"]} == {"title", "price"}
    assert prices() == healthy  # no row is lost or empty
    text = agentic("crawls", "held")[1]
    assert "*/product/*: the layout has changed" in text
    assert max(map(len, text.splitlines())) <= 80
    shop.control.redesigns.reset()
    assert "is running" in agentic("crawls", "release", row["short_id"])[1]
    assert agentic("executions", "retry", row["id"])[0] == 0
    assert told("executions", "list")[0]["status"] == "succeeded"
    assert prices() == healthy
    assert agentic("crawls", "held")[1] == "no crawl holds pages\n"
    code, output = agentic("crawls", "release", row["short_id"])
    assert code == 1
    assert "does not wait with held pages" in output


def test_a_layout_that_is_still_broken_is_held_again(shop: FakeServer) -> None:
    _, _, row = started(shop)
    agentic("crawls", "release", row["short_id"])
    agentic("executions", "retry", row["id"])
    assert [one["run_id"] for one in told("crawls", "held")] == [row["id"]]


def test_accepted_pages_are_read_as_they_are_and_healthy_from_then_on(shop: FakeServer) -> None:
    _, _, row = started(shop, redesign=REDESIGN.model_copy(update={"changes": ("change_tags",)}))
    agentic("crawls", "release", row["short_id"], "--accept")
    agentic("executions", "retry", row["id"])
    assert told("executions", "list")[0]["status"] == "succeeded"
    assert None not in prices()
    agentic("run", written(shop))
    assert told("executions", "list")[0]["status"] == "succeeded"


@pytest.mark.parametrize("more", ["on_drift: stop", "hold_seconds: 0.01"])
def test_a_crawl_stops_with_its_rows_by_policy_or_without_an_answer_in_time(
    shop: FakeServer, more: str
) -> None:
    healthy = prices()
    _, _, row = started(shop, more)
    if row["state"] == "waiting_input":
        agentic("reconcile")
        agentic("executions", "retry", row["id"])
        row = told("executions", "list")[0]
    assert row["status"] == "partial"
    assert "the layout has changed" in row["reason"]
    assert "not fetched" in row["reason"]
    assert prices() == healthy  # pages without any value empty no row


def test_a_repaired_pipeline_fetches_what_the_old_one_held_and_read_wrong(shop: FakeServer) -> None:
    healthy = prices()
    renamed = REDESIGN.model_copy(update={"changes": ("rename_classes",), "seed": 2})
    _, _, row = started(shop, "on_drift: stop", renamed)
    asked = asked_for(shop)
    text = Path("p.yaml").read_text(encoding="utf-8")
    repaired = text.replace("h1.title", ".v2-c__title").replace(".price", ".v2-c__price")
    Path("repaired.yaml").write_text(repaired, encoding="utf-8")
    assert agentic("agents", "edit", "shop", "--config", "pipeline=repaired.yaml")[0] == 0
    assert agentic("executions", "retry", row["id"], "--failed")[0] == 0
    assert told("executions", "list")[0]["status"] == "succeeded"
    assert prices() == healthy
    assert asked_for(shop) - asked < len(healthy)


def test_a_crawl_that_continues_reads_all_pages_and_is_partial(shop: FakeServer) -> None:
    code, _, row = started(shop, "on_drift: continue")
    assert (code, row["status"]) == (4, "partial")
    assert "price missing on" in row["reason"]
    assert not told("crawls", "held")


@pytest.mark.parametrize(
    ("change", "cause"),
    [("consent_wall", "consent"), ("login_wall", "login"), ("soft_404", "gone")],
)
def test_a_wall_is_held_as_what_it_is(shop: FakeServer, change: Any, cause: str) -> None:
    healthy = prices()
    started(shop, redesign=REDESIGN.model_copy(update={"changes": (change,)}))
    assert prices() == healthy  # a wall empties no row
    (held,) = told("crawls", "held")
    assert [(one["cause"], one["faults"]) for one in held["incidents"]] == [(cause, [])]


def test_a_rule_is_told_when_pages_are_held(shop: FakeServer) -> None:
    url = f"{shop.url}/sink/ops"
    assert agentic("notifications", "add", "ops", "--on", "held", "--webhook", url, "--private")[0] == 0
    _, _, row = started(shop)
    (sent,) = told("notifications", "deliveries")
    assert (sent["event"], sent["state"]) == ("held", "sent")
    (message,) = shop.control.sink.received("ops")
    assert "the layout has changed" in str(message)
    agentic("crawls", "release", row["short_id"])
    agentic("executions", "retry", row["id"])
    agentic("reconcile")  # the layout is still broken: the pages are held again
    assert len(shop.control.sink.received("ops")) == 2


def test_a_good_crawl_learns_how_its_fields_look_and_the_next_one_adds_to_it(shop: FakeServer) -> None:
    first = wrappers()
    assert first.keys() == {"title", "price"}
    assert first["price"].kind is Kind.NUMBER
    assert first["price"].locators == (Locator(LocatorKind.CSS, ".price"),)
    assert 1 <= first["price"].pages < PRODUCTS / 4
    assert set(first["price"].examples.values()) <= {str(price) for price in prices()}
    assert first["price"].fingerprint.names["price"] == 1.0
    agentic("run", written(shop))
    assert wrappers()["price"].pages == 2 * first["price"].pages


def test_fields_that_did_not_change_are_watched_and_known_from_the_first_run_of_a_changed_rule(
    shop: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.SPEC", SPEC.replace(".price", "article .price"))
    assert started(shop)[2]["state"] == "waiting_input"
    (incident,) = told("crawls", "held")[0]["incidents"]
    assert {fault["field"] for fault in incident["faults"]} == {"title"}
    with closing(sqlite3.connect(Path("home/agentic.db"))) as database:
        ((key, _),) = database.execute("SELECT key, 1 FROM field_wrappers WHERE wrapper LIKE '%h1.title%'")
    rule = DetailRules(match=("*/product/*",), config={"schema": {"title": "h1.title", "new": "p"}})
    assert wrapper_keys(rule)["title"] == key
