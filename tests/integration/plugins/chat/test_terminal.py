"""``agentic chat`` on a real terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

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
WORDS = " ".join(f"word{number}" for number in range(40))
SCRIPT = f"""
- call: {{refund: {{number: 7}}}}
- {WORDS}
- call: {{wait: {{}}}}
- The second answer.
"""
TOOLS = '''
import asyncio

from agentic.core.agents import tool


@tool(approval="always")
def refund(number: int) -> str:
    """Pay back."""
    return "x" * 200


async def wait() -> str:
    """Wait."""
    await asyncio.sleep(0 if __import__("pathlib").Path(__file__).with_name("go").exists() else 600)
    return "waited"
'''
SPEC = "model: scripted:script.yaml\ntools: [./tools.py:refund, ./tools.py:wait]\n"


@dataclass
class Terminal:
    """A command on a terminal; ``text`` is all it was sent."""

    process: subprocess.Popen[bytes]
    end: int
    text: str = ""

    def wait_for(self, words: str) -> None:
        while words not in self.text:
            self.text += os.read(self.end, 65_536).decode("utf-8", "replace")

    def type(self, keys: bytes) -> None:
        os.write(self.end, keys)

    def exit_code(self) -> int:
        while True:
            try:
                self.text += os.read(self.end, 65_536).decode("utf-8", "replace")
            except OSError:  # the other end is closed
                return self.process.wait()

    @property
    def lines(self) -> list[str]:
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.text).replace("\r", "").split("\n")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    for name, text in {"script.yaml": SCRIPT, "tools.py": TOOLS, "help.yaml": SPEC}.items():
        (tmp_path / name).write_text(text)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
    env = {**kept, "AGENTIC_HOME": str(tmp_path / "home"), "AGENTIC_USER": "ada", "TERM": "xterm"}
    begun: list[Terminal] = []

    def start(*words: str) -> Terminal:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 80, 0, 0))
        command = [sys.executable, "-c", CONTROLLED, "chat", "help.yaml", *words]
        process = subprocess.Popen(command, cwd=tmp_path, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        begun.append(Terminal(process, ours))
        return begun[-1]

    yield start
    for terminal in begun:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.end)


def test_a_conversation_asks_breaks_lines_between_words_and_ends_with_ctrl_d(
    start: Callable[..., Terminal],
) -> None:
    terminal = start()
    terminal.wait_for("> ")
    terminal.type(b"Pay back order 7.\n")
    terminal.wait_for("y, n or n REASON: ")
    terminal.type(b"y\n")
    terminal.wait_for("word39\r\n")
    terminal.wait_for("> ")
    terminal.type(b"\x04")
    assert terminal.exit_code() == 0
    said = [line for line in terminal.lines if line.startswith("word")]
    assert " ".join(said) == WORDS
    assert [len(line) <= 80 for line in said] == [True] * len(said)
    assert len(said) > 3
    (result,) = [line for line in terminal.lines if line.startswith("  -> xxx")]
    assert len(result) <= 80
    assert "continue: agentic chat help.yaml --thread" in terminal.lines[-2]


def test_ctrl_c_stops_the_answer_and_the_thread_is_continued_by_another_command(
    start: Callable[..., Terminal], tmp_path: Path
) -> None:
    terminal = start("Pay back order 7.")
    terminal.wait_for("y, n or n REASON: ")
    terminal.type(b"n\n")
    assert terminal.exit_code() == 0
    terminal = start("And then?")
    terminal.wait_for("wait()")
    terminal.type(b"\x03")
    assert terminal.exit_code() == 130
    assert "stopped; the thread is kept" in terminal.text
    assert "Traceback" not in terminal.text
    (tmp_path / "go").touch()
    terminal = start()
    terminal.wait_for("the last answer was interrupted; an empty line continues it")
    terminal.wait_for("> ")
    terminal.type(b"\n")
    terminal.wait_for("The second answer.")
    terminal.type(b"\x04")
    assert terminal.exit_code() == 0
