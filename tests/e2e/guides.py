"""Guides of the documentation, followed word by word: what they say is typed, what they show is compared.

``console`` blocks of a page are typed at a shell, one command after the other, and ``diff`` blocks applied.
``yaml`` and ``python`` blocks that begin with ``# NAME`` are saved under that name. A command that shows
``^C`` is interrupted, and one that shows ``agentic: ...`` is refused.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

Varying = tuple[re.Pattern[str], str]
"""Text that differs from time to time, and the word to compare in its place."""

_BLOCK = re.compile(r"^```(console|diff|yaml|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.(?:yaml|py))\n")
_INTERRUPTED, _REFUSED = "^C", "agentic: "
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_ID = re.compile(r"\b[0-9a-f]{32}\b")
_IDS = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{12})\b")
_VARYING: tuple[Varying, ...] = (
    (_ID, "ID"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "SHORT"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)?s\b( \(\d+:\d\d:\d\d\))?"), "DURATION"),
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\s+"), " "),
)
_BEGINNING = re.compile(r"\b[0-9a-f]{8,32}\b")
_ENDED = "~~ended~~"


@dataclass(frozen=True, slots=True)
class Command:
    """What is to be typed, and what is shown of the answer: nothing, if it does not matter."""

    text: str
    shown: str

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C is pressed while it runs."""
        return _INTERRUPTED in self.shown.splitlines()

    @property
    def code(self) -> int:
        """The exit code that fits what is shown."""
        if self.is_interrupted:
            return 130
        return int(any(line.startswith(_REFUSED) for line in self.shown.splitlines()))


@dataclass(frozen=True, slots=True)
class File:
    """A file to be saved: a block with its name in the first line."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """Lines of a file to be replaced: what a ``diff`` block shows, which needs no numbers of lines."""

    path: str
    before: str
    after: str

    def apply(self, folder: Path) -> None:
        """Change the file, which has the lines once."""
        text = (folder / self.path).read_text(encoding="utf-8")
        assert text.count(self.before) == 1, f"{self.path} does not have once:\n{self.before}"
        (folder / self.path).write_text(text.replace(self.before, self.after), encoding="utf-8")


def steps_of(page: str) -> Iterator[Command | Change | File]:
    """Yield what a page says is to be done, in its order."""
    for kind, block in _BLOCK.findall(page):
        if kind == "console":
            yield from (Command(text, shown) for text, shown in _COMMAND.findall(block))
        elif kind == "diff":
            yield from _changes(block)
        elif named := _FILE.match(block):
            yield File(named[1], block)


def _changes(block: str) -> Iterator[Change]:
    for part in re.split(r"^--- ", block, flags=re.MULTILINE)[1:]:
        path, _, body = part.partition("\n")
        lines = body.splitlines(keepends=True)
        yield Change(
            path.strip(),
            before="".join(line[1:] for line in lines if line[0] != "+"),
            after="".join(line[1:] for line in lines if line[0] != "-"),
        )


class Shell:
    """A shell between ``with`` and its end; what was left at work in it is told to end.

    Ids differ from those of a page: where one of these was shown, commands after it get the one that is here.

    Args:
        folder: Where it begins.
        environment: Its variables.
        varying: What else differs from time to time.
        await_ctrl_c: Returns when it is time to interrupt a command; needed for pages that do so.

    Attributes:
        folder: Where it is.
        printed: What the last command printed.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        varying: Sequence[Varying] = (),
        await_ctrl_c: Callable[[], None] | None = None,
    ) -> None:
        self.folder = folder
        self.printed = ""
        self._environment = environment
        self._varying = (*varying, *_VARYING)
        self._await_ctrl_c = await_ctrl_c
        self._ids: dict[str, str] = {}

    def follow(self, page: str) -> None:
        """Do what a page says, and compare what it shows."""
        for step in steps_of(page):
            self.take(step)

    def take(self, step: Command | Change | File) -> None:
        """Do one step of a page."""
        match step:
            case Change():
                step.apply(self.folder)
            case File(path, text):
                (self.folder / path).write_text(text, encoding="utf-8")
            case Command():
                self._type(step)

    def __enter__(self) -> Self:
        self._bash = subprocess.Popen(
            ["bash", "--norc", "-o", "pipefail"],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.killpg(self._bash.pid, signal.SIGTERM)
        self._bash.communicate(timeout=60)

    def _type(self, command: Command) -> None:
        """Type a command; wait for its end, or of one in the background for the last line that is shown."""
        is_lasting = command.text.endswith("&")
        self._write(_BEGINNING.sub(self._known, command.text))
        if is_lasting:
            printed = self._read_until(command.shown.splitlines()[-1]) if command.shown else ""
        else:
            self._write(f"echo {_ENDED} $? $PWD")
            if command.is_interrupted:
                self._interrupt()
            printed = self._read_until(_ENDED)
            printed, _, ended = printed.rpartition(_ENDED)
            code, place = ended.split(maxsplit=1)
            assert int(code) == command.code, f"{command.text!r} ended with {code}:\n{printed}"
            self.folder = Path(place.strip())
        self.printed = printed
        if command.shown:
            pattern = self._pattern(command.shown.replace(f"{_INTERRUPTED}\n", ""))
            assert re.fullmatch(pattern, self._fixed(printed)), f"{command.text!r} says\n{printed}\n{pattern}"
            self._ids.update(zip(_IDS.findall(command.shown), _IDS.findall(printed), strict=False))

    def _interrupt(self) -> None:
        """Send what Ctrl-C sends, to the newest process of the shell: others work in the background."""
        assert self._await_ctrl_c is not None, "a page shows ^C: await_ctrl_c says when to press it"
        self._await_ctrl_c()
        newest = max(psutil.Process(self._bash.pid).children(), key=psutil.Process.create_time)
        newest.send_signal(signal.SIGINT)

    def _pattern(self, shown: str) -> str:
        """Return a pattern for what is shown, in which ``...`` stands for anything; more dots are dots."""
        return ".*".join(map(re.escape, re.split(r"(?<!\.)\.{3}(?!\.)", self._fixed(shown))))

    def _fixed(self, text: str) -> str:
        """Put words in place of what differs from time to time, ids as an example."""
        for pattern, word in self._varying:
            text = pattern.sub(word, text)
        return text.strip()

    def _known(self, found: re.Match[str]) -> str:
        """Return the beginning of the id that is here, for one of the page."""
        word = found[0]
        return next((here[: len(word)] for id_, here in self._ids.items() if id_.startswith(word)), word)

    def _write(self, line: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"{line}\n")
        self._bash.stdin.flush()

    def _read_until(self, last: str) -> str:
        assert self._bash.stdout is not None
        read: list[str] = []
        for line in self._bash.stdout:
            read.append(line)
            if last in line:
                return "".join(read)
        raise AssertionError(f"the shell ended before it said {last!r}:\n{''.join(read)}")
