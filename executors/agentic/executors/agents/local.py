"""Runs executions in this process, for commands and scripts: no server is needed."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sqlalchemy.exc import SQLAlchemyError

from agentic.core.bus import open_bus
from agentic.core.errors import AgenticError, line_of
from agentic.core.garbage import tune_gc
from agentic.core.logging import get_logger
from agentic.core.settings import Settings
from agentic.core.threads import in_thread
from agentic.executors.agents.runner import EventListener, ExecutionOutcome, find_both, run_execution
from agentic.mappers import Database, ExecutionModel
from agentic.mappers.notifications.outbox import projects_with_due

log = get_logger(__name__)

STANDS_S = 5.0
"""A loop that ignores Ctrl-C for this time is blocked."""


def run_locally(
    execution: ExecutionModel,
    *,
    database: Database,
    settings: Settings,
    on_event: EventListener | None = None,
) -> ExecutionOutcome:
    """Run an execution on its own event loop and wait for its end; main thread only.

    Events go to the NATS server of ``settings``, if there is one. Due notifications are sent at the end; a
    failure is logged, and changes nothing else. Ctrl-C and SIGTERM end the execution as
    cancelled. From now on this process collects garbage less often.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
        SystemExit: SIGTERM came.
        UnknownExecutionError: The execution was removed meanwhile.
    """

    async def run() -> ExecutionOutcome:
        with ended_if_it_stands():
            return await run_on_loop()

    async def run_on_loop() -> ExecutionOutcome:
        _, agent = await in_thread(find_both, database, execution.id, execution.agent_id)
        async with open_bus(settings, agent.project.name) as bus:
            known = None if settings.nats is None else bus
            outcome = await run_execution(
                execution.id,
                execution.agent_id,
                database=database,
                bus=known,
                lease_s=settings.lease_s,
                on_event=on_event,
                log_level=logging.INFO,
            )
        await send_due(database, settings, agent.project_id)
        return outcome

    tune_gc()
    with _terminable(), asyncio.Runner(loop_factory=_new_event_loop) as runner:
        return runner.run(run())


async def send_due(database: Database, settings: Settings, project_id: str) -> None:
    """Send the due notifications of a project: perhaps no worker will. A failure is logged."""
    try:
        if not await in_thread(_has_due, database, project_id):
            return
        from agentic.executors.notifications.sending import NotificationSender

        await NotificationSender(database, settings).send_due(project_id)
    except (AgenticError, SQLAlchemyError) as exc:  # the run has ended well
        log.warning("notifications.waiting", reason=line_of(exc))


def _has_due(database: Database, project_id: str) -> bool:
    with database.reading() as session:
        return project_id in projects_with_due(session)


@contextmanager
def ended_if_it_stands() -> Iterator[None]:
    """End the process on Ctrl-C when a handler blocks the running loop, so that it cannot react.

    In the main thread only. A loop that reacts cancels its work. This fails only while a C function blocks
    all of Python.
    """
    loop = asyncio.get_running_loop()
    previous = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: FrameType | None) -> None:
        noticed = threading.Event()
        loop.call_soon_threadsafe(noticed.set)
        threading.Thread(target=_end_unless, args=(noticed,), name="agentic-interrupt", daemon=True).start()
        if callable(previous):
            previous(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if previous is None else previous)


def _end_unless(noticed: threading.Event) -> None:
    if not noticed.wait(STANDS_S):
        sys.stderr.write("agentic: a handler does not stop, so this process is killed\n")
        sys.stderr.flush()
        os._exit(128 + signal.SIGINT)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new loop: uvloop's, which takes an eighth off the CPU time of a crawl; Python's on Windows.

    A worker uses Python's: code that blocks uvloop's loop cannot be seen from outside, or reported.
    """
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop  # takes some milliseconds that commands which run nothing do not need

    return uvloop.new_event_loop()


@contextmanager
def _terminable() -> Iterator[None]:
    """Make SIGTERM end the block like Ctrl-C, but with the exit code of a terminated process."""

    def interrupt(*_: object) -> None:
        is_terminated.append(True)
        signal.raise_signal(signal.SIGINT)  # which asyncio.run turns into a cancellation

    is_terminated: list[bool] = []
    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        if is_terminated:
            raise SystemExit(128 + signal.SIGTERM) from None
        raise
    finally:
        signal.signal(signal.SIGTERM, previous)
