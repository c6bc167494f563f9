"""``agentic run`` on a real terminal: bars while it goes on, and nothing left of them afterwards."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="ends of terminals are told otherwise elsewhere"),
]

# Makes the terminal the one that the process is controlled from, so that Ctrl-C reaches it.
CONTROLLED = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "agentic.core.cli", *sys.argv[1:]])
"""
SHOP = """
name: shop
http: {{allow_private_hosts: ["127.0.0.1"]}}
steps:
  - {{id: pages, type: crawl, start: "{url}", max_parallel: 4, commit_pages: 4, commit_seconds: 0.1}}
"""
HIDDEN, SHOWN, ERASED, BAR = "\x1b[?25l", "\x1b[?25h", "\x1b[2K", "━"


@dataclass
class Terminal:
    """A command on a terminal of 100 columns; ``text`` is all it was sent."""

    process: subprocess.Popen[bytes]
    end: int
    text: str = ""

    def read(self) -> bool:
        """Read what has come; return whether more may."""
        try:
            self.text += os.read(self.end, 65_536).decode("utf-8", "replace")
        except OSError:  # the other end is closed
            return False
        return True

    def press(self, key: bytes) -> None:
        os.write(self.end, key)

    def exit_code(self) -> int:
        while self.read():
            pass
        return self.process.wait()


@pytest.fixture
def site() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=60) as server:
        server.control.add(Fault(path="/shop/*", delay_s=0.05, times=None))
        yield server


@pytest.fixture
def terminal(tmp_path: Path, site: FakeServer) -> Iterator[Terminal]:
    (tmp_path / "shop.yaml").write_text(SHOP.format(url=site.shop_url))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
    env = {**kept, "AGENTIC_HOME": str(tmp_path / "home"), "TERM": "xterm"}
    command = [sys.executable, "-c", CONTROLLED, "run", "shop.yaml"]
    process = subprocess.Popen(command, cwd=tmp_path, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    yield Terminal(process, ours)
    process.kill()
    process.wait()
    os.close(ours)


def test_bars_and_facts_are_shown_and_gone_before_the_outcome(terminal: Terminal) -> None:
    assert terminal.exit_code() == 0
    shown, _, rest = terminal.text.rpartition(ERASED)
    assert (BAR in shown, "shop: " in shown) == (True, True)
    assert re.search(r"\d+/\d+ · [\d.,]+ pages/s", shown)
    assert re.search(r"hosts +127\.0\.0\.1:\d+ \d+", shown)
    assert (BAR in rest, "succeeded" in rest) == (False, True)
    assert terminal.text.rindex(SHOWN) > terminal.text.rindex(HIDDEN)


def test_ctrl_c_ends_the_run_and_leaves_the_terminal_as_it_was(terminal: Terminal) -> None:
    while "pages/s" not in terminal.text and terminal.read():
        pass
    terminal.press(b"\x03")

    assert terminal.exit_code() == 130
    assert terminal.text.rindex(SHOWN) > terminal.text.rindex(HIDDEN)
    assert "Traceback" not in terminal.text
