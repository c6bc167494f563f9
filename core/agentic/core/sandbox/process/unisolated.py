"""Plain processes of this machine: limits, but no isolation. Only for code that you trust."""

from __future__ import annotations

import asyncio
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from agentic.core.sandbox.collecting import Collected, collect
from agentic.core.sandbox.errors import SandboxUnavailableError
from agentic.core.sandbox.model import Ending, SandboxJob, SandboxResult
from agentic.core.sandbox.process.arguments import environment_of
from agentic.core.sandbox.process.output import Emit, ProcessOutput, in_own_thread, pipes_of
from agentic.core.sandbox.sandbox import OnOutput, Sandbox
from agentic.core.sandbox.tools import SandboxTool, Toolbox
from agentic.core.threads import in_thread

_TICK_S = 0.02


class UnisolatedSandbox(Sandbox):
    """Runs commands as plain processes: they can read this user's files and use the network.

    A run gets a folder of its own, a clean environment, and limits of time, output, and size of a file.
    Processes that leave its process group outlive it.

    Args:
        tools: The tools that jobs may ask for.
    """

    kind: ClassVar[str] = "unisolated"

    def __init__(self, tools: Toolbox | None = None) -> None:
        self.tools = tools or Toolbox()

    async def run_job(self, job: SandboxJob, on_output: OnOutput | None = None) -> SandboxResult:
        """Run a job; see :meth:`Sandbox.run`."""
        if os.name != "posix":
            raise SandboxUnavailableError(
                self.kind, "it needs a POSIX system", "use the sandbox 'docker' or 'remote'"
            )
        tools = [await asyncio.to_thread(self.tools.find, name) for name in job.tools]
        folder = Path(await in_thread(tempfile.mkdtemp, prefix="agentic-sandbox-"))
        try:
            return await in_own_thread(_PlainRun(folder, job, tools), on_output)
        finally:
            await in_thread(shutil.rmtree, folder, ignore_errors=True)


def _prepare(folder: Path, job: SandboxJob, tools: list[SandboxTool]) -> None:
    mounts = [mount for tool in tools for mount in tool.mounts]
    for name in ("work", "home", "tools"):
        (folder / name).mkdir()
    for at, source in mounts:
        place = folder / "tools" / at
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(source)
    for name, content in job.files.items():
        path = folder / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class _PlainRun:
    """One run of a job, in a folder."""

    def __init__(self, folder: Path, job: SandboxJob, tools: list[SandboxTool]) -> None:
        self._folder = folder
        self._job = job
        self._tools = tools
        self._is_stopped = False

    def stop(self) -> None:
        self._is_stopped = True

    def run(self, emit: Emit) -> SandboxResult:
        _prepare(self._folder, self._job, self._tools)
        output = ProcessOutput(self._job.limits.output_bytes, emit)
        begun = time.monotonic()
        with self._started() as process:
            try:
                ended = self._watched(process, output, begun + self._job.limits.time_s)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            output.drain(process)
        collected = _collected(self._folder / "work", self._job)
        return SandboxResult(
            exit_code=(code if code >= 0 else 128 - code) if ended is Ending.EXITED else None,
            ended=ended,
            stdout=output.text("stdout"),
            stderr=output.text("stderr"),
            files=collected.files,
            skipped=collected.skipped,
            wall_s=time.monotonic() - begun,
        )

    def _started(self) -> subprocess.Popen[bytes]:
        below, home = str(self._folder / "tools"), str(self._folder / "home")
        return subprocess.Popen(
            [*_limits(self._job), "/bin/sh", "-c", 'exec "$@"', "sh", *self._job.command],
            cwd=self._folder / "work",
            env=environment_of(self._job, self._tools, below=below, home=home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def _watched(self, process: subprocess.Popen[bytes], output: ProcessOutput, until: float) -> Ending:
        with selectors.DefaultSelector() as waiting:
            for name, place in pipes_of(process):
                waiting.register(place, selectors.EVENT_READ, name)
            while True:
                for key, _ in waiting.select(_TICK_S):
                    if not output.read(key.data, key.fd):
                        waiting.unregister(key.fd)
                if output.is_over:
                    return Ending.OUTPUT
                if self._is_stopped:
                    return Ending.KILLED
                if process.poll() is not None:
                    return Ending.EXITED
                if time.monotonic() >= until:
                    return Ending.TIME


def _limits(job: SandboxJob) -> list[str]:
    if shutil.which("prlimit") is None:  # not on Linux
        return []
    return ["prlimit", f"--data={job.limits.memory_bytes}", f"--fsize={job.limits.disk_bytes}", "--core=0"]


def _collected(folder: Path, job: SandboxJob) -> Collected:
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return collect(place, job)
    finally:
        os.close(place)
