"""Runs executions in this process, for commands and scripts: no server is needed."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from agentic.core.bus import open_bus
from agentic.core.garbage import collect_seldom
from agentic.core.settings import Settings
from agentic.core.threads import in_thread
from agentic.executors.durable.process_names import process_name
from agentic.executors.runner import EventListener, ExecutionOutcome, Host, find_both, run_execution
from agentic.mappers import Database, ExecutionModel


def run_locally(
    execution: ExecutionModel,
    *,
    database: Database,
    settings: Settings,
    on_event: EventListener | None = None,
) -> ExecutionOutcome:
    """Run an execution on an event loop of its own and wait for its end; main thread only.

    Events go to the NATS server of ``settings``, if there is one. Ctrl-C and SIGTERM end the execution as
    cancelled. This process looks for garbage less often from now on.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
        SystemExit: SIGTERM came.
        UnknownExecutionError: The execution was removed meanwhile.
    """

    async def run() -> ExecutionOutcome:
        _, agent = await in_thread(find_both, database, execution.id, execution.agent_id)
        async with open_bus(settings, agent.project.name) as bus:
            known = None if settings.nats is None else bus
            host = Host(
                database=database,
                bus=known,
                worker=process_name(),
                lease_s=settings.lease_s,
                shows_errors=True,
            )
            return await run_execution(execution.id, execution.agent_id, host=host, on_event=on_event)

    collect_seldom()
    with _terminable(), asyncio.Runner(loop_factory=_new_event_loop) as runner:
        return runner.run(run())


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new loop: uvloop's, which takes an eighth off the CPU time of a crawl; Python's on Windows.

    A worker's is Python's: what blocks uvloop's cannot be seen from outside, and so nobody be told.
    """
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop  # takes some milliseconds that commands which run nothing do not need

    return uvloop.new_event_loop()


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, but with the exit code of a terminated process."""

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
