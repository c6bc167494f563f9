from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from agentic.core.sandbox import (
    ConfiguredSandbox,
    DockerSandbox,
    Ending,
    MissingToolError,
    ProcessSandbox,
    RemoteSandbox,
    Sandbox,
    SandboxFileError,
    SandboxLimits,
    SandboxUnavailableError,
    Toolbox,
    UnisolatedSandbox,
    UnknownToolError,
    open_sandbox,
    program,
    tool_folder,
)
from agentic.core.sandbox.model import MIB
from agentic.core.sandbox.process import bubblewrap
from agentic.core.sandbox.process.arguments import WORK
from agentic.core.settings import load_settings

pytestmark = pytest.mark.integration

CHOICES: tuple[tuple[dict[str, str], type], ...] = (
    ({}, ProcessSandbox),
    ({"sandbox": "process"}, ProcessSandbox),
    ({"sandbox_image": "localhost/tools"}, DockerSandbox),
    ({"sandbox": "docker", "sandbox_image": "localhost/tools"}, DockerSandbox),
    ({"sandbox": "remote"}, RemoteSandbox),
    ({"sandbox": "unisolated"}, UnisolatedSandbox),
)


@pytest.mark.requirement("SB01")
@pytest.mark.parametrize(("given", "kind"), CHOICES)
async def test_the_settings_choose_the_sandbox(given: Mapping[str, str], kind: type) -> None:
    async with open_sandbox(settings=load_settings(**given)) as sandbox:
        assert type(sandbox) is kind


@pytest.mark.requirement("SB01")
def test_a_sandbox_without_a_block_is_opened_for_each_job_in_any_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sandbox = ConfiguredSandbox(Toolbox({"echo": program("echo")}))
    for kind in ("process", "unisolated"):
        monkeypatch.setenv("AGENTIC_SANDBOX", kind)
        result = asyncio.run(sandbox.run({}, ["echo", kind], tools=["echo"]))
        assert (result.stdout, result.succeeded) == (f"{kind}\n", True)
    monkeypatch.setenv("AGENTIC_SANDBOX", "docker")
    with pytest.raises(SandboxUnavailableError, match="set AGENTIC_SANDBOX_IMAGE"):
        asyncio.run(sandbox.run({}, ["true"]))


async def test_auto_never_runs_code_without_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "_bundled", lambda: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SandboxUnavailableError, match="no code runs here without isolation") as caught:
        async with open_sandbox(settings=load_settings()):
            raise AssertionError
    assert "AGENTIC_SANDBOX=unisolated if you trust the code" in str(caught.value)


