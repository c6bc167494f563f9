"""The contract of every sandbox: attacks of hostile programs, and their failure."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
from pathlib import Path
from typing import Any

import pytest

from agentic.core.sandbox.errors import SandboxFileError
from agentic.core.sandbox.model import MIB, Ending, SandboxLimits, SandboxResult
from agentic.core.sandbox.sandbox import Sandbox

QUICK = SandboxLimits(
    time_s=30, memory_bytes=256 * MIB, disk_bytes=4 * MIB, output_bytes=50_000, process_count=20
)

LOOK_AROUND = """
import glob, json, os, socket, sys

port, secret = int(sys.argv[1]), sys.argv[2]

def tried(call):
    try:
        return str(call())
    except Exception as exc:
        return type(exc).__name__

def connected(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(5)
        one.connect(address)
    return "connected"

def written(path):
    with open(path, "w") as file:
        file.write("x")
    return "written"

environment = {}
for path in glob.glob("/proc/[0-9]*/environ"):
    environment[path] = tried(lambda: open(path).read())
print(json.dumps({
    "local": tried(lambda: connected(socket.AF_INET, ("127.0.0.1", port))),
    "outside": tried(lambda: connected(socket.AF_INET, ("192.0.2.1", 80))),
    "vsock": tried(lambda: connected(40, (2, 1))),
    "interfaces": [name for _, name in socket.if_nameindex()],
    "secret file": tried(lambda: open(secret).read()),
    "shadow": tried(lambda: open("/etc/shadow").read()),
    "home": tried(lambda: os.listdir("/root")),
    "environment": [dict(os.environ), environment],
    "processes": len(glob.glob("/proc/[0-9]*")),
    "root": os.geteuid() == 0,
    "usr": tried(lambda: written("/usr/planted")),
    "etc": tried(lambda: written("/etc/planted")),
    "dev": tried(lambda: written("/dev/planted")),
    "top": tried(lambda: written("/planted")),
    "kernel": tried(lambda: written("/proc/sys/kernel/core_pattern")),
    "mount": os.system("mount -t tmpfs none /mnt 2>/dev/null"),
    "namespace": os.system("unshare --user --map-root-user true 2>/dev/null"),
}))
"""

FORK_BOMB = """
import os, sys, time

forked, refused = 0, 0
for _ in range(400):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        forked += 1
    except OSError:
        refused += 1
print(forked, refused)
"""

TAKE_MEMORY = """
import sys, time

pieces = []
for count in range(64):
    pieces.append(bytes(range(256)) * (16 * 1024 * 4))
    print((count + 1) * 16, flush=True)
time.sleep(30)
"""

TAKE_MEMORY_TOGETHER = """
import os, time

for _ in range(8):
    if os.fork() == 0:
        piece = bytes(range(256)) * (128 * 1024 * 4)
        time.sleep(30)
        os._exit(0)
time.sleep(30)
"""

TAKE_DISK = """
import os

written = 0
for number in range(64):
    try:
        with open(f"{os.environ.get('WHERE', '.')}/{number}.bin", "wb") as file:
            written += file.write(b"x" * 1024 * 1024)
            file.flush()
    except OSError:
        break
print(written)
"""

LEAVE_ORPHANS = """
import os, subprocess, sys, time

for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        os.execvp("python3", ["python3", "-c", "import time; time.sleep(50)", sys.argv[1]])
time.sleep(0.3)
print("left")
"""

MAKE_ODD_FILES = """
import os, socket

os.makedirs("made/deep")
open("made/deep/new.txt", "w").write("new")
open("given/changed.txt", "w").write("changed")
os.symlink("/etc/hostname", "to_host.txt")
os.symlink("given", "to_folder")
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
open("un readable", "w").write("x")
os.chmod("made/deep/new.txt", 0o600)
open("skip.log", "w").write("not wanted")
with open("sparse", "wb") as file:
    file.truncate(2**20)
"""


class SandboxContract:
    """Inherit it, and define the fixture ``sandbox``. Its runs find ``sh`` and ``python3``."""

    TOOLS: tuple[str, ...] = ()
    """Tools that bring them, if the sandbox needs some for that."""

    @pytest.fixture
    def sandbox(self) -> Sandbox:
        """Return the sandbox to test."""
        raise NotImplementedError

    async def python(
        self,
        sandbox: Sandbox,
        code: str,
        *arguments: str,
        limits: SandboxLimits = QUICK,
        **options: Any,  # noqa: ANN401  # of a job
    ) -> SandboxResult:
        """Run a Python program."""
        return await sandbox.run(
            {"program.py": code}, ["python3", "program.py", *arguments], limits, tools=self.TOOLS, **options
        )

    async def test_it_runs_a_command_with_files_and_returns_its_result(self, sandbox: Sandbox) -> None:
        pieces: list[tuple[str, bytes]] = []
        result = await sandbox.run(
            {"a/b.txt": "Zoë\n", "raw": b"\x00\xff"},
            ["sh", "-c", 'cat a/b.txt; wc -c < raw; echo "$GIVEN" >&2; echo new > a/c.txt; exit 3'],
            QUICK,
            environment={"GIVEN": "a value"},
            tools=self.TOOLS,
            on_output=lambda name, piece: pieces.append((name, piece)),
        )
        assert (result.exit_code, result.ended, result.succeeded) == (3, Ending.EXITED, False)
        assert result.stdout.split() == ["Zoë", "2"]
        assert result.stderr == "a value\n"
        assert result.files == {"a/c.txt": b"new\n"}
        assert b"".join(piece for name, piece in pieces if name == "stdout") == result.stdout.encode()
        assert 0 < result.wall_s < 30

    async def test_a_long_command_is_run(self, sandbox: Sandbox) -> None:
        words = ["é" * 50_000] * 9
        result = await sandbox.run({}, ["sh", "-c", "echo $#", "sh", *words], QUICK, tools=self.TOOLS)
        assert result.stdout == "9\n"

    async def test_a_missing_program_is_a_result(self, sandbox: Sandbox) -> None:
        result = await sandbox.run({}, ["no-such-program"], QUICK, tools=self.TOOLS)
        assert (result.exit_code, result.ended) == (127, Ending.EXITED)

    async def test_links_and_special_files_are_not_collected(self, sandbox: Sandbox) -> None:
        given = {"given/changed.txt": "old", "given/same.txt": "same"}
        result = await sandbox.run(
            {**given, "program.py": MAKE_ODD_FILES},
            ["python3", "program.py"],
            QUICK,
            tools=self.TOOLS,
            keep=["*.txt", "to_*", "pipe", "socket", "sparse"],
        )
        assert result.succeeded, result.stderr
        assert result.files == {
            "given/changed.txt": b"changed",
            "made/deep/new.txt": b"new",
            "sparse": bytes(2**20),
        }
        assert (
            {"pipe", "to_folder", "to_host.txt"}
            <= set(result.skipped)
            <= {"pipe", "socket", "to_folder", "to_host.txt"}
        )

    async def test_network_files_and_secrets_of_the_host_are_out_of_reach(
        self, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        secret = secrets.token_hex(16)
        monkeypatch.setenv("AGENTIC_SECRET_KEYS", secret)
        (tmp_path / "secret.txt").write_text(secret)
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = str(server.getsockname()[1])
            result = await self.python(sandbox, LOOK_AROUND, port, str(tmp_path / "secret.txt"))
        assert result.succeeded, result.stderr
        assert secret not in result.stdout
        seen = json.loads(result.stdout)
        assert seen["local"] == "ConnectionRefusedError"
        assert seen["outside"] in {"OSError", "TimeoutError"}
        assert seen["vsock"] == "OSError"
        assert set(seen["interfaces"]) <= {"lo"}
        refused = {"PermissionError", "FileNotFoundError", "OSError"}
        for name in ("secret file", "shadow", "home", "usr", "etc", "dev", "top", "kernel"):
            assert seen[name] in refused, name
        assert seen["processes"] < 10
        assert not seen["root"]
        assert seen["mount"] != 0
        assert seen["namespace"] != 0

    async def test_a_fork_bomb_is_contained(self, sandbox: Sandbox) -> None:
        result = await self.python(sandbox, FORK_BOMB)
        assert result.ended is Ending.EXITED
        forked, refused = map(int, result.stdout.split())
        assert forked <= QUICK.process_count
        assert refused > 300

    async def test_a_process_gets_no_more_memory_than_its_limit(self, sandbox: Sandbox) -> None:
        result = await self.python(sandbox, TAKE_MEMORY)
        got = [int(line) for line in result.stdout.split()]
        assert max(got, default=0) <= 256
        assert "MemoryError" in result.stderr or result.ended is Ending.MEMORY

    async def test_processes_together_get_no_more_memory_than_the_limit(self, sandbox: Sandbox) -> None:
        result = await self.python(sandbox, TAKE_MEMORY_TOGETHER)
        assert result.ended is Ending.MEMORY
        assert result.exit_code is None

    @pytest.mark.parametrize("where", [".", "/tmp", "/dev/shm"])  # noqa: S108 - in the sandbox
    async def test_the_disk_has_its_limit(self, sandbox: Sandbox, where: str) -> None:
        result = await self.python(sandbox, TAKE_DISK, environment={"WHERE": where}, keep=["*.txt"])
        assert int(result.stdout or 0) <= QUICK.disk_bytes
        assert result.ended is Ending.EXITED

    async def test_a_command_that_takes_too_long_is_ended(self, sandbox: Sandbox) -> None:
        limits = QUICK.model_copy(update={"time_s": 0.5})
        code = "print('begun', flush=True)\nopen('kept.txt', 'w').write('x')\nwhile True: pass"
        result = await self.python(sandbox, code, limits=limits)
        assert (result.exit_code, result.ended) == (None, Ending.TIME)
        assert result.wall_s < 20

    async def test_a_command_that_closes_its_output_is_waited_for(self, sandbox: Sandbox) -> None:
        command = ["sh", "-c", "exec >&- 2>&-; sleep 0.2; echo made > a.txt; exit 3"]
        result = await sandbox.run({}, command, QUICK, tools=self.TOOLS)
        assert (result.exit_code, result.files) == (3, {"a.txt": b"made\n"})

    async def test_a_flood_of_output_is_cut_and_ended(self, sandbox: Sandbox) -> None:
        result = await self.python(sandbox, "while True: print('x' * 1000)")
        assert (result.exit_code, result.ended) == (None, Ending.OUTPUT)
        assert len(result.stdout) == QUICK.output_bytes

    async def test_no_process_outlives_its_run(self, sandbox: Sandbox) -> None:
        mark = secrets.token_hex(16)
        result = await self.python(sandbox, LEAVE_ORPHANS, mark)
        assert (result.exit_code, result.stdout) == (0, "left\n")
        assert result.wall_s < 20
        assert processes_with(mark) == []

    async def test_a_cancelled_run_leaves_no_process(self, sandbox: Sandbox) -> None:
        mark = secrets.token_hex(16)
        begun = asyncio.Event()
        run = asyncio.ensure_future(
            self.python(
                sandbox,
                "print('begun', flush=True)\nimport time; time.sleep(50)",
                mark,
                on_output=lambda *_: begun.set(),
            )
        )
        while not (begun.is_set() or processes_with(mark)):  # some sandboxes give output only at the end
            assert not run.done(), run
            await asyncio.sleep(0.01)
        run.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await run
        assert run.cancelled()
        assert processes_with(mark) == []

    async def test_runs_do_not_see_each_other(self, sandbox: Sandbox) -> None:
        code = "import os; open('mine', 'w').close(); print(sorted(os.listdir('.')), os.listdir('/tmp'))"
        results = await asyncio.gather(*(self.python(sandbox, code) for _ in range(3)))
        assert {result.stdout for result in results} == {"['mine', 'program.py'] []\n"}

    @pytest.mark.parametrize(
        ("files", "command"),
        [
            ({"../out": "x"}, ["true"]),
            ({"/etc/x": "x"}, ["true"]),
            ({"a//b": "x"}, ["true"]),
            ({"": "x"}, ["true"]),
            ({"a\nb": "x"}, ["true"]),
            ({"a": "x", "a/b": "x"}, ["true"]),
            ({"a": "\udc80"}, ["true"]),
            ({"a": "x" * (QUICK.disk_bytes + 1)}, ["true"]),
            ({f"f{number}": "" for number in range(201)}, ["true"]),
            ({}, []),
            ({}, ["a\0b"]),
            ({}, ["é" * 50_001]),
            ({}, ["echo", *["x" * 99_000] * 11]),
            ({}, ["a=b"]),
            ({}, "true"),
        ],
    )
    async def test_bad_jobs_are_refused(
        self, sandbox: Sandbox, files: dict[str, str], command: list[str]
    ) -> None:
        with pytest.raises(SandboxFileError):
            await sandbox.run(files, command, QUICK)


def processes_with(mark: str) -> list[str]:
    """Return the processes of this machine whose arguments contain a mark."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (process / "cmdline").read_text(errors="replace") and int(process.name) != os.getpid():
                found.append(process.name)
    return found
