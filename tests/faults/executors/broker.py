"""A real broker of these tests' own, as ``agentic up`` starts one, to be killed, filled and cut off."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import redis
from tests.integration.executors.conftest import Place

from agentic.core.services import valkey_service

# A server that ignores the signal is told by an error that its files may not grow, as on a full disk.
_PATIENT = ("sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh")


class Broker:
    """A Valkey server that keeps what it has in a file.

    Args:
        folder: An empty one.
        options: Further ones of the server: ``"--requirepass", "secret"``.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        service = valkey_service(folder)
        self._command = (*_PATIENT, *service.command, *options)
        self._url = service.urls["broker"]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def url(self, number: int) -> str:
        """Return what leads to one of the places it has."""
        return f"{self._url.rpartition('/')[0]}/{number}"

    def start(self) -> None:
        """Start it, where it was and with what it had before; wait until it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        try:
            Place.eventually(self._answers)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def do(self, *words: str) -> None:
        """Have it do something."""
        with self.client() as client:
            client.execute_command(*words)

    def client(self, number: int = 0) -> redis.Redis:
        """Return a client for one of the places."""
        return redis.Redis.from_url(self.url(number))

    def may_write(self, *, is_so: bool) -> None:
        """Let its files grow, or not."""
        assert self._process is not None
        limit = psutil.RLIM_INFINITY if is_so else 0
        psutil.Process(self._process.pid).rlimit(psutil.RLIMIT_FSIZE, (limit, psutil.RLIM_INFINITY))

    def _answers(self) -> bool:
        with suppress(redis.RedisError), self.client() as client:
            return bool(client.ping())
        return False
