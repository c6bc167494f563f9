"""Outcomes of executions as users meet them: statuses, exit codes, reasons, counts, next commands."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.commands import invoke

from agentic.core.cli.main import build_app
from agentic.core.types import JSONValue
from agentic.executors.commands.run import command
from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer

pytestmark = [pytest.mark.integration]

HEAD = 'http: {allow_private_hosts: ["127.0.0.1"]}\n'
CRAWL = """
steps:
  - type: crawl
    start: "URL/category/lamps"
    max_pages: 8
    follow: {include: ["*/product/*"]}
    detail: {match: ["*/product/*"], config: {schema: {title: h1.title}}}
"""
LIST = """
steps:
  - {actor: fetch, config: {url: "URL/category/lamps"}}
  - {actor: extract_list, config: {item_selector: "SELECTOR"}}
  - type: loop
    source: list_item_urls
    max_items: 3
    loop_steps:
      - {actor: fetch, config: {url: "${url}"}}
      - {actor: extract_detail, config: {schema: {title: {selector: "TITLE", required: true}}}}
"""
ONE = """
steps:
  - {actor: fetch, config: {url: "URL/product/1"}}
  - {actor: extract_detail, config: {schema: {title: "TITLE"}}}
"""
PAGE = 'steps: [{actor: fetch, config: {url: "URL/product/1"}}]'
NO_KEY = """
steps:
  - {actor: fetch, config: {url: "URL/category/lamps"}}
  - {actor: extract_list, config: {item_selector: body, link_selector: "a.none", fields: {name: a}}}
