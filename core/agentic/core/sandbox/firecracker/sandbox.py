"""Virtual machines: one for each run, with a kernel of its own and without a network."""

from __future__ import annotations

import asyncio
import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Protocol

from pydantic import ValidationError

from agentic.core.sandbox.collecting import held_to_limits
from agentic.core.sandbox.errors import SandboxLostError, SandboxUnavailableError, UnknownToolError
from agentic.core.sandbox.firecracker.guest import read_drive, write_drive
from agentic.core.sandbox.model import MIB, Ending, SandboxJob, SandboxResult
from agentic.core.sandbox.process.arguments import TEMPORARY, environment_of
from agentic.core.sandbox.sandbox import OnOutput, Sandbox
from agentic.core.threads import in_thread

START_S = 10.0
"""Seconds until the API of a machine answers, and that its kernel may take to start."""
GUEST_BYTES = 128 * MIB
"""Memory of a machine beyond the limit of its job: for its kernel and the guest program."""
_SECTOR = 512


class Machine(Protocol):
    """A process of Firecracker; it ends with its guest."""

    async def wait(self) -> object:
        """Wait for its end."""
        ...

    def kill(self) -> None:
        """End it."""
        ...


class FirecrackerSandbox(Sandbox):
    """Runs commands in virtual machines of Firecracker. Needs ``/dev/kvm``.

    A machine has a read-only root, a drive with its job, a drive for its result, and no network. Its tools
    are in its root file system. Output comes at the end. The tests of this class use a stand-in for
    Firecracker that serves its API on a socket: they start no real machine.

    Args:
        kernel: An uncompressed kernel.
        root: An ext4 image with Python 3.11 and the program ``agentic.core.sandbox.firecracker.guest``.
        guest: Path of that program in the image.
        tools: Names of the tools in the image.
        cpus: Processors of a machine.
        start: Starts a machine whose API is at a socket; by default, the program ``firecracker``.
        max_parallel: Machines at a time; further runs wait.
    """

    kind: ClassVar[str] = "firecracker"

    def __init__(  # noqa: PLR0913  # options, all but two optional
        self,
        kernel: Path,
        root: Path,
        *,
        guest: str = "/sbin/agentic-guest",
        tools: Collection[str] = (),
        cpus: int = 1,
        start: Callable[[Path], Awaitable[Machine]] | None = None,
        max_parallel: int = 4,
    ) -> None:
        self._kernel = kernel
        self._root = root
        self._guest = guest
        self._tools = tuple(sorted(tools))
        self._cpus = cpus
        self._start = start or _start_firecracker
        self._places = asyncio.Semaphore(max_parallel)

    async def run_job(self, job: SandboxJob, on_output: OnOutput | None = None) -> SandboxResult:
        """Run a job; see :meth:`Sandbox.run`."""
        for name in job.tools:
            if name not in self._tools:
                raise UnknownToolError(name, self._tools)
        async with self._places:
            folder = Path(await in_thread(tempfile.mkdtemp, prefix="agentic-vm-"))
            try:
                await in_thread(_make_drives, folder, job)
                begun = time.monotonic()
                is_late = await self._run_machine(folder, job)
                return _result_of(folder, job, time.monotonic() - begun, on_output, is_late=is_late)
            finally:
                await in_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _run_machine(self, folder: Path, job: SandboxJob) -> bool:
        """Start a machine and wait for its end; return whether it had to be ended."""
        machine = await self._start(folder / "api.sock")
        try:
            for path, body in calls_of(job, folder, self._kernel, self._root, self._guest, self._cpus):
                await _put(folder / "api.sock", path, body)
            async with asyncio.timeout(job.limits.time_s + START_S):
                await machine.wait()
        except TimeoutError:
            return True
        finally:
            with suppress(ProcessLookupError):
                machine.kill()
            await asyncio.shield(machine.wait())
        return False


