"""The checker of histories sees what it is there to see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.faults.executors.history import History
from tests.faults.executors.scene import MODULE, Scene, undisturbed

from agentic.executors import RunClient

pytestmark = [pytest.mark.faults, pytest.mark.integration]

NO_BROKER = "memory://"


@pytest.fixture
def finished(tmp_path: Path, empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[History]:
    """The history of a run that nothing disturbed, in this process."""
    monkeypatch.chdir(tmp_path)
    scene = Scene(tmp_path, empty_database, NO_BROKER)
    with RunClient(scene.settings.model_copy(update={"dispatcher": "local"})) as client:
        handle = client.submit(f"{MODULE}:march", [0])
        handle.result(30)
        yield History(scene.place.database, tmp_path, client, {handle.run_id: undisturbed("march", 0)})
    scene.close()


def test_it_finds_nothing_wrong_with_a_run_that_nothing_disturbed(finished: History) -> None:
    figures = finished.check()
    assert (figures.runs, figures.activations, figures.entries) == (1, 10, 10)


@pytest.mark.parametrize(
    ("invariant", "tampering"),
    [
        ("I1", "UPDATE runs SET status = 'running'"),
        ("I2", "DELETE FROM run_checkpoints WHERE revision = 2"),
        ("I3", "UPDATE activations SET status = 'blocked' WHERE superstep = 1"),
        ("I4", "DELETE FROM fault_rows WHERE superstep = 2"),
        ("I4", "INSERT INTO fault_rows SELECT * FROM fault_rows WHERE superstep = 2"),
        ("I5", "UPDATE fault_rows SET fence = fence + 1 WHERE superstep = 2"),
        ("I5", "UPDATE fault_rows SET pid = pid + 1 WHERE superstep = 2"),
        ("I6", 'DELETE FROM run_events WHERE "first" > 1 AND "last" < 20'),
        ("I7", "UPDATE activations SET status = 'running' WHERE superstep = 1"),
    ],
)
def test_it_finds_what_is_wrong(finished: History, invariant: str, tampering: str) -> None:
    with finished.database.writing() as session:
        session.execute(text(tampering))
    with pytest.raises(AssertionError, match=invariant):
        finished.check()
