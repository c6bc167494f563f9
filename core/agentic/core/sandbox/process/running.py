"""Runs one command: starts its process, watches it, and ends it at its limits. Blocks its thread."""

from __future__ import annotations

import os
import select
import selectors
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress

from agentic.core.records import record
from agentic.core.sandbox.collecting import collect
from agentic.core.sandbox.errors import SandboxUnavailableError
from agentic.core.sandbox.model import Ending, SandboxJob, SandboxResult, folders_of
from agentic.core.sandbox.process.arguments import WORK, Identity, arguments_of
from agentic.core.sandbox.process.output import NAMES, Emit, ProcessOutput, pipes_of
from agentic.core.sandbox.process.syscalls import seccomp_filter
from agentic.core.sandbox.process.watching import SandboxWatch
from agentic.core.sandbox.tools import SandboxTool

START_S = 60.0
"""Time until a sandbox must be ready; it takes 5 ms on an idle machine."""
_CREDENTIALS = struct.Struct("iii")
_USERS = {"/etc/passwd": b"sandbox:x:%d:%d::/box/tmp:/bin/sh\n", "/etc/group": b"sandbox:x:%d:\n"}


@record(kw_only=True)
class Bubblewrap:
    """The program ``bwrap`` of this machine, and how to start it.

    Attributes:
        path: The program.
    """

    path: str


class BubblewrapRun:
    """One run of a job.

    Args:
        bwrap: The program.
        job: The job.
        tools: Its tools, found.
        identity: The user of the command.
    """

    def __init__(
        self, bwrap: Bubblewrap, job: SandboxJob, tools: Sequence[SandboxTool], identity: Identity
    ) -> None:
        self._bwrap = bwrap
        self._job = job
        self._tools = tools
        self._identity = identity
        self._stopped, self._stop = socket.socketpair()

    def stop(self) -> None:
        """End the run from another thread."""
        with suppress(OSError):
            self._stop.send(b"x")

    def run(self, emit: Emit) -> SandboxResult:
        """Run the command and return its result.

        Args:
            emit: Receives output, in this thread.

        Raises:
            SandboxUnavailableError: The sandbox could not be made.
        """
        with ExitStack() as stack:
            stack.enter_context(self._stopped)
            stack.enter_context(self._stop)
            control, process = self._start(stack)
            stack.callback(_reap, process)
            init, folder, watch = self._met(control, process, stack)
            stack.callback(os.close, init)
            stack.callback(_end, init)
            output = ProcessOutput(self._job.limits.output_bytes, emit)
            begun = time.monotonic()
            control.send(b"\n")
            ended = self._watched(process, output, watch, begun + self._job.limits.time_s)
            wall_s = time.monotonic() - begun
            _end(init)
            exit_code = process.wait()
            output.drain(process)
            collected = collect(folder, self._job)
        return SandboxResult(
            exit_code=exit_code if ended is Ending.EXITED else None,
            ended=ended,
            stdout=output.text("stdout"),
            stderr=output.text("stderr"),
            files=collected.files,
            skipped=collected.skipped,
            wall_s=wall_s,
            memory_bytes=watch.most_bytes,
        )

    def _start(self, stack: ExitStack) -> tuple[socket.socket, subprocess.Popen[bytes]]:
        here, there = socket.socketpair()
        stack.enter_context(here)
        here.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        with there, ExitStack() as contents:  # the process has them, too
            files = self._contents(contents)
            options, command = arguments_of(self._job, self._tools, self._identity, files)
            calls = _in_memory(seccomp_filter(), contents)
            options += ["--seccomp", str(calls)]
            given = _in_memory(b"".join(word.encode() + b"\0" for word in options), contents)
            process = subprocess.Popen(
                [self._bwrap.path, "--args", str(given), "--", *command],
                env={},  # the first process of a sandbox keeps it, where the command can read it
                stdin=there.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(given, calls, *files.values()),
                start_new_session=True,
            )
        return here, process

    def _contents(self, stack: ExitStack) -> dict[str, int]:
        user = self._identity.uid if self._identity.is_root else 1000
        made = {path: _in_memory(text.replace(b"%d", b"%d" % user), stack) for path, text in _USERS.items()}
        return {
            **made,
            **{f"{WORK}/{name}": _in_memory(body, stack) for name, body in self._job.files.items()},
        }

    def _met(
        self, control: socket.socket, process: subprocess.Popen[bytes], stack: ExitStack
    ) -> tuple[int, int, SandboxWatch]:
        """Wait until the sandbox is made; return its first process, its open folder, and a watch over it."""
        word = b""
        credentials: list[tuple[int, int, bytes]] = []
        if _is_ready(control.fileno(), START_S):
            word, credentials, _, _ = control.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
        if word != b"r":
            raise self._unavailable(process)
        pid, _, _ = _CREDENTIALS.unpack(credentials[0][2])
        root = f"/proc/{pid}/root"
        folder = os.open(root + WORK, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, folder)
        if self._identity.is_root:
            self._own(folder)
        watch = SandboxWatch(os.open(f"{root}/proc", os.O_RDONLY | os.O_DIRECTORY), folder, self._job.limits)
        stack.callback(watch.close)
        return os.pidfd_open(_parent_of(pid)), folder, watch

    def _own(self, folder: int) -> None:
        """Give the files to the user of the command, who has not started yet."""
        user = self._identity.uid
        for name in (*self._job.files, *folders_of(self._job.files)):
            os.chown(name, user, user, dir_fd=folder, follow_symlinks=False)
        os.fchown(folder, user, user)

    def _watched(
        self, process: subprocess.Popen[bytes], output: ProcessOutput, watch: SandboxWatch, until: float
    ) -> Ending:
        """Read output until the command ends, or must be ended."""
        exited = os.pidfd_open(process.pid)
        with selectors.DefaultSelector() as waiting:
            try:
                waiting.register(exited, selectors.EVENT_READ, Ending.EXITED)
                waiting.register(self._stopped, selectors.EVENT_READ, Ending.KILLED)
                for name, place in pipes_of(process):
                    waiting.register(place, selectors.EVENT_READ, name)
                while True:
                    found = _step(waiting, output, watch, until)
                    if found is not None:
                        return found
            finally:
                os.close(exited)

    def _unavailable(self, process: subprocess.Popen[bytes]) -> SandboxUnavailableError:
        process.kill()
        _, errors = process.communicate()
        reason = errors.decode("utf-8", "replace").strip()[-400:]
        return SandboxUnavailableError(
            "process", reason or "bwrap did not start", "see the guide on sandboxes: it lists the needs"
        )


