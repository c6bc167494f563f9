"""The first program of a virtual machine: it runs one job, writes its result, and ends the machine.

Copy this file into the root file system and name it in ``guest=``; it needs Python 3.11 and ``mount``, and
nothing of this project. The job comes on one drive, and the result goes to another: a length, then JSON.
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import resource
import select
import signal
import stat
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

INPUT, OUTPUT, BOX = "/dev/vdb", "/dev/vdc", "/box"
USER = 65534
HEAD = struct.Struct(">8sQ")
MARK = b"agentic1"
_TICK_S = 0.05
_POWER_OFF = 0xFEE1DEAD, 672274793, 0x1234567  # with "restart", which ends Firecracker


def write_drive(file: BinaryIO, value: object) -> None:
    """Write a value at the beginning of a drive."""
    content = json.dumps(value).encode()
    file.seek(0)
    file.write(HEAD.pack(MARK, len(content)) + content)
    file.flush()


def read_drive(file: BinaryIO, most: int) -> Any:  # noqa: ANN401  # JSON
    """Return the value of a drive; None if it has none.

    Raises:
        ValueError: It is damaged, or longer than ``most`` bytes.
    """
    file.seek(0)
    mark, length = HEAD.unpack(file.read(HEAD.size).ljust(HEAD.size, b"\0"))
    if mark != MARK:
        return None
    if length > most:
        raise ValueError(f"it has {length} bytes, more than {most}")
    return json.loads(file.read(length))


def run(job: dict[str, Any], box: str) -> dict[str, Any]:
    """Run a job in a folder, and return its result."""
    work = Path(box, "work")
    for name, content in job["files"].items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(content))
    if os.geteuid() == 0:
        for path in (work, *work.rglob("*")):
            os.chown(path, USER, USER, follow_symlinks=False)
    begun = time.monotonic()
    user = USER if os.geteuid() == 0 else None
    process = subprocess.Popen(
        ["/bin/sh", "-c", 'exec "$@"', "sh", *job["command"]],
        cwd=work,
        env=job["environment"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: _limit(job["limits"]),  # noqa: PLW1509 - this program has one thread
        user=user,
        group=user,
        extra_groups=None if user is None else (),
    )
    output = {"stdout": bytearray(), "stderr": bytearray()}
    ended = _watched(process, output, job["limits"], begun + job["limits"]["time_s"])
    _end_others(process)
    code = process.wait()
    files, skipped = _collected(work)
    return {
        "exit_code": (code if code >= 0 else 128 - code) if ended == "exited" else None,
        "ended": ended,
        "stdout": bytes(output["stdout"]).decode("utf-8", "replace"),
        "stderr": bytes(output["stderr"]).decode("utf-8", "replace"),
        "files": files,
        "skipped": skipped,
        "wall_s": time.monotonic() - begun,
    }


def _limit(limits: dict[str, Any]) -> None:
    for what, value in (
        (resource.RLIMIT_NPROC, limits["process_count"]),
        (resource.RLIMIT_DATA, limits["memory_bytes"]),
        (resource.RLIMIT_FSIZE, limits["disk_bytes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # a lower limit is already in force
            resource.setrlimit(what, (value, value))


def _watched(
    process: subprocess.Popen[bytes], output: dict[str, bytearray], limits: dict[str, Any], until: float
) -> str:
    pipes = {
        pipe.fileno(): output[name]
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr))
        if pipe is not None
    }
    while True:
        ready, _, _ = select.select(list(pipes), [], [], _TICK_S)
        for place in ready:
            kept = pipes[place]
            piece = os.read(place, 65_536)
            room = limits["output_bytes"] - len(kept)
            kept += piece[:room]
            if len(piece) > room:
                return "output"
            if not piece:
                del pipes[place]
        if not ready and process.poll() is not None:
            return "exited"
        if time.monotonic() > until:
            return "time"
        if _used_bytes() > limits["memory_bytes"]:
            return "memory"


def _used_bytes() -> int:
    """Return the memory of all processes but this one."""
    used = 0
    for name in os.listdir("/proc"):  # noqa: PTH208 - a name is enough
        if name.isdigit() and int(name) != os.getpid():
            with suppress(OSError, ValueError, IndexError):
                used += int(Path("/proc", name, "statm").read_text(encoding="ascii").split()[1])
    return used * resource.getpagesize()


def _end_others(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        if os.getpid() == 1:
            os.kill(-1, signal.SIGKILL)
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _collected(work: Path) -> tuple[dict[str, str], list[str]]:
    files: dict[str, str] = {}
    skipped: list[str] = []
    for folder, folders, names in os.walk(work):
        for name in (*names, *folders):
            path = Path(folder, name)
            kind = path.lstat().st_mode
            if stat.S_ISREG(kind):
                files[str(path.relative_to(work))] = base64.b64encode(path.read_bytes()).decode()
            elif not stat.S_ISDIR(kind):
                skipped.append(str(path.relative_to(work)))
    return files, skipped[:100]


def main(source: str = INPUT, target: str = OUTPUT, box: str = BOX) -> None:
    """Run the job on a drive; as the first program, also begin and end the machine."""
    is_first = os.getpid() == 1
    if is_first:
        for kind, place in (("proc", "/proc"), ("devtmpfs", "/dev")):
            subprocess.run(["mount", "-t", kind, kind, place], check=False, stderr=subprocess.DEVNULL)
    with open(source, "rb") as drive:  # noqa: PTH123
        job = read_drive(drive, 1 << 40)
    if is_first:
        size = f"size={job['limits']['disk_bytes']}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"{size},mode=755", "tmpfs", box], check=True)
    for name in ("work", "tmp"):
        Path(box, name).mkdir(exist_ok=True)
        Path(box, name).chmod(0o777)
    result = run(job, box)
    with open(target, "r+b") as drive:  # noqa: PTH123
        write_drive(drive, result)
        os.fsync(drive.fileno())
    if is_first:
        ctypes.CDLL(None).syscall(169 if os.uname().machine == "x86_64" else 142, *_POWER_OFF, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
