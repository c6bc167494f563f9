"""The contract, with a stand-in for Firecracker that serves its API on a socket. No real machine is started.

The stand-in's machine is a process sandbox. The guest program is tested apart from it, in a process sandbox.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from agentic.core.sandbox import (
    Ending,
    FirecrackerSandbox,
    ProcessSandbox,
    SandboxJob,
    SandboxLimits,
    SandboxLostError,
    SandboxResult,
    SandboxUnavailableError,
    UnknownToolError,
)
from agentic.core.sandbox.firecracker import guest
from agentic.core.testing import SandboxContract

MIB = 1024 * 1024
pytestmark = pytest.mark.integration


class StandIn:
    """Firecracker as its API shows it: configured by PUT requests, started once, ended with its guest."""

    def __init__(self, *, answer: bytes | None = None, refuse: str = "") -> None:
        self.calls: dict[str, Any] = {}
        self._answer = answer
        self._refuse = refuse
        self._guest: asyncio.Task[None] | None = None
        self._started = asyncio.Event()
        self._runner: web.AppRunner | None = None

    async def start(self, socket: Path) -> StandIn:
        app = web.Application()
        app.router.add_put("/{path:.*}", self._put)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.UnixSite(self._runner, str(socket)).start()
        return self

    async def wait(self) -> None:
        await self._started.wait()
        assert self._guest is not None
        await asyncio.wait([self._guest])
        if self._runner is not None:
            await self._runner.cleanup()

    def kill(self) -> None:
        if self._guest is None:
            self._guest = asyncio.ensure_future(asyncio.sleep(0))
        self._guest.cancel()
        self._started.set()

    async def _put(self, request: web.Request) -> web.Response:
        path = request.path
        if path == self._refuse:
            return web.json_response({"fault_message": "Invalid kernel"}, status=400)
        self.calls[path] = await request.json()
        if path == "/actions":
            self._guest = asyncio.ensure_future(self._run())
            self._started.set()
        return web.Response(status=204)

    async def _run(self) -> None:
        output = Path(self.calls["/drives/output"]["path_on_host"])
        if self._answer is not None:
            await asyncio.to_thread(output.write_bytes, self._answer)
            return
        job = await asyncio.to_thread(job_on, Path(self.calls["/drives/input"]["path_on_host"]))
        result = await ProcessSandbox().run_job(job)
        await asyncio.to_thread(put_result, output, result)


def job_on(path: Path) -> SandboxJob:
    with path.open("rb") as drive:
        return SandboxJob.model_validate_json(json.dumps(guest.read_drive(drive, 1 << 30)))


def put_result(path: Path, result: SandboxResult) -> None:
    with path.open("r+b") as drive:
        guest.write_drive(drive, json.loads(result.model_dump_json()))


def sandbox_of(stand_in: StandIn) -> FirecrackerSandbox:
    return FirecrackerSandbox(Path("/vm/kernel"), Path("/vm/root.ext4"), tools=["node"], start=stand_in.start)


@pytest.mark.requirement("SB01", "SB04")
class TestFirecrackerSandbox(SandboxContract):
    """The API of Firecracker, served by a stand-in."""

    @pytest.fixture
    def sandbox(self) -> FirecrackerSandbox:
        return FirecrackerSandbox(
            Path("/vm/kernel"), Path("/vm/root.ext4"), start=lambda socket: StandIn().start(socket)
        )


@pytest.mark.requirement("SB04")
async def test_a_machine_has_a_read_only_root_its_limits_and_no_network() -> None:
    stand_in = StandIn()
    limits = SandboxLimits(memory_bytes=256 * MIB, disk_bytes=64 * MIB)
    await sandbox_of(stand_in).run({}, ["true"], limits)
    calls = stand_in.calls
    assert list(calls) == [
        *("/machine-config", "/boot-source", "/drives/root", "/drives/input", "/drives/output", "/actions"),
    ]
    assert calls["/machine-config"] == {"vcpu_count": 1, "mem_size_mib": 256 + 64 + 128, "smt": False}
    assert calls["/boot-source"]["kernel_image_path"] == "/vm/kernel"
    assert "init=/sbin/agentic-guest" in calls["/boot-source"]["boot_args"]
    read_only = {name: calls[f"/drives/{name}"]["is_read_only"] for name in ("root", "input", "output")}
    assert read_only == {"root": True, "input": True, "output": False}
    assert calls["/drives/root"]["is_root_device"]
    assert not os.path.exists(calls["/drives/input"]["path_on_host"])  # noqa: ASYNC240, PTH110


async def test_a_refused_machine_is_unavailable() -> None:
    with pytest.raises(SandboxUnavailableError, match=r"it refused /boot-source: .*Invalid kernel"):
        await sandbox_of(StandIn(refuse="/boot-source")).run({}, ["true"])
    with pytest.raises(UnknownToolError, match=r"no tool 'rust' \(known: node\)"):
        await sandbox_of(StandIn()).run({}, ["true"], tools=["rust"])


HOSTILE = [
    b"",
    guest.HEAD.pack(guest.MARK, 1 << 60) + b"{}",
    guest.HEAD.pack(guest.MARK, 2) + b"{}",
    guest.HEAD.pack(guest.MARK, 4) + b"\xff\xff\xff\xff",
    guest.HEAD.pack(guest.MARK, 200_000) + b"[" * 200_000,
    struct.pack(">8sQ", b"other123", 5) + b"hello",
]


@pytest.mark.parametrize("answer", HOSTILE)
async def test_a_drive_that_lies_is_an_error(answer: bytes) -> None:
    with pytest.raises(SandboxLostError, match=r"is damaged|ended without a result"):
        await sandbox_of(StandIn(answer=answer)).run({}, ["true"])


async def test_results_of_a_hostile_guest_are_held_to_the_limits() -> None:
    files = {"../out": "eA==", "/etc/x": "eA==", "a": "eA==", "big": "eHh4eHh4" * 40_000}
    said = {"exit_code": 0, "ended": "exited", "stdout": "x" * 99, "files": files, "skipped": ["\u0000"]}
    content = json.dumps(said).encode()
    stand_in = StandIn(answer=guest.HEAD.pack(guest.MARK, len(content)) + content)
    limits = SandboxLimits(output_bytes=10, disk_bytes=100_000)
    result = await sandbox_of(stand_in).run({}, ["true"], limits)
    assert result.stdout == "x" * 10
    assert result.files == {"a": b"x"}
    assert set(result.skipped) == {"../out", "/etc/x", "big", "\\x00"}


async def guest_run(job: dict[str, Any]) -> dict[str, Any]:
    """Run the guest program with drives that are files."""
    source = inspect.getsource(guest)
    program = f"{source}\n".replace("main(*sys.argv[1:])", "main('in', 'out', 'box')")
    drive = guest.HEAD.pack(guest.MARK, len(content := json.dumps(job).encode())) + content
    result = await ProcessSandbox().run(
        {"guest.py": program, "in": drive, "out": "", "box/x": ""}, ["python3", "guest.py"], keep=["out"]
    )
    assert result.succeeded, result.stderr
    content = result.files["out"][guest.HEAD.size :]
    found: dict[str, Any] = json.loads(content)
    return found


@pytest.mark.requirement("SB04")
@pytest.mark.parametrize(
    ("script", "limits", "ended"),
    [
        ("cat a/b.txt; echo bad >&2; echo new > c.txt; ln -s /etc d; exit 3", {}, "exited"),
        ("sleep 50", {"time_s": 0.2}, "time"),
        ("yes", {"output_bytes": 1000}, "output"),
        (
            "python3 -c 'x = bytes(range(256)) * 2**20; import time; time.sleep(50)'",
            {"memory_bytes": 64 * MIB},
            "memory",
        ),
    ],
)
async def test_the_guest_program_runs_a_job(script: str, limits: dict[str, Any], ended: str) -> None:
    job = SandboxJob(command=("sh", "-c", script), files={"a/b.txt": b"text"}, limits=SandboxLimits())
    value = json.loads(job.model_dump_json())
    value["limits"] |= limits
    value["environment"] = {"PATH": "/usr/bin"}
    found = await guest_run(value)
    if ended == "memory":
        assert found["ended"] == "memory" or found["stderr"].endswith("MemoryError\n")
        return
    assert found["ended"] == ended
    if ended == Ending.EXITED:
        assert (found["exit_code"], found["stdout"], found["stderr"]) == (3, "text", "bad\n")
        assert found["files"] == {"a/b.txt": "dGV4dA==", "c.txt": "bmV3Cg=="}
        assert found["skipped"] == ["d"]
    if ended == Ending.OUTPUT:
        assert len(found["stdout"]) == 1000
