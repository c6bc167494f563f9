"""Servers and workers to disturb, and a table of what came of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.faults.executors.broker import Broker
from tests.faults.executors.history import Figures
from tests.faults.executors.scene import Scene
from tests.integration.executors.conftest import empty_database

__all__ = ["empty_database"]

MakeStage = Callable[[int, str], Scene]
Note = Callable[[Figures], None]

_HEAD = (
    "| test | runs | activations | repeated | kills | claims lost | rows lost | doubled | overdue | s |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
)
_TABLE = pytest.StashKey[list[str]]()


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Note:
    """Return a function that puts figures into the table that is printed at the end."""

    def add(found: Figures) -> None:
        counts = (found.runs, found.activations, found.repeated, found.kills, found.crashes)
        rows = (found.lost, found.doubled, f"{found.overdue_s:.1f}", f"{found.took_s:.1f}")
        line = " | ".join(map(str, (_told(request.node), *counts, *rows)))
        request.config.stash.setdefault(_TABLE, []).append(f"| {line} |")

    return add


def _told(test: pytest.Item) -> str:
    """Return what a test is about, in words."""
    about = test.path.stem.removeprefix("test_").replace("_", " ")
    return f"{about}: {test.name.removeprefix('test_').replace('_', ' ')}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table."""
    lines = config.stash.get(_TABLE, [])
    if not lines:
        return
    terminalreporter.section("fault tests")
    for line in (*_HEAD, *lines):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """The broker of all these tests: disturb it, but leave it as it was."""
    with Broker(tmp_path_factory.mktemp("broker")) as server:
        yield server


@pytest.fixture(scope="session")
def shared_stage(
    tmp_path_factory: pytest.TempPathFactory, broker: Broker, empty_database: Path
) -> Iterator[Scene]:
    """A place for all tests that need nothing special; its workers are started when they are needed."""
    scene = Scene(tmp_path_factory.mktemp("stage"), empty_database, broker.url(0))
    yield scene
    scene.close()


@pytest.fixture(scope="module")
def configured_stage(
    tmp_path_factory: pytest.TempPathFactory, broker: Broker, empty_database: Path
) -> Iterator[MakeStage]:
    """Return a function that makes a place whose workers have settings of their own.

    It is given which place of the broker to use, and what to add to ``celeryconfig.py``.
    """
    made: list[Scene] = []

    def make(number: int, config: str) -> Scene:
        scene = Scene(tmp_path_factory.mktemp("stage"), empty_database, broker.url(number))
        with (scene.place.path / "celeryconfig.py").open("a") as file:
            file.write(config)
        made.append(scene)
        return scene

    yield make
    for scene in made:
        scene.close()


@pytest.fixture(scope="module")
def stage(shared_stage: Scene) -> Iterator[Scene]:
    """The place of a module's tests, unless it has one of its own."""
    yield shared_stage
    shared_stage.end_workers()  # they sweep twice a second, else to the end of all tests


@pytest.fixture
def scene(stage: Scene) -> Scene:
    """The place, cleared, with a worker."""
    stage.worker()
    stage.clear()
    return stage