"""


@pytest.fixture
def site() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=30) as server:
        yield server


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_file: Path) -> None:
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    shutil.copy(first_file, tmp_path / "home" / "agentic.db")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


class Ran:
    """A command that has ended."""

    def __init__(self, *words: str) -> None:
        with capture_logs():
            result = invoke(build_app(), words)
        self.stdout, self.stderr = result.stdout, result.stderr
        self.error = str(result.exception) if result.exception else ""
        self.code = 1 if self.error and not self.error.isdigit() else result.exit_code


def written(site: FakeServer, text: str, **words: str) -> str:
    for name, word in {"URL": site.shop_url.rstrip("/"), **words}.items():
        text = text.replace(name, word)
    Path("p.yaml").write_text(HEAD + text, encoding="utf-8")
    return "p.yaml"


def requested(site: FakeServer) -> dict[str, JSONValue]:
    """Return how often each path was asked for."""
    found = site.control.stats()["requests"]
    assert isinstance(found, dict)
    return dict(found)


def told(*words: str) -> Any:
    return json.loads(Ran(*words, "--json").stdout)


def newest() -> dict[str, Any]:
    found: dict[str, Any] = told("executions", "list")[0]
    return found


def test_a_single_item_is_stored_and_shown_a_field_a_column(site: FakeServer) -> None:
    ran = Ran("run", written(site, ONE, TITLE="h1.title"))
    assert (ran.code, newest()["status"], newest()["inserted"]) == (0, "succeeded", 1)
    heading = next(line for line in ran.stdout.splitlines() if "title" in line)
    assert heading.split() == ["title", "url"]


def test_a_field_without_a_value_in_any_row_is_named_below_them(site: FakeServer) -> None:
    text = ONE.replace('"TITLE"', "h1.title, color: h7, brand: h8")
    ran = Ran("run", written(site, text))
    assert (ran.code, ran.stdout.count("  empty in all rows above: color, brand\n")) == (0, 1)


def test_resuming_without_an_unfinished_execution_says_that_it_starts_over(site: FakeServer) -> None:
    told = [Ran("run", written(site, ONE, TITLE="h1"), "--resume", "--json") for _ in range(2)]
    assert [json.loads(ran.stdout)["status"] for ran in told] == ["succeeded", "succeeded"]
    assert all("nothing to continue: agent p has no unfinished execution" in ran.stderr for ran in told)


def test_an_interruption_before_the_run_begins_is_one_line(
    site: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "ready_database", interrupted)
    ran = Ran("run", written(site, ONE, TITLE="h1"))
    assert (ran.stderr, ran.stdout) == ("stopped: nothing had started\n", "")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("p", "no agent is called 'p'; did you mean the file 'p.yaml'?"),
        ("p.yml", "No such file or directory; did you mean 'p.yaml'?"),
        ("other.yaml", "No such file or directory; check the path"),
        ("nowhere/p.yaml", "No such file or directory; check the path"),
        (
            "https://ada:pw@a.example/p?key=x",
            "https://a.example/p is a page, not a pipeline; look at it with `agentic pipelines try URL`",
        ),
    ],
)
def test_a_target_that_is_nearly_a_file_names_the_file(target: str, said: str) -> None:
    Path("p.yaml").write_text("steps: []", encoding="utf-8")
    ran = Ran("run", target)
    assert (ran.code, said in ran.error) == (1, True)


@pytest.mark.parametrize(
    ("text", "words", "reason"),
    [
        (
            LIST,
            {"SELECTOR": "div.none", "TITLE": "h1"},
            "step 2 extract_list: 'div.none' matches nothing on ",
        ),
        (LIST, {"SELECTOR": "a", "TITLE": "h7"}, "all 3 items failed: selector_missing 3"),
        (ONE, {"TITLE": "h7"}, "step 2 extract_detail: no selector of its fields (title) matches anything"),
        (CRAWL, {"h1.title": "{selector: h7, required: true}"}, "the crawl extracted no items: 7 of 8 pages"),
        (CRAWL, {'*/product/*"], config': '*/none/*"], config'}, "`detail` fits none of its 8 pages"),
        (NO_KEY, {}, "set item_key to one of: name"),
    ],
)
def test_a_run_that_gave_nothing_has_failed_and_says_why(
    site: FakeServer, text: str, words: dict[str, str], reason: str
) -> None:
    ran = Ran("run", written(site, text, **words))
    row = newest()
    assert (ran.code, row["status"]) == (1, "failed")
    assert reason in ran.error
    assert reason in row["reason"]
    assert Ran("executions", "show", row["id"]).stdout.count(row["reason"]) == 1


def test_a_run_that_can_store_nothing_is_partial_unless_that_is_meant(site: FakeServer) -> None:
    assert Ran("run", written(site, PAGE)).code == 4
    assert newest()["status"] == "partial"
    assert Ran("run", written(site, f"limits: {{min_items: 0}}\n{PAGE}")).code == 0


def test_lost_pages_make_a_crawl_partial_and_are_fetched_again_on_demand(site: FakeServer) -> None:
    site.control.add(Fault(path="/shop/product/*", status=404, times=2))
    ran = Ran("run", written(site, CRAWL))
    row = newest()
    assert (ran.code, row["status"], row["failed"]) == (4, "partial", 2)
    assert "2 of 8 pages failed: http_404 2" in row["reason"]
    assert ran.stdout.count("2 of 8 pages failed") == 1
    table = ran.stdout.partition("Failures")[2].splitlines()
    assert table[2].split() == ["class", "count", "example"]
    assert table[4].split()[:2] == ["http_404", "2"]
    assert "/shop/product/" in table[4]
    short = row["id"][:12]
    assert f"agentic executions report {short} --open" in ran.stdout
    assert f"agentic executions export {short} --out rows.csv" in ran.stdout
    assert max(map(len, ran.stdout.partition("Failures")[0].splitlines())) <= 80
    assert [one["id"] for one in told("executions", "list", "--status", "partial")] == [row["id"]]

    page = Ran("executions", "show", row["id"]).stdout
    assert f"agentic executions failures {row['id'][:12]}" in page
    assert f"agentic executions retry {row['id'][:12]} --failed" in page
    failures = told("executions", "failures", row["id"])
    assert {one["failure_class"] for one in failures} == {"http_404"}
    assert len({one["url"] for one in failures}) == 2
    assert told("executions", "failures", row["id"], "--class", "timeout") == []
    pages = told("executions", "pages", row["id"])
    counts = Counter(page["state"] for page in pages)
    assert (counts["done"], counts["failed"]) == (6, 2)
    lost = told("executions", "pages", row["id"], "--state", "failed", "--class", "http_404")
    assert {page["url"] for page in lost} == {one["url"] for one in failures}
    waiting = told("executions", "pages", row["id"], "--state", "waiting")
    assert len(waiting) == counts["waiting"] > 0
    listed = Ran("executions", "pages", row["id"], "--limit", "3").stdout.splitlines()
    assert (len(listed), listed[-1]) == (4, "... and more; --limit 0 shows all")

    paths = requested(site).keys()
    again = told("executions", "retry", row["id"])
    assert (again["status"], again["counts"]["inserted"]) == ("succeeded", 4)
    assert again["execution_id"] != row["id"]
    assert requested(site).keys() == paths
    whole = Ran("executions", "retry", again["execution_id"])
    assert "it has succeeded" in whole.error


def test_resuming_a_partial_crawl_fetches_its_failed_pages_alone(site: FakeServer) -> None:
    site.control.add(Fault(path="/shop/product/*", status=404, times=2))
    assert Ran("run", written(site, CRAWL)).code == 4
    again = told("run", "p.yaml", "--resume")
    assert (again["status"], again["counts"]["inserted"]) == ("succeeded", 4)
    anew = told("run", "p.yaml", "--resume")["counts"]
    assert anew["inserted"] + anew["updated"] + anew["unchanged"] == 8 + 7


def test_limits_of_the_pipeline_decide(site: FakeServer) -> None:
    site.control.add(Fault(path="/shop/product/*", status=404, times=2))
    assert Ran("run", written(site, f"limits: {{partial_above: 25%}}\n{CRAWL}")).code == 0
    site.control.add(Fault(path="/shop/product/*", status=404, times=2))
    ran = Ran("run", written(site, f"limits: {{max_failed: 20%}}\n{CRAWL}"))
    assert ran.code == 1
    assert "more than max_failed (20%)" in ran.error


def test_rows_of_a_partial_run_are_written_where_they_are_wanted(site: FakeServer) -> None:
    site.control.add(Fault(path="/shop/product/*", status=404, times=2))
    assert Ran("run", written(site, CRAWL), "--out", "rows.jsonl").code == 4
    assert len(Path("rows.jsonl").read_text(encoding="utf-8").splitlines()) == 5


def test_a_crawl_goes_on_with_a_mended_selector_where_it_was(site: FakeServer) -> None:
    broken = CRAWL.replace("h1.title", "{selector: h7, required: true}")
    broken = broken.replace('*/product/*"], config', '*/product/1*"], config')
    limits = "limits: {max_failed: 0}\n"
    assert Ran("run", written(site, limits + broken)).code == 1
    asked = requested(site)
    mended = written(site, CRAWL)
    assert "add --as-changed" in Ran("run", mended, "--resume").error
    assert "needs --resume" in Ran("run", mended, "--as-changed").error
    again = told("run", mended, "--resume", "--as-changed")
    assert again["status"] == "succeeded"
    assert requested(site)["/shop/category/lamps"] == asked["/shop/category/lamps"] == 1
    assert {row["status"] for row in told("executions", "list")} == {"succeeded", "failed"}
