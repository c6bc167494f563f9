"""Handlers that end, hang or flood their process: their runs fail, and the others do not notice."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.faults.executors.history import Expected, entries
from tests.faults.executors.poisons import HUGE
from tests.faults.executors.scene import PROCESSES

from agentic.core import RunStatus
from agentic.core.graph.errors import error_type

if TYPE_CHECKING:
    from tests.faults.executors.conftest import MakeStage, Note
    from tests.faults.executors.scene import Scene

pytestmark = [pytest.mark.faults, pytest.mark.integration]

POISONS = "tests.faults.executors.poisons"
FAILS = Expected(status=RunStatus.FAILED, writes_rows=False)

TIME_LIMITS = "task_soft_time_limit = 2\ntask_time_limit = 3\n"
"""Celery interrupts a task that takes longer, and then kills its process."""


@pytest.fixture(scope="module")
def hurried_stage(configured_stage: MakeStage) -> Scene:
    """A place whose workers kill processes that take too long; all have been at work before.

    What a process loads at its first task counts to that one's time limit.
    """
    stage = configured_stage(2, TIME_LIMITS)
    at_work = "SELECT DISTINCT worker FROM activations WHERE status = 'done'"
    while len(stage.read(at_work)) < PROCESSES:
        stage.march(2 * PROCESSES, "short")
        stage.until_ended()
    return stage


@pytest.fixture
def hurried(hurried_stage: Scene) -> Scene:
    """The place with time limits, cleared, with a worker."""
    hurried_stage.worker()
    hurried_stage.clear()
    return hurried_stage


@pytest.mark.parametrize("name", ["kill", "leave"])
def test_an_activation_is_given_up_when_its_processes_die(scene: Scene, note: Note, name: str) -> None:
    check_given_up(scene, note, name)


def test_an_activation_is_given_up_when_it_never_ends_and_its_processes_are_killed(
    hurried: Scene, note: Note
) -> None:
    check_given_up(hurried, note, "spin")


def check_given_up(scene: Scene, note: Note, name: str) -> None:
    handle = scene.submit(f"{POISONS}:poison", name, FAILS)
    scene.march(3, "short")
    figures = scene.check()
    note(figures)
    result = handle.result(10)
    assert "died 2 time(s)" in str(result.error)
    assert scene.read("SELECT status, crashes FROM activations WHERE status = 'dead'") == [("dead", 2)]
    assert count_of(scene, handle.run_id) == 2


@pytest.mark.parametrize(
    ("name", "kind"),
    [("exit", "HandlerStoppedError"), ("hoard", "MemoryError"), ("muddle", "UnencodableError")],
)
def test_an_error_fails_the_run_and_spares_the_process(
    scene: Scene, note: Note, name: str, kind: str
) -> None:
    handle = scene.submit(f"{POISONS}:poison", name, FAILS)
    scene.march(1, "short")
    figures = scene.check()
    note(figures)
    error = handle.result(10).error
    assert error is not None
    assert error_type(error) == kind
    assert (figures.crashes, count_of(scene, handle.run_id)) == (0, 1)


def test_a_large_output_is_kept(scene: Scene, note: Note) -> None:
    scene.submit(f"{POISONS}:poison", "flood", Expected(outputs=("x" * HUGE,)))
    note(scene.check())


def test_of_a_process_that_goes_on_twice_one_result_is_kept(scene: Scene, note: Note) -> None:
    """The other one shares the event loop's files, so that their process is good for nothing afterwards."""
    scene.submit(f"{POISONS}:poison", "fork", Expected(outputs=("forked",)))
    note(scene.check())
    main = psutil.Process(scene.worker().pid)
    for process in main.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # the one that shared the files may have ended by itself
            if process.cmdline() == main.cmdline():
                process.kill()


def test_a_function_that_never_ends_is_given_up(hurried: Scene, note: Note) -> None:
    hurried.submit(f"{POISONS}:sleepless", "", FAILS)
    hurried.march(2, "short")
    note(hurried.check())


def test_a_handler_that_takes_too_long_is_stopped_in_its_process(scene: Scene, note: Note) -> None:
    handle = scene.submit(f"{POISONS}:dawdling", "", FAILS)
    figures = scene.check()
    note(figures)
    assert (figures.crashes, count_of(scene, handle.run_id)) == (0, 1)


def count_of(scene: Scene, run_id: str) -> int:
    return sum(entry.startswith(run_id) for entry in entries(scene.place.path))
