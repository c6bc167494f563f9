"""Stored pages that are read again by a process that is killed: the next one goes on, and doubles no row."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from tests.commands import start_command
from tests.faults.plugins.test_killed_crawl import agentic, environment, query

from agentic.fakes.server import FakeServer
from agentic.fakes.shop.site import Shop

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.timeout(180)]

PRODUCTS = 80

SPEC = """
name: shop
http: {{allow_private_hosts: ["127.0.0.1"]}}
steps:
  - type: crawl
    start: "{start}"
    follow: {{exclude: ["/shop/private/*"]}}
    detail:
      match: ["*/product/*"]
      config: {{schema: {{title: {title}, sku: .sku}}}}
      python: "./own.py:slow"
    store: {{html: true}}
    max_parallel: 4
    commit_pages: 8
    slice_pages: 20
"""

SLOW = """
import time


def slow(item: dict) -> dict:
    time.sleep({seconds})
    return item
"""
NUMBERS = "select inserted, updated, unchanged, rejected, total, done, failed, reread, to_reread from crawls"


def kill_when_read(home: Path, spec: Path, pages: int) -> None:
    """Start to read stored pages, or go on, and kill the process once ``pages`` of them are read."""
    words = ["run", str(spec), "--resume", "--reread", "--quiet"]
    with start_command(words, environment(home), Path()) as reading:
        try:
            deadline = time.monotonic() + 60
            while not query(home, f"select 1 from crawls where reread >= {pages}"):
                assert reading.poll() is None, reading.communicate()  # what it said
                assert time.monotonic() < deadline, "it does not get on"
                time.sleep(0.01)
        finally:
            reading.send_signal(signal.SIGKILL)
            reading.wait()


@pytest.mark.slow
@pytest.mark.requirement("SC08")
def test_pages_that_are_read_again_by_a_killed_process_are_each_stored_once(tmp_path: Path) -> None:
    known = len(Shop(products=PRODUCTS).paths())
    home, spec, own = tmp_path / "home", tmp_path / "shop.yaml", tmp_path / "own.py"
    with FakeServer(stories=1, products=PRODUCTS) as fakes:
        own.write_text(SLOW.format(seconds=0), encoding="utf-8")
        spec.write_text(SPEC.format(start=fakes.shop_url, title=".none"), encoding="utf-8")
        agentic(home, "run", str(spec), "--json")
        rows = query(home, "select count(*) from items")
        fakes.control.reset()
        own.write_text(SLOW.format(seconds=0.03), encoding="utf-8")
        spec.write_text(SPEC.format(start=fakes.shop_url, title="h1.title"), encoding="utf-8")
        for pages in (10, known // 2):
            kill_when_read(home, spec, pages)
        assert query(home, "select status from executions order by created_at") == [
            ("succeeded",),
            ("running",),
        ]
        report = agentic(home, "run", str(spec), "--resume", "--reread", "--json")
        requests = fakes.control.stats()["requests"]

    assert (report["status"], requests) == ("succeeded", {})
    assert report["reread"] == {"pages": known, "unstored": 0}
    # Each item has changed; each page and each stored body has not.
    expected = (0, PRODUCTS, 2 * known, 0, known, known, 0, known, known)
    assert query(home, f"{NUMBERS} where to_reread > 0") == [expected]
    assert query(home, "select count(*) from items") == rows == [(PRODUCTS,)]
    assert query(home, "select distinct state from frontier") == [("done",)]
    assert query(home, "select count(*) from items where json_extract(data, '$.title') is null") == [(0,)]
