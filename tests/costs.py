"""What test files cost: CPU seconds of their tests and of the processes that these start and wait for.

``costs.txt`` has an entry for each file that takes more than a second. At the end of a session the files are
listed that took more than twice their entry. Nothing fails: beside a busy process the same test takes half as
long again, and a process that files share counts where it ends. ``pytest --write-costs`` writes the entries
anew.
"""

from __future__ import annotations

import resource
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import pytest

ENTRIES = Path(__file__).with_name("costs.txt")
LEAST_S = 1.0
"""Files that cost less have no entry."""

FACTOR = 2.0
SLACK_S = 5.0
"""Not worth a word: the first file starts servers for all, and loads libraries."""

_SPENT = pytest.StashKey[defaultdict[str, float]]()


def read_entries(path: Path = ENTRIES) -> dict[str, float]:
    """Return the entries: file -> CPU seconds."""
    rows = (line.split(maxsplit=1) for line in path.read_text(encoding="utf-8").splitlines())
    return {file: float(seconds) for seconds, file in rows}


def written(spent: Mapping[str, float]) -> str:
    """Return the entries for what files have cost."""
    rows = sorted((-seconds, file) for file, seconds in spent.items() if seconds >= LEAST_S)
    return "".join(f"{-negative:6.1f} {file}\n" for negative, file in rows)


def excess(spent: Mapping[str, float], entries: Mapping[str, float]) -> Iterator[str]:
    """Yield a line for each file that has cost more than twice its entry, the worst first."""
    for file, seconds in sorted(spent.items(), key=lambda one: -one[1]):
        entry = entries.get(file, LEAST_S)
        if seconds > FACTOR * entry + SLACK_S:
            yield f"{file} took {seconds:.1f} s of CPU; its entry is {entry:.1f} s"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that keeps what was measured."""
    parser.addoption(
        "--write-costs", action="store_true", help="write what each test file costs to costs.txt"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin with nothing spent."""
    nothing: defaultdict[str, float] = defaultdict(float)
    config.stash[_SPENT] = nothing


def spent(config: pytest.Config) -> dict[str, float]:
    """Return what this process has spent: file -> CPU seconds."""
    found = config.stash[_SPENT]
    return dict(found)


def add(config: pytest.Config, more: Mapping[str, float]) -> None:
    """Add what another process has spent."""
    for file, seconds in more.items():
        config.stash[_SPENT][file] += seconds


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Add what a test costs. The end of the last one ends servers that all have used: it says nothing."""
    before = _cpu_s()
    try:
        return (yield)
    finally:
        if nextitem is not None:
            item.config.stash[_SPENT][file_of(item)] += _cpu_s() - before


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List the files that have become slow, or write the entries anew."""
    spent_now = spent(config)
    if config.getoption("--write-costs"):
        known = {file: cost for file, cost in read_entries().items() if (config.rootpath / file).exists()}
        ENTRIES.write_text(written({**known, **spent_now}), encoding="utf-8")
    elif lines := list(excess(spent_now, read_entries())):
        terminalreporter.section("test files that cost more than they used to")
        for line in lines:
            terminalreporter.write_line(line)


def file_of(item: pytest.Item) -> str:
    """Return the file of a test, as the entries name it."""
    return item.nodeid.partition("::")[0]


def _cpu_s() -> float:
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    commands = sys.modules.get("tests.commands")
    forked_s = commands.spent_s() if commands else 0.0
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime + float(forked_s)