async def test_a_bubblewrap_that_does_not_work_is_noticed(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create a namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(SandboxUnavailableError, match="No permissions to create a namespace"):
        await ProcessSandbox(bwrap=str(broken)).probe()


async def test_containers_need_an_image_and_an_engine(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailableError, match="set AGENTIC_SANDBOX_IMAGE"):
        async with open_sandbox(settings=load_settings(sandbox="docker")):
            raise AssertionError
    with pytest.raises(SandboxUnavailableError, match="'ftp://engine' is not an address"):
        DockerSandbox("image", url="ftp://engine")
    async with DockerSandbox("image", url=f"unix://{tmp_path}/none.sock") as sandbox:
        with pytest.raises(SandboxUnavailableError, match=r"none\.sock does not answer"):
            await sandbox.run({}, ["true"])


class TestUnisolated:
    """Plain processes keep fewer promises: time, output, their group, a clean environment."""

    async def test_it_runs_a_command_with_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AGENTIC_SECRET_KEYS", "hidden")
        result = await UnisolatedSandbox().run(
            {"a/b.txt": "text"},
            ["sh", "-c", "cat a/b.txt; env; echo new > c.txt; ln -s /etc/passwd d.txt; exit 3"],
        )
        assert (result.exit_code, result.ended) == (3, Ending.EXITED)
        assert result.stdout.startswith("text")
        assert "hidden" not in result.stdout
        assert (result.files, result.skipped) == ({"c.txt": b"new\n"}, ("d.txt",))

    async def test_time_and_output_are_limited_and_its_group_ends(self) -> None:
        sandbox = UnisolatedSandbox()
        late = await sandbox.run({}, ["sh", "-c", "sleep 50 & sleep 50"], SandboxLimits(time_s=0.1))
        assert (late.exit_code, late.ended) == (None, Ending.TIME)
        flood = await sandbox.run({}, ["yes"], SandboxLimits(output_bytes=1000))
        assert (flood.ended, len(flood.stdout)) == (Ending.OUTPUT, 1000)
        orphan = await sandbox.run({}, ["sh", "-c", "sleep 50 & echo done"])
        assert (orphan.stdout, orphan.ended) == ("done\n", Ending.EXITED)

    async def test_its_folder_is_removed(self) -> None:
        result = await UnisolatedSandbox().run({}, ["pwd"])
        assert not os.path.exists(result.stdout.strip())  # noqa: ASYNC240, PTH110


class TestTools:
    """Tools are folders and programs of this machine, visible where they are."""

    @pytest.mark.parametrize("kind", [ProcessSandbox, UnisolatedSandbox])
    async def test_a_tool_is_on_the_path_and_cannot_be_written(self, tmp_path: Path, kind: type) -> None:
        (tmp_path / "greet/bin").mkdir(parents=True)
        (tmp_path / "greet/bin/greet").write_text('#!/bin/sh\necho "hello $GREETED"; ls /tools > /dev/null')
        (tmp_path / "greet/bin/greet").chmod(0o755)
        box = Toolbox({"greet": tool_folder("greet", tmp_path / "greet", GREETED="Ada")})
        result = await kind(box).run({}, ["greet"], tools=["greet"])
        assert result.stdout == "hello Ada\n"
        if kind is ProcessSandbox:
            result = await kind(box).run({}, ["touch", "/tools/greet/bin/x"], tools=["greet"])
            assert not result.succeeded

    async def test_tools_that_are_missing_or_unknown_are_named(self, tmp_path: Path) -> None:
        box = Toolbox({"gone": tool_folder("gone", tmp_path / "gone"), "never": program("no-such-program")})
        sandbox = ProcessSandbox(box)
        with pytest.raises(MissingToolError, match=r"the folder .*gone does not exist"):
            await sandbox.run({}, ["true"], tools=["gone"])
        with pytest.raises(MissingToolError, match="no-such-program is not on the PATH"):
            await sandbox.run({}, ["true"], tools=["never"])
        with pytest.raises(UnknownToolError, match=r"no tool 'other' \(known: gone, never\)"):
            await sandbox.run({}, ["true"], tools=["other"])
        assert (box.has("gone"), box.joined({"sh": program("sh")}).has("sh")) == (False, True)


async def test_an_option_that_no_job_has_is_refused() -> None:
    with pytest.raises(SandboxFileError, match="mount: Extra inputs are not permitted"):
        await ProcessSandbox().run({}, ["true"], mount="/")
    with pytest.raises(SandboxFileError, match="is not a name of a variable"):
        await ProcessSandbox().run({}, ["true"], environment={"A=B": "c"})


async def test_variables_of_a_job_reach_only_its_command() -> None:
    """Programs of ours that are still root start before it: they must load no library that a job brings."""
    variables = {"LD_PRELOAD": f"{WORK}/evil.so", "PATH": WORK}
    result = await ProcessSandbox().run({"evil.so": "text"}, ["/usr/bin/true"], environment=variables)
    assert result.succeeded
    assert result.stderr.count("cannot be preloaded") == 1


async def test_memory_that_no_limit_counts_is_refused() -> None:
    code = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
try:
    os.memfd_create("x")
except OSError as exc:
    print(exc.errno)
print(libc.shmget(0, 4096, 0o1600), ctypes.get_errno())
print(libc.semget(0, 32000, 0o600), ctypes.get_errno())
print(libc.msgget(0, 0o600), ctypes.get_errno())
one, other = socket.socketpair()
size = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**20)
one.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
print(one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) - size)
print(one.getsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED))
print(libc.socketpair(30, 1, 0, 0) < 0, ctypes.get_errno() == 97)
"""
    result = await ProcessSandbox().run({"a.py": code}, ["python3", "a.py"])
    assert result.stdout.split() == ["1", *["-1", "1"] * 3, "0", "1", "True", "True"]


KERNEL_MEMORY = {
    "sockets": """
import socket, time
pairs = [socket.socketpair() for _ in range(400)]
for one, _ in pairs:
    one.setblocking(False)
    try:
        while one.send(b"x" * 4096):
            pass
    except BlockingIOError:
        pass
time.sleep(30)
""",
    "page tables": """
import mmap, time
pages = mmap.mmap(-1, 64 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ)
for at in range(0, 64 << 30, 2 << 20):
    pages[at]
