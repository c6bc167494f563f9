"""Workers that are killed while they show a page leave no browser behind."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.integration.executors.browser.finding import require_browser
from tests.integration.executors.browser.site import Site, serving

from agentic.core.types import JSONValue
from agentic.mappers import AgentModel, add_agent, find_project

if TYPE_CHECKING:
    from tests.conftest import Eventually
    from tests.integration.executors.conftest import Place

pytestmark = [pytest.mark.integration, pytest.mark.faults]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    require_browser()
    async with serving() as made:
        yield made


def shower(place: Place, url: str) -> AgentModel:
    """Add an agent that shows a page, and waits on it for what never comes."""
    step: JSONValue = {"actor": "fetch", "config": {"url": url, "mode": "browser", "wait_for": "#never"}}
    http: JSONValue = {"allow_private_hosts": ["127.0.0.1"], "timeout_s": 120, "obey_robots": False}
    with place.database.writing() as session:
        project = find_project(session, "default")
        return add_agent(session, project, "shower", "web", {"pipeline": {"http": http, "steps": [step]}})


def is_chromium(process: psutil.Process, folder: Path) -> bool:
    """Tell the browser's processes from the worker's own, and the driver's."""
    line = " ".join(process.cmdline())
    return "--type=" in line or f"--user-data-dir={folder}" in line


@pytest.mark.parametrize("victim", ["child", "worker", "all of them"])
async def test_no_browser_outlives_the_worker_that_showed_a_page(
    place: Place,
    site: Site,
    tmp_path: Path,
    eventually: Eventually,
    is_alive: Callable[[int], bool],
    victim: str,
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    place.env["TMPDIR"] = str(folder)
    worker = place.start_worker("--queues", "agentic.browser", "--pool", "prefork")
    place.submit(shower(place, f"{site.url}/list"))
    await eventually(lambda: bool(site.asked))

    browsers = {
        child: [member.pid for member in child.children(recursive=True) if is_chromium(member, folder)]
        for child in psutil.Process(worker.pid).children()
    }
    ((child, shown),) = ((child, pids) for child, pids in browsers.items() if pids)
    assert len(shown) > 2
    match victim:
        case "child":
            child.send_signal(signal.SIGKILL)
        case "worker":
            worker.send_signal(signal.SIGKILL)
        case _:
            os.killpg(worker.pid, signal.SIGKILL)

    await eventually(lambda: not any(is_alive(pid) for pid in shown))
    if victim != "child":
        worker.wait(30)
    assert (worker.poll() is None) is (victim == "child")
