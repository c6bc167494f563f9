"""Corpora run when they are asked for, and end with a table of what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@dataclass(slots=True, kw_only=True)
class Line:
    """One line of the table: what became of the files of a corpus.

    Attributes:
        refused: How many files were refused, by reason.
        rows: What they gave: rows of a table, or records of an actor.
        rejected: Entries of which no row can be made.
    """

    corpus: str
    files: int = 0
    read: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    rejected: int = 0
    notes: list[str] = field(default_factory=list)

    def cells(self) -> tuple[str, ...]:
        """Return the texts of the line."""
        refused = ", ".join(f"{count} {reason}" for reason, count in self.refused.most_common())
        numbers = (str(self.files), str(self.read), refused or "-", str(self.rows))
        return (self.corpus, *numbers, str(self.rejected or "-"), "; ".join(self.notes))


HEAD = ("corpus", "files", "read", "refused", "rows", "rejected", "remarks")
LINES = pytest.StashKey[list[Line]]()
Open = Callable[[str], Line]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LINES] = []


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave the folder out unless somebody names it, or its marker: it downloads, and takes minutes."""
    named = any(Path(word.partition("::")[0]).resolve().is_relative_to(HERE) for word in config.args)
    return None if named or "corpus" in str(config.option.markexpr) else True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if lines := config.stash.get(LINES, []):
        terminalreporter.section("corpora")
        for cells in (HEAD, ("---",) * len(HEAD), *(line.cells() for line in lines)):
            terminalreporter.line(f"| {' | '.join(cells)} |")


@pytest.fixture
def line(request: pytest.FixtureRequest) -> Open:
    """Return what opens a line of the closing table: ``line("feedparser 6.0.14")``."""

    def opened(corpus: str) -> Line:
        new = Line(corpus=corpus)
        request.config.stash[LINES].append(new)
        return new

    return opened