time.sleep(30)
""",
}


@pytest.mark.parametrize("code", KERNEL_MEMORY.values(), ids=KERNEL_MEMORY)
async def test_memory_of_the_kernel_counts(code: str) -> None:
    limits = SandboxLimits(memory_bytes=64 * MIB)
    result = await ProcessSandbox().run({"a.py": code}, ["python3", "a.py"], limits)
    assert result.ended is Ending.MEMORY, result.stderr


async def test_very_many_files_end_a_run() -> None:
    code = "for n in range(10**6): open(str(n), 'w').close()"
    limits = SandboxLimits(file_count=500)
    result = await ProcessSandbox().run({"a.py": code}, ["python3", "a.py"], limits)
    assert result.ended is Ending.FILES
    assert len(result.files) <= 1_000


async def test_many_long_files_are_not_read() -> None:
    """Sparse files and links are free for a program; reading each of them would be its attack."""
    code = """
import os
with open("first", "wb") as file:
    file.truncate(33 * 2**20)
for number in range(300):
    os.link("first", f"link{number}")
    with open(f"sparse{number}", "wb") as file:
        file.truncate(64 * 2**20)
"""
    begun = time.process_time()
    result = await ProcessSandbox().run(
        {"a.py": code}, ["python3", "a.py"], SandboxLimits(disk_bytes=64 * MIB)
    )
    assert set(result.files) == {"first"}
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("kind", [ProcessSandbox, UnisolatedSandbox])
async def test_a_process_with_many_open_files_runs_sandboxes(kind: type[Sandbox]) -> None:
    with ExitStack() as stack:
        for _ in range(1_100):
            stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        result = await kind().run({}, ["echo", "ran"])
    assert result.stdout == "ran\n"


async def test_files_of_a_job_are_open_only_until_it_starts() -> None:
    def in_memory(*_: object) -> None:
        names = [str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
        found.extend(name for name in names if "memfd:sandbox" in name)

    found: list[str] = []
    result = await ProcessSandbox().run({"a": "text"}, ["sh", "-c", "cat a; sleep 0.1"], on_output=in_memory)
    assert (result.stdout, found) == ("text", [])


async def test_a_machine_without_free_descriptors_is_unavailable() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    sandbox = ProcessSandbox()
    await sandbox.probe()
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        with pytest.raises(SandboxUnavailableError, match="Too many open files"):
            await sandbox.run({}, ["true"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def fork() -> int:
    """Fork this process; its other threads wait for work, so Python's warning is not about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


@pytest.mark.skipif(os.geteuid() != 0, reason="root can become another user; others are one")
def test_a_user_who_is_not_root_gets_the_same_isolation(tmp_path: Path) -> None:
    """In a fork, where all modules are loaded: the interpreter may be in a folder of root."""

    from agentic.core.testing.sandbox_contract import FORK_BOMB, LOOK_AROUND, QUICK, TAKE_MEMORY_TOGETHER

    async def tried() -> str:
        sandbox = ProcessSandbox()
        look = await sandbox.run({"a.py": LOOK_AROUND}, ["python3", "a.py", "1", "/etc/shadow"], QUICK)
        bomb = await sandbox.run({"a.py": FORK_BOMB}, ["python3", "a.py"], QUICK)
        memory = await sandbox.run({"a.py": TAKE_MEMORY_TOGETHER}, ["python3", "a.py"], QUICK)
        forked = int(bomb.stdout.split()[0])
        return f"{look.succeeded} {'Error' in look.stdout} {0 < forked < QUICK.process_count} {memory.ended}"

    here, there = os.pipe()
    if (child := fork()) == 0:
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            text = asyncio.run(tried())
        except BaseException as exc:  # the parent reports it
            text = repr(exc)
        os.write(there, text.encode())
        os._exit(0)
    os.close(there)
    with os.fdopen(here) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    if "Permission denied" in text or "is missing" in text:
        pytest.skip(f"bwrap is in a folder that only root can enter: {text}")
    assert text == "True True True memory"
    assert sys.platform == "linux"


def test_a_killed_process_leaves_nothing_of_its_runs(tmp_path: Path) -> None:
    import signal

    from agentic.core.testing.sandbox_contract import processes_with

    if (child := fork()) == 0:
        try:
            asyncio.run(ProcessSandbox().run({}, ["sh", "-c", "sleep 47.0625 & sleep 47.0625"]))
        finally:
            os._exit(0)
    until = time.monotonic() + 60
    while len(processes_with("47.0625")) < 3:  # bwrap's own arguments contain it, too
        assert time.monotonic() < until
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while processes_with("47.0625"):
        assert time.monotonic() < until
        time.sleep(0.01)
