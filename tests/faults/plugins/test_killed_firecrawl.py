"""A run whose process is killed while Firecrawl crawls goes on to wait for that crawl, and pays once."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.commands import start_command

from agentic.fakes.control import Fault
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.server import FakeServer

pytest.importorskip("firecrawl")

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.slow]

PAGES = 6
BEGINS = "/firecrawl/v2/crawl"
LOOKS = f"{BEGINS}/"
SPEC = """
name: shop
steps:
  - {{actor: firecrawl_crawl, config: {{url: "{shop}", api_url: "{service}", max_pages: {pages}}}}}
"""


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
    return {**kept, "AGENTIC_HOME": str(home)}


def requests(fakes: FakeServer, prefix: str) -> int:
    """Return how often paths were asked for that are ``prefix``, or begin with it if it ends in a slash."""
    counted = fakes.control.stats()["requests"]
    assert isinstance(counted, dict)
    fitting = (path for path in counted if path == prefix or (prefix[-1] == "/" and path.startswith(prefix)))
    return sum(int(str(counted[path])) for path in fitting)


@contextmanager
def started(home: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a command; if it still runs at the end of the block, it is killed."""
    with start_command(arguments, environment(home), Path()) as process:
        try:
            yield process
        finally:
            process.kill()


def pipeline_file(home: Path, fakes: FakeServer) -> str:
    """Write a pipeline that lets Firecrawl crawl; return what ``agentic run`` takes."""
    path = home.parent / "shop.yaml"
    path.write_text(
        SPEC.format(shop=fakes.shop_url, service=fakes.firecrawl_url, pages=PAGES), encoding="utf-8"
    )
    return str(path)


def agent(home: Path, fakes: FakeServer) -> str:
    """Add an agent of the platform that crawls; return what ``agentic run`` takes."""
    path = home.parent / "shop.json"
    config = {"mode": "crawl", "url": fakes.shop_url, "limit": PAGES, "api_url": fakes.firecrawl_url}
    path.write_text(json.dumps(config), encoding="utf-8")
    with started(home, "agents", "add", "shop", "--platform", "firecrawl", "--config", f"@{path}") as command:
        _, complaints = command.communicate()
    assert command.returncode == 0, complaints
    return "shop"


@pytest.mark.requirement("SP21")
@pytest.mark.parametrize(("make", "table"), [(pipeline_file, "items"), (agent, "firecrawl_pages")])
async def test_a_run_that_is_killed_twice_waits_for_the_crawl_it_has_begun(
    tmp_path: Path,
    eventually: Callable[[Callable[[], bool]], Awaitable[None]],
    make: Callable[[Path, FakeServer], str],
    table: str,
) -> None:
    home = tmp_path / "home"
    with FakeServer(stories=1, products=20) as fakes:
        fakes.control.firecrawl.change(AccountOrder(polls=1_000))
        fakes.control.add(Fault(path=f"{LOOKS}*", delay_s=600))
        target = make(home, fakes)

        with started(home, "run", target):  # killed in its first look
            await eventually(lambda: requests(fakes, LOOKS) == 1)
        with started(home, "run", target, "--resume"):  # killed between two looks
            await eventually(lambda: requests(fakes, LOOKS) == 3)

        fakes.control.firecrawl.change(AccountOrder(polls=0))
        with started(home, "run", target, "--resume", "--json") as last:
            told, complaints = last.communicate()
        begun, credits_count = requests(fakes, BEGINS), fakes.control.stats()["credits"]

    assert last.returncode == 0, complaints
    assert json.loads(told)["status"] == "succeeded"
    assert (begun, credits_count) == (1, PAGES)
    with sqlite3.connect(home / "agentic.db") as database:
        assert database.execute(f"select count(*) from {table}").fetchone() == (PAGES,)


@pytest.mark.requirement("SP21")
async def test_a_run_that_is_killed_while_it_begins_a_crawl_pays_for_one(
    tmp_path: Path, eventually: Callable[[Callable[[], bool]], Awaitable[None]]
) -> None:
    home = tmp_path / "home"
    with FakeServer(stories=1, products=20) as fakes:
        fakes.control.add(Fault(path=BEGINS, delay_s=2))
        target = pipeline_file(home, fakes)
        with started(home, "run", target):  # killed before it knows the crawl's id
            await eventually(lambda: requests(fakes, BEGINS) == 1)
        with started(home, "run", target, "--resume", "--json") as last:
            told, complaints = last.communicate()
        begun, credits_count = requests(fakes, BEGINS), fakes.control.stats()["credits"]
    assert last.returncode == 0, complaints
    assert json.loads(told)["status"] == "succeeded"
    assert (begun, credits_count) == (2, PAGES)
