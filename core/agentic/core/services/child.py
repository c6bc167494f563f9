"""One service's process, from its start to its end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from agentic.core.private import open_private
from agentic.core.services import launcher
from agentic.core.services.errors import ServiceFailedError
from agentic.core.services.processes import signal_group
from agentic.core.services.service import Service, is_ready

_POLL_S = 0.05
_TAIL_BYTES = 2000
_TAIL_LINES = 5


class ServiceProcess:
    """Runs ``service`` in a session of its own: a Ctrl-C reaches only us, and we stop it in order.

    It dies with this process, also after a SIGKILL (see :mod:`agentic.core.services.launcher`); on Linux,
    only if it was started from a thread that lives as long as the process: the main one.
    """

    def __init__(self, service: Service, log_path: Path) -> None:
        self.service = service
        self._log_path = log_path
        self._log_start = 0
        self._process: asyncio.subprocess.Process | None = None
        self._exit: asyncio.Task[int] | None = None

    @property
    def pid(self) -> int | None:
        """The running process, if there is one."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def spawn(self) -> None:
        """Start the process; its output goes to the log file."""
        command = [sys.executable, "-S", "-E", launcher.__file__, str(os.getpid()), *self.service.command]
        with self._open_log() as log_file:
            self._log_start = log_file.tell()
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log_file,
                stderr=asyncio.subprocess.STDOUT,
                env={**os.environ, **self.service.env},
                start_new_session=True,
                umask=self.service.umask,
            )
        self._exit = asyncio.create_task(self._process.wait(), name=f"exit of {self.service.name}")

    async def wait_ready(self) -> None:
        """Wait until the service accepts requests.

        Raises:
            ServiceFailedError: It ended, or was not ready in time.
        """
        try:
            async with asyncio.timeout(self.service.ready_timeout_s):
                while not await is_ready(self.service):
                    self._check_alive()
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            raise self.failure(f"was not ready after {self.service.ready_timeout_s:g} s") from None
        self._check_alive()

    async def wait_exit(self) -> int:
        """Wait for the end of the process and return its exit code, negative for a signal."""
        if self._exit is None:
            return 0
        return await asyncio.shield(self._exit)

    async def stop(self) -> None:
        """Ask the process to end, kill it after its grace period, and kill the processes it left behind."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(self.service.stop_signal)
        try:
            async with asyncio.timeout(self.service.stop_grace_s):
                await self.wait_exit()
        except TimeoutError:
            pass
        finally:
            self.kill()
        await self.wait_exit()

    def kill(self) -> None:
        """Kill the process and all processes it has started."""
        if self._process is not None:
            signal_group(self._process.pid, signal.SIGKILL)

    def failure(self, reason: str) -> ServiceFailedError:
        """Return the error for ``reason``, with the end of the log."""
        return ServiceFailedError(self.service.name, reason, self._log_path, self._log_tail())

    def _open_log(self) -> BinaryIO:
        return open(self._log_path, "ab", opener=open_private)

    def _check_alive(self) -> None:
        code = self._process.returncode if self._process else None
        if code is not None:
            raise self.failure(f"ended before it was ready ({describe_exit(code)})")

    def _log_tail(self) -> str:
        with self._log_path.open("rb") as log_file:
            size = log_file.seek(0, os.SEEK_END)
            log_file.seek(max(self._log_start, size - _TAIL_BYTES))
            lines = log_file.read().decode(errors="replace").splitlines()
        return "\n".join([line for line in lines if line.strip()][-_TAIL_LINES:])


def describe_exit(code: int) -> str:
    """Return an exit code in words."""
    return f"signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"exit code {code}"
