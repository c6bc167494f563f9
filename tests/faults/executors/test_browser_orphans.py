"""A process that is killed while it shows a page leaves no browser behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest
from tests.conftest import Eventually
from tests.integration.executors.browser.finding import require_browser
from tests.integration.executors.browser.site import Site, serving

from agentic.executors.browser import launcher
from agentic.executors.browser.folder import BrowserFolder

pytestmark = [pytest.mark.faults, pytest.mark.integration]

SHOW = """
import asyncio, sys
from agentic.core.browser import BrowserFetcher, BrowserRequest
from agentic.core.http import HttpPolicy, open_fetcher
from agentic.executors.browser import PlaywrightBrowser

async def main(url: str) -> None:
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), timeout_s=60, obey_robots=False)
    async with open_fetcher(policy) as http, PlaywrightBrowser() as browser:
        await BrowserFetcher(http, browser).fetch(BrowserRequest(url=url, wait_for="#never"))

asyncio.run(main(sys.argv[1]))
"""


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as made:
        yield made


@pytest.fixture
def showing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], subprocess.Popen[bytes]]:
    """Return what starts a process that shows a page for a minute, with temporary files in ``tmp_path``."""
    require_browser()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def start(url: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", SHOW, url]
        return subprocess.Popen(command, env={**os.environ, "TMPDIR": str(tmp_path)})

    return start


def below(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def is_browser(process: psutil.Process) -> bool:
    """Tell the processes of the browser from its driver and its watcher."""
    return not {"run-driver", launcher.__file__} & set(process.cmdline())


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_no_browser_outlives_a_process_that_is_killed(
    showing: Callable[[str], subprocess.Popen[bytes]],
    site: Site,
    tmp_path: Path,
    eventually: Eventually,
    is_alive: Callable[[int], bool],
) -> None:
    process = showing(f"{site.url}/busy")
    await eventually(lambda: bool(site.asked))
    family = below(process)
    hung = [member for member in family if is_browser(member)]
    assert len(hung) > 3
    for member in hung:
        member.suspend()  # by itself it may well notice, unless it hangs
    process.send_signal(signal.SIGKILL)
    process.wait()
    await eventually(lambda: not any(is_alive(member.pid) for member in family))

    assert len(leftovers(tmp_path)) == 1
    BrowserFolder(Path("/bin/true")).remove()
    assert leftovers(tmp_path) == []


async def test_a_browser_that_nobody_could_kill_is_killed_by_the_next_start(
    showing: Callable[[str], subprocess.Popen[bytes]],
    site: Site,
    tmp_path: Path,
    eventually: Eventually,
    is_alive: Callable[[int], bool],
) -> None:
    process = showing(f"{site.url}/list")
    await eventually(lambda: bool(site.asked))
    family = below(process)
    for member in (*family, psutil.Process(process.pid)):
        member.suspend()  # else one would see the end of the other, and end as well
    others = [member for member in family if not is_browser(member)]
    for member in (*others, psutil.Process(process.pid)):
        member.kill()
    process.wait()
    assert any(is_alive(member.pid) for member in family)

    BrowserFolder(Path("/bin/true")).remove()
    await eventually(lambda: not any(is_alive(member.pid) for member in family))
    assert leftovers(tmp_path) == []
