"""What killed processes leave behind is cleared away; what others use is left alone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentic.executors.browser import clear_leftovers, launcher
from agentic.executors.browser.folder import PREFIX, BrowserFolder
from agentic.executors.browser.processes import kill_all_of, memory_of

pytestmark = pytest.mark.integration

OWN = """
import sys, tempfile
from pathlib import Path
from agentic.executors.browser.folder import BrowserFolder
tempfile.tempdir = sys.argv[1]
folder = BrowserFolder(Path("/bin/true"))
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def pretend() -> Iterator[Callable[[Path], subprocess.Popen[bytes]]]:
    """Return what starts a process that looks like the browser of a folder."""
    started: list[subprocess.Popen[bytes]] = []

    def start(folder: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "import time; time.sleep(60)", launcher.profile_of(folder)]
        process = subprocess.Popen(command, start_new_session=True)
        started.append(process)
        # A program that has just begun has no command line for a moment.
        while not Path(f"/proc/{process.pid}/cmdline").read_bytes():
            time.sleep(0.001)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_the_browser_of_a_gone_owner_is_killed_and_its_folder_removed(
    temporary: Path, pretend: Callable[[Path], subprocess.Popen[bytes]]
) -> None:
    folder = temporary / f"{PREFIX}1-left"
    folder.mkdir()
    (folder / launcher.OWNER).touch()
    browser = pretend(folder)
    clear_leftovers()
    assert browser.wait(10) == -9
    assert list(temporary.iterdir()) == []


def test_the_browser_of_another_process_is_left_alone(
    temporary: Path, pretend: Callable[[Path], subprocess.Popen[bytes]]
) -> None:
    command = [sys.executable, "-c", OWN, str(temporary)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        browser = pretend(folder)
        clear_leftovers()
        assert browser.poll() is None
        assert folder.is_dir()
        owner.kill()
    clear_leftovers()
    assert browser.wait(10) == -9
    assert not folder.exists()


def test_the_own_folder_is_left_alone_until_it_is_removed(temporary: Path) -> None:
    folder = BrowserFolder(Path("/bin/true"))
    clear_leftovers()
    assert folder.launch.is_file()
    folder.remove()
    assert list(temporary.iterdir()) == []


def test_nothing_else_of_that_name_is_touched(
    temporary: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / launcher.OWNER).touch()
    (temporary / f"{PREFIX}link").symlink_to(elsewhere)
    (temporary / f"{PREFIX}file").touch()
    clear_leftovers()
    assert (elsewhere / launcher.OWNER).exists()
    assert (temporary / f"{PREFIX}file").exists()


@pytest.mark.parametrize("listing", ["proc", "ps"])
def test_a_browser_is_found_by_its_profile_alone(
    temporary: Path,
    pretend: Callable[[Path], subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    listing: str,
) -> None:
    if listing == "ps":  # as on macOS
        monkeypatch.setattr("agentic.executors.browser.processes.PROC", temporary / "none")
    one, other = pretend(temporary / "one"), pretend(temporary / "other")
    if listing == "proc":
        assert set(memory_of(temporary / "one")) == {one.pid}
    assert kill_all_of(temporary / "one") == 1
    assert one.wait(10) == -9
    assert other.poll() is None
    assert kill_all_of(temporary / "one") == 0


def test_the_launcher_ends_with_the_browser_and_as_it_ended(temporary: Path) -> None:
    folder = BrowserFolder(Path("/bin/sh"))
    done = subprocess.run([folder.launch, "-c", "exit 7"], check=False)
    assert done.returncode == 7
    folder.remove()


def test_the_launcher_says_what_it_cannot_start(temporary: Path) -> None:
    folder = BrowserFolder(Path("/no/such/browser"))
    done = subprocess.run([folder.launch], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        127,
        "cannot start '/no/such/browser': No such file or directory\n",
    )
    folder.remove()
