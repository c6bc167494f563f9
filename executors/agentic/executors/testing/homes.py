"""The test's own home, where everything runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

_AGENTIC = (sys.executable, "-m", "agentic.core.cli")
_READY = "ready;"


class Home:
    """A folder with ``agentic up``: broker, NATS, a worker; between ``with`` and its end.

    Args:
        path: An empty folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log = path / "up.log"
        self._up: subprocess.Popen[bytes] | None = None

    @property
    def env(self) -> Mapping[str, str]:
        """The environment of commands in this home."""
        given = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
        return {**given, "AGENTIC_HOME": str(self.path / "home")}

    def agentic(self, *arguments: str, timeout_s: float = 60) -> str:
        """Run a command of ``agentic``; return its output.

        Raises:
            subprocess.CalledProcessError: It failed; ``stderr`` says why.
        """
        done = subprocess.run(
            [*_AGENTIC, *arguments],
            cwd=self.path,
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
            timeout=timeout_s,
        )
        return done.stdout

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._up = subprocess.Popen(
                [*_AGENTIC, "up", "--no-flower"], cwd=self.path, env=self.env, stdout=log, stderr=log
            )
        try:
            self._wait()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _wait(self, for_s: float = 60) -> None:
        deadline = time.monotonic() + for_s
        while _READY not in (said := self._log.read_text(encoding="utf-8", errors="replace")):
            if self._up is None or self._up.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"`agentic up` was not ready in time:\n{said}")
            time.sleep(0.05)

    def _end(self) -> None:
        if self._up is not None:
            self._up.terminate()
            try:
                self._up.wait(30)
            except subprocess.TimeoutExpired:
                self._up.kill()
                self._up.wait()
