"""The broker forgets, goes away, or takes nothing for a while: runs go on when it is back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis
from tests.faults.executors.broker import Broker
from tests.faults.executors.disturbing import (
    Trouble,
    drops_connections,
    forgets,
    has_no_room,
    is_away,
    is_full,
    is_read_only,
    restarts,
)

from agentic.core.settings import load_settings
from agentic.executors.checks import look_around

if TYPE_CHECKING:
    from tests.faults.executors.conftest import Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]

BACK_WITHIN_S = 60.0


@pytest.mark.parametrize("trouble", [forgets, drops_connections, restarts, is_away])
def test_workers_need_no_restart_when_the_broker(
    scene: Scene, broker: Broker, note: Note, trouble: Trouble
) -> None:
    worker = scene.worker()
    disturb(scene, broker, trouble)
    figures = scene.check()
    note(figures)
    assert figures.repeated <= figures.crashes
    assert worker.poll() is None
    assert figures.took_s < BACK_WITHIN_S


@pytest.mark.parametrize("trouble", [is_full, is_read_only, has_no_room])
def test_no_run_is_lost_when_the_broker(scene: Scene, broker: Broker, note: Note, trouble: Trouble) -> None:
    """Celery 5.7 takes what a broker says then for a fault of its own, and ends the worker."""
    disturb(scene, broker, trouble)
    note(scene.check())


def test_doctor_says_that_the_disk_of_the_broker_is_full(tmp_path: Path) -> None:
    with Broker(tmp_path) as broker:
        broker.may_write(is_so=False)
        with suppress(redis.ResponseError):  # it says so, too
            broker.do("SET", "anything", "written")
        settings = load_settings(home=tmp_path, broker_url=broker.url(0))
        told = [finding.text for finding in look_around(settings)]
    assert any("Errors writing to the AOF file" in text for text in told)


def disturb(scene: Scene, broker: Broker, trouble: Trouble) -> None:
    """Submit runs before and after trouble, and while it lasts."""
    scene.march(5)
    scene.until_under_way()
    with ThreadPoolExecutor(1) as threads:
        troubled = threads.submit(trouble, broker)
        scene.march(1)
        troubled.result()
    scene.march(2)
