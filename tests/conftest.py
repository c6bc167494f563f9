"""What every kind of test relies on."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import structlog
from hypothesis import HealthCheck, settings
from tests.databases import (
    _agentic_postgres,
    backend,
    empty_url,
    first_file,
    migrated_database,
    migrated_file,
    migrated_url,
    postgres,
)
from tests.property.graph.effort import EFFORT
from tests.quick import be_quick

from agentic.core import masking
from agentic.core.garbage import NEW_OBJECTS

__all__ = [
    "_agentic_postgres",
    "backend",
    "empty_url",
    "first_file",
    "migrated_database",
    "migrated_file",
    "migrated_url",
    "postgres",
]

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

# How long an example takes is the machine's business.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("any machine"), max_examples=33)
settings.load_profile("any machine")

# The tests start hundreds of Python processes; without compiled files each takes twice as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


# Killed processes are tested here and power loss is not, so nothing needs to wait for the disk: a commit of
# SQLite takes 2 ms there, and 0.05 ms in memory.
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 4 * 2**30
"""What has to be free there: the environments that wheels are installed into need most of it."""


TESTED_ON_ONE = [
    Path(__file__).parent / kind / room
    for kind in ("faults", "integration")
    for room in ("executors", "plugins")
]
"""Tests there use a database, and are no tests of it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs every test."""
    parser.addoption(
        "--slow", action="store_true", help="run slow tests, too; those of a file that is named run anyway"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests to `make test-all`, unless their file is asked for."""
    if not is_quick(config):
        return
    slow = {item for item in items if is_slow(item)}
    if slow:
        config.hook.pytest_deselected(items=list(slow))
        items[:] = [item for item in items if item not in slow]


def is_quick(config: pytest.Config) -> bool:
    """Whether slow tests, and two thirds of the examples of properties, are left to `make test-all`."""
    return not config.getoption("--slow") and not any(names_a_file(argument) for argument in config.args)


def names_a_file(argument: str) -> bool:
    """Whether an argument of pytest is a file, or a test of a file."""
    return argument.partition("::")[0].endswith(".py")


def is_slow(item: pytest.Item) -> bool:
    """Whether a test is marked as slow, or shows on PostgreSQL what it shows on SQLite, too.

    The statements are those of the mappers, whose own tests always run on both.
    """
    if item.get_closest_marker("slow"):
        return True
    callspec = getattr(item, "callspec", None)
    if callspec is None or callspec.params.get("backend") != "postgresql":
        return False
    is_only_there = any("backend" in str(mark.args[:1]) for mark in item.iter_markers("parametrize"))
    is_of_them = any(item.path.is_relative_to(folder) for folder in TESTED_ON_ONE)
    return not is_only_there and is_of_them and item.path.name != "test_mapper.py"


def pytest_configure(config: pytest.Config) -> None:
    """Look at few examples unless all are wanted; work in memory; listen to the signals that tests send.

    What a shell puts in the background does not listen to them.
    """
    if is_quick(config) and EFFORT == 1:
        be_quick()
        settings.load_profile("quick")
    if is_roomy(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def is_roomy(folder: Path) -> bool:
    """Whether a folder has room for what tests write, and programs in it may be run."""
    try:
        room = os.statvfs(folder)
    except OSError:
        return False
    free_bytes = min(room.f_bavail * room.f_frsize, psutil.virtual_memory().available)
    return free_bytes > MEMORY_BYTES and not room.f_flag & os.ST_NOEXEC


@pytest.fixture(autouse=True, scope="module")
def no_host_of_another_module() -> Iterator[None]:
    """Forget the pauses that hosts asked for: a port is soon that of another site."""
    yield
    if (budget := sys.modules.get("agentic.core.http.politeness.budget")) is not None:
        budget.PROCESS_BUDGET._times.clear()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Look for no garbage while fifteen thousand tests are collected, nor later in what was loaded for them.

    That takes a quarter of the time of a collection, and a second each time: also for a last time at its end.
    Then look for it as seldom as our workers do: Python's own pace takes a fifth of the time of some tests.

    Meanwhile, another core loads our modules for the commands of all processes that share the tests.
    """
    option = session.config.option
    if option.processes and not option.collectonly and not any(map(names_a_file, session.config.args)):
        from tests.commands import begin_parents

        begin_parents()
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Do once what tests need often, if there is a test that loads it.

    Compile statements for all databases. Load our modules for commands, which takes 3 s of CPU.
    """
    option = session.config.option
    if "tests.commands" in sys.modules and option.processes and not option.collectonly:
        from tests.commands import begin_parents

        begin_parents()
    if "sqlalchemy" in sys.modules:
        from tests.statements import compile_once

        compile_once()


def pytest_unconfigure() -> None:
    """End what the commands of all processes that shared the tests were forked from."""
    if "tests.commands" in sys.modules:
        from tests.commands import end_parents

        end_parents()


@pytest.fixture(autouse=True)
def unconfigured_logging(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave no test's log set-up to the next one: a logger that is kept would be that of its first use."""
    configure = structlog.configure

    def configure_without_keeping(**options: Any) -> None:
        configure(**{**options, "cache_logger_on_first_use": False})

    monkeypatch.setattr(structlog, "configure", configure_without_keeping)
    yield
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def forgotten_secrets() -> Iterator[None]:
    """Leave no test's secrets to the next one: a word such as "other" would be masked in all it prints."""
    before = masking._known, masking._passing
    masking._known, masking._passing = masking.KnownSecrets(), masking.KnownSecrets()
    yield
    masking._known, masking._passing = before


@pytest.fixture
def eventually() -> Eventually:
    """Return a function that waits until something holds, where no event says when."""

    async def wait_until(holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not holds():  # noqa: ASYNC110 - other processes and ledgers set no event
                await asyncio.sleep(0.01)

    return wait_until


@pytest.fixture
def is_alive() -> Callable[[int], bool]:
    """Return a function that tells whether a process runs; a zombie does not."""

    def check(pid: int) -> bool:
        try:
            return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    return check
