"""A crawl whose process is killed goes on where it was: no row lost, none doubled, little done twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.commands import run_command, start_command
from tests.forwarding import HOST, Forwarding, forwarding_beside

from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer
from agentic.fakes.shop.site import Shop

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.timeout(180)]

PRODUCTS = 300
PARALLEL = 8
COMMIT_PAGES = 20
LINKS = "select from_url, to_url, rel, text, is_followed from web_links"

SPEC = """
name: shop
http: {{allow_private_hosts: ["127.0.0.1"]}}
steps:
  - type: crawl
    start: "{start}"
    follow: {{exclude: ["/shop/private/*"]}}
    detail: {{match: ["*/product/*"], config: {{schema: {{title: h1.title, sku: .sku}}}}}}
    store: {{links: true, text: true}}
    max_parallel: {parallel}
    commit_pages: {commit_pages}
    slice_pages: 60
"""


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
    return {**kept, "AGENTIC_HOME": str(home), **more}


def agentic(home: Path, *arguments: str, **more: str) -> dict[str, object]:
    done = run_command(arguments, environment(home, **more), home.parent)
    assert done.returncode == 0, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    return report


def requests_for(fakes: FakeServer, path: str) -> int:
    counted = fakes.control.stats()["requests"]
    assert isinstance(counted, dict)
    return int(str(counted.get(path, 0)))


def query(home: Path, statement: str) -> list[tuple[object, ...]]:
    try:
        with sqlite3.connect(f"file:{home / 'agentic.db'}?mode=ro", uri=True, timeout=10) as database:
            return database.execute(statement).fetchall()
    except sqlite3.OperationalError:  # not made yet
        return []


def kill_when_done(home: Path, spec: Path, pages: int, **more: str) -> int:
    """Start a crawl, kill its process when ``pages`` pages are in the tables, and return how many were."""
    crawl = start_command(["run", str(spec), "--resume"], environment(home, **more), Path())
    deadline = time.monotonic() + 60
    while len(query(home, "select 1 from web_pages")) < pages:
        assert crawl.poll() is None, crawl.communicate()  # what it said
        assert time.monotonic() < deadline, "the crawl does not get on"
        time.sleep(0.01)
    crawl.send_signal(signal.SIGKILL)
    crawl.wait()
    return len(query(home, "select 1 from web_pages"))


def stored_rows(home: Path) -> int:
    """Return how many rows the tables of the platform have."""
    tables = ("web_pages", "items", "web_contents", "web_links")
    counts = [query(home, f"select count(*) from {table}")[0][0] for table in tables]
    return sum(int(str(count)) for count in counts)


def shown_rows(home: Path) -> int:
    """Return how many rows the execution says to have stored."""
    shown = agentic(home, "executions", "list", "--json")
    return int(str(shown[0]["inserted"]))  # type: ignore[index]  # a list, of this command


@pytest.mark.requirement("SC08")
@pytest.mark.parametrize("shares", [[0.4], pytest.param([0.2, 0.5, 0.8], marks=pytest.mark.slow)])
def test_a_killed_crawl_goes_on_at_once_with_nothing_lost_or_doubled(
    tmp_path: Path, shares: Sequence[float]
) -> None:
    expected = {f"/shop{path}" for path in Shop(products=PRODUCTS).paths()}
    with FakeServer(stories=1, products=PRODUCTS) as fakes:
        fakes.control.add(Fault(path="/shop/*", delay_s=0.02, times=None))
        spec = tmp_path / "shop.yaml"
        text = SPEC.format(start=fakes.shop_url, parallel=PARALLEL, commit_pages=COMMIT_PAGES)
        spec.write_text(text, encoding="utf-8")
        home = tmp_path / "home"
        for share in shares:
            assert kill_when_done(home, spec, int(share * len(expected))) < len(expected)
            assert shown_rows(home) == stored_rows(home)
        assert query(home, "select status from executions") == [("running",)]
        report = agentic(home, "run", str(spec), "--resume", "--json")
        requests = fakes.control.stats()["requests"]
        whole = tmp_path / "whole"  # a crawl that nobody killed
        undisturbed = agentic(whole, "run", str(spec), "--json")

    assert report["status"] == "succeeded"
    assert report["counts"] == undisturbed["counts"]
    assert shown_rows(home) == stored_rows(home) == stored_rows(whole)
    rows = Counter(str(url).partition(fakes.url)[2] for (url,) in query(home, "select url from web_pages"))
    assert set(rows) == expected
    assert set(rows.values()) == {1}
    assert query(home, "select count(*) from items") == [(PRODUCTS,)]
    assert query(home, "select distinct state from frontier where run != ''") == [("done",)]
    assert query(home, "select count(*) from web_contents where text != ''") == [(len(expected),)]
    assert sorted(query(home, LINKS)) == sorted(query(whole, LINKS)) != []
    assert isinstance(requests, dict)
    repeated = sum(
        count - 1 for path, count in requests.items() if path in expected and isinstance(count, int)
    )
    assert repeated <= (COMMIT_PAGES + PARALLEL) * len(shares)


@pytest.mark.slow
def test_a_killed_crawl_counts_the_requests_through_proxies_that_it_has_written(tmp_path: Path) -> None:
    with (
        FakeServer(stories=1, products=120) as fakes,
        forwarding_beside(fakes.url, None, None) as proxies,
    ):
        fakes.control.add(Fault(path="/shop/*", delay_s=0.1, times=None))
        spec = tmp_path / "shop.yaml"
        text = SPEC.format(start=f"{HOST}/shop/", parallel=PARALLEL, commit_pages=COMMIT_PAGES)
        http = 'http: {proxies: ["${secrets.EU}"], requests_per_second: 500}'
        spec.write_text(text.replace('http: {allow_private_hosts: ["127.0.0.1"]}', http), encoding="utf-8")
        home = tmp_path / "home"
        secret = {"AGENTIC_SECRET_DEFAULT__EU": "\n".join(f"127.0.0.1:{proxy.port}" for proxy in proxies)}

        before, kills = 0, 0
        for pages in (40, 90):
            kills += 1
            kill_when_done(home, spec, pages, **secret)
            sent, arrived = requests_through(home)
            assert max(pages, before) <= sent
            assert arrived - PARALLEL * kills <= seen(proxies) <= sent + (COMMIT_PAGES + PARALLEL) * kills
            before = sent
        report = agentic(home, "run", str(spec), "--resume", "--json", **secret)

    assert report["status"] == "succeeded"
    assert report["proxies"] == agentic(home, "executions", "show", execution_in(home), "--json")["proxies"]
    sent, arrived = requests_through(home)
    assert before < len(query(home, "select 1 from web_pages")) <= sent
    assert arrived - PARALLEL * kills <= seen(proxies) <= sent + (COMMIT_PAGES + PARALLEL) * kills


def requests_through(home: Path) -> tuple[int, int]:
    """Return how many requests through proxies the execution has, and how many of them did not fail.

    A request counts from its start: those under way at a kill may never have reached a proxy.
    """
    uses = agentic(home, "executions", "show", execution_in(home), "--json")["proxies"]
    assert isinstance(uses, list)
    sent = sum(use["requests"] for use in uses)
    return sent, sent - sum(count for use in uses for count in use["failures"].values())


def execution_in(home: Path) -> str:
    [(execution,)] = query(home, "select id from executions")
    return str(execution)


def seen(proxies: Sequence[Forwarding]) -> int:
    """Return how many requests the proxies got."""
    return sum(len(proxy.heads) for proxy in proxies)


def test_an_interrupted_crawl_says_what_is_kept_and_how_to_continue(tmp_path: Path) -> None:
    with FakeServer(stories=1, products=PRODUCTS) as fakes:
        fakes.control.add(Fault(path="/shop/*", delay_s=0.02, times=None))
        spec = tmp_path / "shop.yaml"
        text = SPEC.format(start=fakes.shop_url, parallel=PARALLEL, commit_pages=COMMIT_PAGES)
        spec.write_text(text, encoding="utf-8")
        home = tmp_path / "home"
        with start_command(["run", str(spec)], environment(home), Path()) as crawl:
            deadline = time.monotonic() + 60
            while len(query(home, "select 1 from web_pages")) < 60 and time.monotonic() < deadline:
                time.sleep(0.01)
            crawl.send_signal(signal.SIGINT)
            _, said = crawl.communicate()
    [(done, total, waiting)] = query(home, "select done, total, total - done - failed from crawls")
    kept = f"stopped: {done} of {total} pages and {stored_rows(home):,} rows are kept"
    left = f"{waiting} pages are left"
    assert f"{kept}, {left}; continue with: agentic run {spec} --resume" in said
    assert "Unclosed" not in said
    assert crawl.returncode == 130
    assert query(home, "select status from executions") == [("cancelled",)]
    assert shown_rows(home) == stored_rows(home)


def kill_when_asked(home: Path, spec: Path, fakes: FakeServer, path: str) -> None:
    """Go on with a crawl, and kill its process when it asks for a page."""
    asked = requests_for(fakes, path)
    with start_command(["run", str(spec), "--resume", "--quiet"], environment(home), Path()) as crawl:
        try:
            deadline = time.monotonic() + 60
            while requests_for(fakes, path) == asked:
                assert crawl.poll() is None, "the crawl ended without asking for the page"
                assert time.monotonic() < deadline, "the crawl does not get on"
                time.sleep(0.01)
        finally:
            crawl.kill()


@pytest.mark.slow
def test_a_page_that_kills_every_process_is_given_up_and_takes_no_other_along(tmp_path: Path) -> None:
    poison = "/shop/product/7"
    with FakeServer(stories=1, products=40) as fakes:
        fakes.control.add(Fault(path=poison, delay_s=600, times=None))
        spec = tmp_path / "shop.yaml"
        text = SPEC.format(start=fakes.shop_url, parallel=PARALLEL, commit_pages=COMMIT_PAGES)
        spec.write_text(text, encoding="utf-8")
        home = tmp_path / "home"
        for _ in range(4):
            kill_when_asked(home, spec, fakes, poison)
        report = agentic(home, "run", str(spec), "--resume", "--json")

    assert report["status"] == "succeeded"
    assert query(home, "select count(*) from items") == [(39,)]
    failed = query(home, "select url, failure_class from frontier where state = 'failed'")
    assert failed == [(f"{fakes.url}{poison}", "process_crashed")]
