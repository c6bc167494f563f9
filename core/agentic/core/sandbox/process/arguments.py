"""The arguments of ``bwrap``: the file system, the namespaces and the first program of a sandbox."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agentic.core.records import record
from agentic.core.sandbox.errors import SandboxUnavailableError
from agentic.core.sandbox.model import SandboxJob, folders_of
from agentic.core.sandbox.tools import FOLDER, SandboxTool

WORK, TEMPORARY = "/box/work", "/box/tmp"

# Reports that all is mounted, waits for the word to start, and becomes the command.
_START = 'printf r >&0; read -r _ || exit 125; exec "$@" </dev/null'
_SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_CONFIGURATION = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d")
_SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
_OPEN_FILES = 1_024


@record(kw_only=True)
class Identity:
    """The user that a command is outside of its sandbox.

    Attributes:
        uid: The user.
        is_root: Whether this process is root: it then needs no user namespace, and the command becomes a
            user that nothing else belongs to. Otherwise the command stays this process's user.
    """

    uid: int
    is_root: bool


def arguments_of(
    job: SandboxJob,
    tools: Sequence[SandboxTool],
    identity: Identity,
    files: Mapping[str, int],
) -> tuple[list[str], list[str]]:
    """Return the options of ``bwrap``, and the program that it starts.

    Args:
        job: The job.
        tools: Its tools.
        identity: The user of the command.
        files: Path -> descriptor with the content: the files to make.
    """
    options = [*_namespaces(identity), *_system(), *_mounts(tools)]
    options += ["--size", str(job.limits.disk_bytes), "--perms", "0755", "--tmpfs", "/box"]
    options += ["--perms", "0777", "--dir", WORK, "--perms", "0777", "--dir", TEMPORARY]
    options += ["--symlink", "box/tmp", "/tmp"]  # noqa: S108 - in the sandbox
    for folder in folders_of(job.files):
        options += ["--perms", "0755", "--dir", f"{WORK}/{folder}"]
    for path, place in files.items():
        options += ["--perms", "0644", "--file", str(place), path]
    options += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORK]
    # Only for the command: the programs before it are root here, and must load no library that a job names.
    variables = [f"{name}={value}" for name, value in environment_of(job, tools).items()]
    command = [_system_program("env"), "-i", *variables, *job.command]
    return options, [*_limits(job, identity), "/bin/sh", "-c", _START, "sh", *command]


def environment_of(
    job: SandboxJob, tools: Sequence[SandboxTool], *, below: str = FOLDER, home: str = TEMPORARY
) -> dict[str, str]:
    """Return the whole environment of a command."""
    folders = [f"{below}/{folder}" for tool in tools for folder in tool.path]
    brought = {
        name: value.replace(f"{FOLDER}/", f"{below}/") for tool in tools for name, value in tool.environment
    }
    return {
        "PATH": ":".join([*folders, "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        **brought,
        **job.environment,
    }


def _namespaces(identity: Identity) -> list[str]:
    common = [
        *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
        *("--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"),
    ]
    if identity.is_root:
        return [*common, "--cap-drop", "ALL", *_kept("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")]
    return [*common, "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"]


def _kept(*names: str) -> Iterator[str]:
    for name in names:  # until `setpriv` has changed the user
        yield from ("--cap-add", name)


def _limits(job: SandboxJob, identity: Identity) -> list[str]:
    limits = job.limits
    command = [
        _system_program("prlimit"),
        f"--nproc={limits.process_count}",
        f"--data={limits.memory_bytes}",
        f"--fsize={limits.disk_bytes}",
        f"--nofile={_OPEN_FILES}",
        "--core=0",
    ]
    if not identity.is_root:
        return command
    user = str(identity.uid)
    changed = [_system_program("setpriv"), "--reuid", user, "--regid", user, "--clear-groups"]
    return [*changed, "--inh-caps=-all", "--bounding-set=-all", *command]


def _system_program(name: str) -> str:
    """Return the path of a program of the system, which is the same in the sandbox.

    Raises:
        SandboxUnavailableError: It is missing.
    """
    found = shutil.which(name, path=_SYSTEM_PATH)
    if found is None:
        raise SandboxUnavailableError("process", f"the program {name} is missing", "install util-linux")
    return found


def _system() -> Iterator[str]:
    """Yield the mounts of the system's programs; nothing that people have put elsewhere."""
    yield from (
        "--ro-bind",
        "/usr",
        "/usr",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--perms",
        "0755",
        "--dir",
        "/etc",
    )
    for name in _SYSTEM_FOLDERS:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", os.readlink(path), str(path))  # noqa: PTH115 - the text of the link
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for name in _CONFIGURATION:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _mounts(tools: Sequence[SandboxTool]) -> Iterator[str]:
    mounts = [mount for tool in tools for mount in tool.mounts]
    yield from ("--perms", "0755", "--dir", FOLDER)
    for folder in folders_of([at for at, _ in mounts]):
        yield from ("--perms", "0755", "--dir", f"{FOLDER}/{folder}")
    for at, source in mounts:
        yield from ("--ro-bind", str(source), f"{FOLDER}/{at}")