def calls_of(  # the parts of a machine
    job: SandboxJob, folder: Path, kernel: Path, root: Path, guest: str, cpus: int
) -> list[tuple[str, dict[str, object]]]:
    """Return the calls of the API that configure and start the machine of a job, in order."""
    memory = math.ceil((job.limits.memory_bytes + job.limits.disk_bytes + GUEST_BYTES) / MIB)
    drives = (("root", root, True), ("input", folder / "input", True), ("output", folder / "output", False))
    return [
        ("/machine-config", {"vcpu_count": cpus, "mem_size_mib": memory, "smt": False}),
        (
            "/boot-source",
            {
                "kernel_image_path": str(kernel),
                "boot_args": f"quiet reboot=k panic=1 pci=off root=/dev/vda ro init={guest}",
            },
        ),
        *(
            (
                f"/drives/{name}",
                {
                    "drive_id": name,
                    "path_on_host": str(path),
                    "is_root_device": name == "root",
                    "is_read_only": is_read_only,
                },
            )
            for name, path, is_read_only in drives
        ),
        ("/actions", {"action_type": "InstanceStart"}),
    ]


async def _start_firecracker(socket: Path) -> Machine:
    found = shutil.which("firecracker")
    if found is None or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        missing = "the program firecracker is missing" if found is None else "/dev/kvm cannot be used"
        raise SandboxUnavailableError("firecracker", missing, "install it, on a machine with KVM")
    return await asyncio.create_subprocess_exec(
        found,
        *("--api-sock", str(socket)),
        env={},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )


async def _put(socket: Path, path: str, body: Mapping[str, object]) -> None:
    import aiohttp

    until = time.monotonic() + START_S
    while True:
        try:
            connector = aiohttp.UnixConnector(str(socket))
            async with (
                aiohttp.ClientSession(connector=connector) as session,
                session.put(f"http://localhost{path}", json=body) as response,
            ):
                if response.status >= 400:
                    said = (await response.content.read(2_000)).decode("utf-8", "replace")
                    raise SandboxUnavailableError("firecracker", f"it refused {path}: {said[:400]}")
                return
        except (aiohttp.ClientError, OSError) as exc:
            if time.monotonic() > until:
                raise SandboxUnavailableError(
                    "firecracker", f"its API does not answer: {type(exc).__name__}"
                ) from exc
            await asyncio.sleep(0.01)


def _make_drives(folder: Path, job: SandboxJob) -> None:
    value = json.loads(job.model_dump_json())
    value["environment"] = environment_of(job, (), home=TEMPORARY)
    with (folder / "input").open("w+b") as drive:
        write_drive(drive, value)
        drive.truncate(math.ceil(drive.tell() / _SECTOR) * _SECTOR)
    with (folder / "output").open("wb") as drive:
        drive.truncate(math.ceil(_most_bytes(job) / _SECTOR) * _SECTOR)


def _most_bytes(job: SandboxJob) -> int:
    """Return the most bytes of a result: files as base64, two outputs as escaped JSON, and names."""
    return job.limits.disk_bytes * 4 // 3 + 12 * job.limits.output_bytes + 16 * MIB


def _result_of(  # facts of a run
    folder: Path, job: SandboxJob, wall_s: float, on_output: OnOutput | None, *, is_late: bool
) -> SandboxResult:
    try:
        with (folder / "output").open("rb") as drive:
            value = read_drive(drive, _most_bytes(job))
        said = None if value is None else SandboxResult.model_validate_json(json.dumps(value))
    except (ValueError, ValidationError, RecursionError) as exc:
        raise SandboxLostError(
            "firecracker", f"the result of its machine is damaged ({type(exc).__name__})"
        ) from exc
    if said is None:
        if is_late:
            return SandboxResult(exit_code=None, ended=Ending.TIME, wall_s=wall_s)
        raise SandboxLostError("firecracker", "its machine ended without a result")
    result = held_to_limits(said, job)
    if on_output is not None and result.stdout:
        on_output("stdout", result.stdout.encode("utf-8", "replace"))
    if on_output is not None and result.stderr:
        on_output("stderr", result.stderr.encode("utf-8", "replace"))
    return result
