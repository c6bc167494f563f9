"""Starts services in order, keeps them up, and leaves none behind."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agentic.core.logging import get_logger
from agentic.core.services.child import ServiceProcess, describe_exit
from agentic.core.services.errors import ServiceError, ServiceFailedError
from agentic.core.services.home import SupervisorHome
from agentic.core.services.processes import end_leftovers
from agentic.core.services.service import Service

log = get_logger(__name__)

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_QUICK_DEATH_S = 30.0
_MAX_QUICK_DEATHS = 5
_FIRST_BACKOFF_S = 0.1
LOGS_EVERY_S = 30.0
"""Interval between checks of log sizes."""
_MAX_BACKOFF_S = 5.0


class ServiceSupervisor:
    """Keeps ``services`` running, around a block or until a signal.

    As a context manager it starts them in order, each when the one before is ready, and stops them in reverse
    order at the end of the block. A service that ends is restarted on its old port; if it keeps ending, the
    block is cancelled and raises :class:`ServiceFailedError`. Use it from the main thread, because the kernel
    ends the services with the thread that started them.

    Args:
        home: Folder for lock, logs and ``runtime.json``; for one supervisor at a time.
        services: In the order to start them.
    """

    def __init__(self, home: Path, services: Sequence[Service]) -> None:
        self._home = SupervisorHome(home)
        self._services = services
        self._children: list[ServiceProcess] = []
        self._urls: dict[str, str] = {}
        self._watchers: list[asyncio.Task[None]] = []
        self._owner: asyncio.Task[Any] | None = None
        self._failure: ServiceError | None = None
        self._is_stopping = False

    @property
    def urls(self) -> Mapping[str, str]:
        """Addresses of the services that are ready, by name: ``{"nats": "nats://127.0.0.1:24001"}``."""
        return dict(self._urls)

    async def __aenter__(self) -> Self:
        self._home.acquire()
        self._owner = asyncio.current_task()
        try:
            await end_leftovers(self._home.leftovers())
            for service in self._services:
                await self._start(service)
            self._watchers.append(asyncio.create_task(self._keep_logs_small(), name="logs"))
        except BaseException as exc:
            await self.__aexit__(type(exc), exc, exc.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()
        if self._failure is None or self._owner is None:
            return
        # As in asyncio.timeout: our own cancellation becomes the error, other cancellations continue.
        if self._owner.uncancel() == 0 and (error is None or isinstance(error, asyncio.CancelledError)):
            raise self._failure

    async def run_until_stopped(self, on_ready: Callable[[Mapping[str, str]], None]) -> None:
        """Run the services until SIGINT, SIGTERM or SIGHUP, then stop them; a second signal kills them.

        Args:
            on_ready: Called with :attr:`urls` when all are ready.

        Raises:
            HomeInUseError: Another supervisor uses this home.
            ServiceFailedError: A service cannot be started or does not stay up.
        """
        serving = asyncio.create_task(self._serve(on_ready), name="supervisor")
        loop = asyncio.get_running_loop()
        received: list[signal.Signals] = []

        def on_signal(number: signal.Signals) -> None:
            received.append(number)
            if len(received) == 1:
                serving.cancel()
            else:
                self._kill()

        # An ignored signal, such as SIGHUP under nohup, stays ignored.
        heeded = [number for number in _STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in heeded:
            loop.add_signal_handler(number, on_signal, number)
        try:
            await serving
        except asyncio.CancelledError:
            if not received:
                raise
        finally:
            for number in heeded:
                loop.remove_signal_handler(number)

    async def _serve(self, on_ready: Callable[[Mapping[str, str]], None]) -> None:
        async with self:
            on_ready(self.urls)
            await asyncio.Event().wait()

    async def _start(self, service: Service) -> None:
        child = ServiceProcess(service, self._home.log_path(service.name))
        self._children.append(child)
        await self._bring_up(child)
        log.info("service.started", service=service.name)
        watcher = asyncio.create_task(self._keep_up(child), name=f"watch {service.name}")
        watcher.add_done_callback(partial(self._on_watcher_done, child))
        self._watchers.append(watcher)

    async def _bring_up(self, child: ServiceProcess) -> None:
        await child.spawn()
        self._write_note()
        await child.wait_ready()
        self._urls.update(child.service.urls)
        self._write_note()

    async def _keep_up(self, child: ServiceProcess) -> None:
        """Restart the service each time it ends; fail if it does not stay up."""
        name = child.service.name
        quick_deaths = 0
        started = time.monotonic()
        while True:
            ended_by = describe_exit(await child.wait_exit())
            child.kill()
            quick_deaths = quick_deaths + 1 if time.monotonic() - started < _QUICK_DEATH_S else 1
            if quick_deaths >= _MAX_QUICK_DEATHS:
                raise child.failure(f"ended {quick_deaths} times shortly after its start, last by {ended_by}")
            wait_s = min(_FIRST_BACKOFF_S * 3 ** (quick_deaths - 1), _MAX_BACKOFF_S)
            log.warning("service.ended", service=name, by=ended_by, wait_s=round(wait_s, 1))
            await asyncio.sleep(wait_s)
            started = time.monotonic()
            try:
                await self._bring_up(child)
                log.warning("service.restarted", service=name)
            except ServiceFailedError as exc:
                log.warning("service.unready", service=name, reason=exc.reason)
                child.kill()

    async def _keep_logs_small(self) -> None:
        while True:
            await asyncio.sleep(LOGS_EVERY_S)
            try:
                await asyncio.to_thread(self._home.trim_logs)
            except OSError as exc:
                log.warning("logs.untrimmed", reason=str(exc))

    def _on_watcher_done(self, child: ServiceProcess, watcher: asyncio.Task[None]) -> None:
        """End the block when a service has failed."""
        fault = None if watcher.cancelled() else watcher.exception()
        if fault is None or self._is_stopping or self._failure is not None:
            return
        if not isinstance(fault, ServiceError):
            fault = child.failure(f"cannot be restarted: {fault}")
        self._failure = fault
        if self._owner is not None:
            self._owner.cancel()

    async def _stop(self) -> None:
        self._is_stopping = True
        for watcher in self._watchers:
            watcher.cancel()
        try:
            await asyncio.gather(*self._watchers, return_exceptions=True)
            for child in reversed(self._children):
                await child.stop()
                log.info("service.stopped", service=child.service.name)
        except asyncio.CancelledError:
            self._kill()
            raise
        finally:
            self._home.release()

    def _kill(self) -> None:
        for child in self._children:
            child.kill()

    def _write_note(self) -> None:
        pids = {child.service.name: child.pid for child in self._children}
        self._home.write_note(self._urls, {name: pid for name, pid in pids.items() if pid is not None})
