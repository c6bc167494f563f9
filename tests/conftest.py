"""What every kind of test relies on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator

import psutil
import pytest
import structlog
from hypothesis import HealthCheck, settings
from tests.databases import (
    _agentic_postgres,
    backend,
    empty_url,
    migrated_database,
    migrated_file,
    migrated_url,
    postgres,
)

from agentic.core import masking

__all__ = [
    "_agentic_postgres",
    "backend",
    "empty_url",
    "migrated_database",
    "migrated_file",
    "migrated_url",
    "postgres",
]

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

# How long an example takes is the machine's business.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# The tests start hundreds of Python processes; without compiled files each takes twice as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure() -> None:
    """Listen to the signals that tests send: what a shell starts in the background ignores them."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def unconfigured_logging() -> Iterator[None]:
    """Leave no test's log set-up to the next one."""
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
    """Return a function that waits until something holds that other processes bring about."""

    async def wait_until(holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not holds():  # noqa: ASYNC110 - other processes set no event of ours
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
