"""A crawl whose process is killed goes on where it was: no row lost, none doubled, little done twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from agentic.plugins.fakes.control import Fault
from agentic.plugins.fakes.server import FakeServer
from agentic.plugins.fakes.shop import Shop

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.timeout(180)]

PRODUCTS = 300
PARALLEL = 8
COMMIT_PAGES = 20
COMMAND = (sys.executable, "-m", "agentic.core.cli")

SPEC = """
name: shop
http: {{allow_private_hosts: ["127.0.0.1"]}}
steps:
  - type: crawl
    start: "{start}"
    follow: {{exclude: ["/shop/private/*"]}}
    detail: {{match: ["*/product/*"], config: {{schema: {{title: h1.title, sku: .sku}}}}}}
    max_parallel: {parallel}
    commit_pages: {commit_pages}
    slice_pages: 60
"""


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
    return {**kept, "AGENTIC_HOME": str(home)}


def agentic(home: Path, *arguments: str) -> dict[str, object]:
    done = subprocess.run(
        [*COMMAND, *arguments], env=environment(home), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    return report


def query(home: Path, statement: str) -> list[tuple[object, ...]]:
    try:
        with sqlite3.connect(f"file:{home / 'agentic.db'}?mode=ro", uri=True, timeout=10) as database:
            return database.execute(statement).fetchall()
    except sqlite3.OperationalError:  # not made yet
        return []


def kill_when_done(home: Path, spec: Path, pages: int) -> int:
    """Start a crawl, kill its process when ``pages`` pages are in the tables, and return how many were."""
    crawl = subprocess.Popen(
        [*COMMAND, "run", str(spec)],
        env=environment(home),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while len(query(home, "select 1 from web_pages")) < pages:
        assert crawl.poll() is None, "the crawl ended before it could be killed"
        assert time.monotonic() < deadline, "the crawl does not get on"
        time.sleep(0.01)
    crawl.send_signal(signal.SIGKILL)
    crawl.wait()
    return len(query(home, "select 1 from web_pages"))


def let_an_hour_pass(home: Path) -> None:
    """End the leases of the killed process, as if one had waited."""
    with sqlite3.connect(home / "agentic.db") as database:
        long_ago = "2020-01-01 00:00:00.000000"
        database.execute("update activations set lease_until = 0 where status = 'running'")
        database.execute("update frontier set lease = ? where state = 'taken'", (long_ago,))


@pytest.mark.requirement("SC08")
@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_killed_crawl_resumes_with_nothing_lost_or_doubled(tmp_path: Path, share: float) -> None:
    expected = {f"/shop{path}" for path in Shop(products=PRODUCTS).paths()}
    with FakeServer(stories=1, products=PRODUCTS) as fakes:
        fakes.control.add(Fault(path="/shop/*", delay_s=0.02, times=None))
        spec = tmp_path / "shop.yaml"
        text = SPEC.format(start=fakes.shop_url, parallel=PARALLEL, commit_pages=COMMIT_PAGES)
        spec.write_text(text, encoding="utf-8")
        home = tmp_path / "home"
        stored = kill_when_done(home, spec, int(share * len(expected)))
        assert stored < len(expected)

        ((execution_id, status),) = query(home, "select id, status from executions")
        assert status == "running"
        let_an_hour_pass(home)
        report = agentic(home, "executions", "retry", str(execution_id), "--json")
        requests = fakes.control.stats()["requests"]

    assert report["status"] == "succeeded"
    rows = Counter(str(url).partition(fakes.url)[2] for (url,) in query(home, "select url from web_pages"))
    assert set(rows) == expected
    assert set(rows.values()) == {1}
    assert query(home, "select count(*) from items") == [(PRODUCTS,)]
    assert query(home, "select distinct state from frontier where run != ''") == [("done",)]
    assert isinstance(requests, dict)
    repeated = sum(
        count - 1 for path, count in requests.items() if path in expected and isinstance(count, int)
    )
    assert repeated <= COMMIT_PAGES + PARALLEL