def _step(
    waiting: selectors.BaseSelector, output: ProcessOutput, watch: SandboxWatch, until: float
) -> Ending | None:
    wait_s = max(0.0, min(watch.wait_s(), until - time.monotonic()))
    ready = {key.data: key for key, _ in waiting.select(wait_s)}
    for name in NAMES:
        if (key := ready.get(name)) is not None and not output.read(name, key.fd):
            waiting.unregister(key.fd)
    if output.is_over:
        return Ending.OUTPUT
    for ending in (Ending.KILLED, Ending.EXITED):
        if ending in ready:
            return ending
    return Ending.TIME if time.monotonic() >= until else watch.look()


def _in_memory(content: bytes, stack: ExitStack) -> int:
    """Return the descriptor of a file in memory: nothing of a run is ever on the disk."""
    place = os.memfd_create("sandbox")
    stack.callback(os.close, place)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(place, rest) :]
    os.lseek(place, 0, os.SEEK_SET)
    return place


def _parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        return int(file.read().rpartition(b")")[2].split()[1])


def _end(init: int) -> None:
    """End the first process of a sandbox; with it, the kernel ends all others, and this waits for that."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(init, signal.SIGKILL)
    _is_ready(init)


def _is_ready(place: int, wait_s: float | None = None) -> bool:
    """Wait until a descriptor can be read. Any descriptor: ``select`` takes none above 1,023."""
    waiting = select.poll()
    waiting.register(place, select.POLLIN)
    return bool(waiting.poll(None if wait_s is None else wait_s * 1000))


def _reap(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
