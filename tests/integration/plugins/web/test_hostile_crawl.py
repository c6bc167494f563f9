"""A crawl whose pages mean harm: each gets its class, the good ones become rows, and the run goes on."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select
from tests.conftest import Eventually
from tests.integration.executors.browser.finding import require_browser
from tests.integration.executors.browser.killing import kill

from agentic.core.services import free_port
from agentic.core.types import JSONValue
from agentic.executors.testing import Site
from agentic.fakes.server import FakeServer
from agentic.mappers import Database, ExecutionStatus, FrontierModel, FrontierState
from agentic.plugins.web.models import WebPageModel

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc"),
]

ROOM_MIB = 64.0
"""For a crawl that is sent far more than a GiB; its server, in this process too, has its share of that."""

FAILING = {
    "huge?mib=512": "too_large",
    "endless": "too_large",
    "gzip-bomb?mib=512": "too_large",
    "malformed/line": "too_large",
    "malformed/nested": "too_large",
    "loop": "too_many_redirects",
    "slow?bytes=1000&every_ms=100": "timeout",
    "challenge/captcha": "blocked",
    "status/500": "http_500",
    "status/410": "gone",
    "to?url=http%3A%2F%2F127.0.0.2%2F": "private_address",
    "to?url=file%3A%2F%2F%2Fetc%2Fpasswd": "invalid_url",
}
GOOD = {
    "malformed/unclosed": None,
    "malformed/nulls": None,
    "malformed/binary": None,
    "charset/mislabelled": "Café, Straße: 5 € „quoted“",
    "charset/unlabelled": "Café, Straße: 5 € „quoted“",
    "charset/bom": "Café, Straße: 5 € „quoted“ 日本語のページです",
    "charset/meta": "日本語のページです",
    "not-html": None,
}


# How an item is read of pages that another site has.
DETAIL: dict[str, JSONValue] = {
    "match": ["*/bare", "*/dear"],
    "config": {
        "schema": {
            "title": {"selector": "h1", "required": True},
            "price": {"selector": "b", "type": "number", "required": True},
        }
    },
}


RULES: dict[str, JSONValue] = {
    "browser_crashed": {"retry_count": 1, "backoff_s": 0.01},
    "rate_limited": {"retry_count": 3, "backoff_s": 0.01},
}


def memory_mib(name: str) -> float:
    """Return ``VmRSS``, or ``VmHWM``, the most it was since :func:`forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def forget_peak() -> float:
    """Begin to watch the memory anew; return what is in use."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory_mib("VmRSS")


def pipeline(*starts: str, **crawl: JSONValue) -> dict[str, JSONValue]:
    return {
        "http": {
            "allow_private_hosts": ["127.0.0.1"],
            "obey_robots": False,
            "max_bytes": 2 * 1024 * 1024,
            "timeout_s": 2,
        },
        "steps": [{"type": "crawl", "start": list(starts), "max_depth": 0, "max_parallel": 4, **crawl}],
    }


def refusals(fakes: FakeServer, site: Site) -> dict[str, str]:
    """Return pages that a site refuses, or does not have as they should be, with the class of each."""
    html = {"Content-Type": "text/html"}
    site.serve("/packed", bytes(range(1, 200)), headers={**html, "Content-Encoding": "gzip"})
    site.serve("/bare", "<p>No title", headers=html)
    site.serve("/dear", "<h1>Lamp</h1><b>dear</b>", headers=html)
    site.serve("/limited", "", status=429, headers={"Retry-After": "3600"})
    return {
        "http://nowhere.invalid/": "dns",
        f"http://127.0.0.1:{free_port()}/": "connect",
        f"{site.url}/packed": "decode",
        f"{site.url}/bare": "selector_missing",
        f"{site.url}/dear": "schema_invalid",
        f"{fakes.hostile_url}status/401": "auth_required",
        f"{fakes.hostile_url}status/404": "http_404",
        f"{site.url}/limited": "rate_limited",
    }


def frontier(database: Database, base: str) -> dict[str, tuple[FrontierState, str | None]]:
    with database.reading() as session:
        pages = session.scalars(select(FrontierModel)).all()
    return {page.url.removeprefix(base): (page.state, page.failure_class) for page in pages}


async def test_hostile_pages_fail_by_class_good_ones_are_rows_and_memory_stays_bounded(
    fakes: FakeServer, database: Database, make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    base = fakes.hostile_url
    plain = base.replace("http:", "https:")  # which speaks no TLS
    await run_agent(make_agent(project="others", pipeline=pipeline(f"{base}deep/1"), inputs={}))  # to warm up
    before = forget_peak()

    starts = [f"{base}{path}" for path in (*FAILING, *GOOD)]
    outcome = await run_agent(make_agent(pipeline=pipeline(*starts, plain), inputs={}))

    assert memory_mib("VmHWM") - before < ROOM_MIB
    assert (outcome.status, outcome.error) == (ExecutionStatus.PARTIAL, None)
    states = frontier(database, base)
    classes = {**FAILING, plain: "tls"}
    assert {path: states[path] for path in classes} == {
        path: (FrontierState.FAILED, failure_class) for path, failure_class in classes.items()
    }
    assert {states[path] for path in GOOD} == {(FrontierState.DONE, None)}
    with database.reading() as session:
        rows = session.scalars(
            select(WebPageModel).where(WebPageModel.execution_id == outcome.execution_id)
        ).all()
    titles = {page.url.removeprefix(base): page.title for page in rows}
    assert titles == GOOD


async def test_pages_that_are_refused_or_not_as_they_should_be_fail_by_class_beside_good_ones(
    fakes: FakeServer, database: Database, make_agent: MakeAgent, run_agent: RunAgent, agentic_site: Site
) -> None:
    expected = refusals(fakes, agentic_site)
    good = f"{fakes.hostile_url}deep/1"
    # The one that is limited comes last: its site is left alone from then on.
    spec = pipeline(good, *expected, max_parallel=1, detail=DETAIL)
    outcome = await run_agent(make_agent(pipeline={**spec, "error_handling": RULES}, inputs={}))

    assert outcome.status is ExecutionStatus.FAILED  # no page gave an item
    assert "the crawl extracted no items: 8 of 9 pages failed" in str(outcome.error)
    assert frontier(database, "") == {
        good: (FrontierState.DONE, None),
        **{url: (FrontierState.FAILED, word) for url, word in expected.items()},
    }


@pytest.mark.slow
async def test_a_page_whose_browser_is_killed_again_and_again_fails_and_the_crawl_goes_on(
    fakes: FakeServer, database: Database, make_agent: MakeAgent, run_agent: RunAgent, eventually: Eventually
) -> None:
    require_browser()
    good, bad = f"{fakes.hostile_url}deep/1", f"{fakes.hostile_url}slow?bytes=100&every_ms=100"
    shown: JSONValue = {"actor": "fetch", "config": {"mode": "browser", "timeout_s": 20}}
    spec = pipeline(bad, good, max_parallel=1, fetch=shown)
    crawl = asyncio.ensure_future(
        run_agent(make_agent(pipeline={**spec, "error_handling": RULES}, inputs={}))
    )
    for tries in (1, 2):
        await eventually(partial(was_asked, fakes, tries))
        kill("--user-data-dir=")
    outcome = await crawl

    assert (outcome.status, outcome.error) == (ExecutionStatus.PARTIAL, None)
    assert frontier(database, "") == {
        good: (FrontierState.DONE, None),
        bad: (FrontierState.FAILED, "browser_crashed"),
    }


def was_asked(fakes: FakeServer, times: int) -> bool:
    """Tell whether the slow page was asked for so often."""
    requests = fakes.control.stats()["requests"]
    assert isinstance(requests, dict)
    return any(count == times for name, count in requests.items() if name.startswith("/hostile/slow"))
