"""Commands of ``agentic``, each in a process of its own, forked from one that has loaded our modules.

To start Python and to load what every command loads takes most of a second, and tests run hundreds of them.
Such a process has the arguments, environment, folder and streams of a command that a shell starts, and ends
in the same way. What a command loads, and when, is tested elsewhere, with processes that are started.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.metadata
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

import typer
import typer.main
from sqlalchemy.orm import configure_mappers
from tests.quick import is_quick
from tests.spares import keep_spare
from typer.testing import CliRunner, Result

import __main__
from agentic.core.cli.later import only
from agentic.core.cli.main import main
from agentic.executors.plugin import agentic_commands

PACKAGES = (
    "agentic.core.bus",
    "agentic.core.cli",
    "agentic.executors.commands",
    "agentic.executors.durable",
    "agentic.mappers",
    *(
        f"agentic.plugins.{name}"
        for name in ("chat", "evals", "feed", "firecrawl", "github", "hackernews", "reddit", "web")
    ),  # others bring the SDKs of models and protocols: 170 MiB, which few commands need
)
MODULES = (
    "agentic.plugins.langgraph.models",
    "agentic.executors.agents.runner",
    "agentic.migrations.commands",
    "agentic.migrations.runner",
    "agentic.migrations.status",
    "alembic.command",
    "celery",
    "kombu.transport.redis",
    "packaging.requirements",
    "re2",
    "sqlalchemy.orm",
    "uvloop",
)
"""What many commands load: nothing of it reads what tests put into the environment, nor begins a thread."""

WORKER_MODULES = (
    "agentic.executors.retrying",
    "agentic.executors.workers.lifecycle",
    "agentic.executors.workers.reconciling",
    "billiard.popen_fork",
    "billiard.sharedctypes",
    "celery.app.events",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.bin.celery",
    "celery.fixups.django",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.strategy",
)
"""What every worker loads besides: of the environment it reads what a worker puts there itself."""

WORKER_ENV = {"REMAP_SIGTERM": "SIGQUIT"}
"""What a worker puts into the environment before it loads these modules."""

FOR_WORKERS = {"is_for": "workers"}
"""The order to begin the process that workers are forked from."""

OURS = ("agentic-pipelines", "agentic-fakes")
CLOSED = -1
"""Stands for standard input that is closed, as some services start their processes."""

MAX_ORDER_BYTES = 2**17
ROOT = Path(__file__).parents[1]


def run_command(
    arguments: Sequence[str], env: Mapping[str, str], folder: Path, timeout_s: float = 100
) -> subprocess.CompletedProcess[str]:
    """Run ``agentic`` with arguments; return how it ended and what it wrote.

    Raises:
        subprocess.TimeoutExpired: It has not ended in time, and was killed.
    """
    command = start_command(arguments, env, folder)
    out, err = command.communicate(timeout=timeout_s)
    return subprocess.CompletedProcess(["agentic", *arguments], command.returncode, out, err)


def start_command(
    arguments: Sequence[str],
    env: Mapping[str, str],
    folder: Path,
    out: IO[bytes] | None = None,
    *,
    stdin: int | None = None,
    is_apart: bool = False,
    module: str = "",
) -> Command:
    """Start ``agentic`` with arguments.

    Args:
        arguments: The command and its options.
        env: Its whole environment.
        folder: Where it works.
        out: Gets all that it writes; kept for :meth:`Command.communicate`, if omitted.
        stdin: The descriptor that it reads; nothing, if omitted; ``CLOSED`` for one that is closed.
        is_apart: Whether it has a session, and a group of processes, of its own.
        module: Runs in place of ``agentic``, as ``python -m`` would run it.
    """
    words = [module or "agentic", *arguments]
    order = {
        "argv": words,
        "env": dict(env),
        "folder": str(folder.resolve()),
        "umask": _umask(),
        "is_apart": is_apart,
        "is_closed": stdin == CLOSED,
        "module": module,
    }
    ours, its = os.pipe()
    kept = [out, out] if out else [tempfile.TemporaryFile(), tempfile.TemporaryFile()]  # noqa: SIM115 - closed later
    with open(os.devnull, "rb") as nothing, os.fdopen(its, "wb") as end:  # noqa: PTH123 - a descriptor is wanted
        read = nothing.fileno() if stdin in {None, CLOSED} else stdin
        fds = [read, *(file.fileno() for file in (*kept, end))]
        parent = _parent_of_workers() if _is_worker(order) else _parent()[0]
        socket.send_fds(parent, [json.dumps(order).encode()], fds)
    return Command(words, os.fdopen(ours, "rb", buffering=0), [] if out else kept)


def start_program(
    text: str, arguments: Sequence[str], env: Mapping[str, str], folder: Path, out: IO[bytes] | None = None
) -> Command:
    """Start a Python program: ``python -c``, but from a file in the folder where it works."""
    name = f"program_{next(_numbers)}"
    (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return start_command(arguments, env, folder, out, module=name)


_numbers = count()
_spent_s: list[float] = []


def spent_s() -> float:
    """Return the CPU seconds of commands that have ended, which are no children of this process."""
    return sum(_spent_s)


def begin_parents() -> None:
    """Begin what commands are forked from, for this process of tests and those that are forked from it."""
    _parent()
    _parent_of_workers()


def end_parents() -> None:
    """End what commands are forked from, if this process of tests has begun it."""
    if _parent_of_workers.cache_info().currsize:
        _parent_of_workers().close()
    if _parent.cache_info().currsize:
        orders, process = _parent()
        orders.close()
        process.kill()
        process.wait()


class Command(subprocess.Popen[Any]):
    """A command under way: like a process that this one has started, which it is not.

    Args:
        words: The command line.
        ending: Tells its process id, and later its exit code and the CPU seconds that it has taken.
        kept: Files with what it wrote to standard output and as errors.
    """

    _child_created = False  # by this process, whose child it would have to be to be waited for

    def __init__(self, words: Sequence[str], ending: IO[bytes], kept: Sequence[IO[bytes]]) -> None:
        self.args = words
        self.returncode = None
        self.stdin = self.stdout = self.stderr = None
        self._ending = ending
        self._kept = kept
        self._texts: Sequence[str] = []
        self._told = b""
        self._read(1, None)
        self.pid = int(self._told.split()[0])

    def poll(self) -> int | None:
        """Return the exit code, if it has ended."""
        with suppress(subprocess.TimeoutExpired):
            return self._wait_for(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when it has ended.

        Raises:
            subprocess.TimeoutExpired: It has not ended in time, and was killed.
        """
        try:
            return self._wait_for(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[Any, Any]:
        """Wait for its end; return what it wrote, as text.

        Raises:
            subprocess.TimeoutExpired: It has not ended in time, and was killed.
        """
        assert input is None
        self.wait(timeout)
        return self._texts[0], self._texts[1]

    def _wait_for(self, timeout: float | None) -> int:
        if self.returncode is None:
            self._read(2, timeout)
            _, code, cpu_s = self._told.split()
            self.returncode = int(code)
            self._ending.close()
            self._texts = [_text_of(file) for file in self._kept]
            _spent_s.append(float(cpu_s))
        return self.returncode

    def _read(self, lines: int, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._ending, selectors.EVENT_READ)
            while self._told.count(b"\n") < lines:
                if not selector.select(deadline and max(0, deadline - time.monotonic())):
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                got = self._ending.read(64)
                assert got, "the process that commands are forked from has ended"
                self._told += got


def bare_app() -> typer.Typer:
    """Return a command line without commands, which can be narrowed to any: see ``only``."""
    app = typer.Typer()
    app.callback()(_nothing)
    return app


def _nothing() -> None:
    """Stand for the options that come before a command."""


@cache
def agentic_app() -> typer.Typer:
    """Return a command line with the commands for projects, agents, runs and workers."""
    app = bare_app()
    agentic_commands(app)
    return app


def invoke(app: typer.Typer, arguments: Sequence[str], typed: str | None = None) -> Result:
    """Run a command of ``app`` in this process; return how it ended and what it wrote."""
    with patch("typer.testing._get_command", _click_command):
        return CliRunner().invoke(only(app, arguments), arguments, input=typed)


_click_commands: dict[object, object] = {}


def _click_command(app: typer.Typer) -> object:
    """Return what a command line becomes, made once: to make it takes longer than to run most commands."""
    functions = _functions_of(app)
    if functions not in _click_commands:
        _click_commands[functions] = typer.main.get_command(app)
    return _click_commands[functions]


def _functions_of(app: typer.Typer) -> tuple[object, ...]:
    """Return what makes two command lines the same."""
    commands = dict.fromkeys((one.name, one.callback) for one in app.registered_commands)
    groups = [(one.name, _functions_of(one.typer_instance)) for one in app.registered_groups]  # type: ignore[arg-type]
    callback = app.registered_callback and app.registered_callback.callback
    return callback, *commands, *groups


def _umask() -> int:
    now = os.umask(0o077)
    os.umask(now)
    return now


def _text_of(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read().decode()


@cache
def _parent() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Begin the process that commands are forked from; it ends with the last process of tests that has this.

    All commands have its words, and by ``worker`` tests find the processes of a worker.
    """
    ours, its = _sockets()
    with its:
        fd = its.fileno()
        return ours, subprocess.Popen(
            [sys.executable, "-m", "tests.commands", str(fd), "worker"], pass_fds=[fd], cwd=ROOT
        )


@cache
def _parent_of_workers() -> socket.socket:
    """Begin the process that workers are forked from, which is forked from that of all commands."""
    ours, its = _sockets()
    with its:
        socket.send_fds(_parent()[0], [json.dumps(FOR_WORKERS).encode()], [its.fileno()])
    return ours


def _sockets() -> tuple[socket.socket, socket.socket]:
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MAX_ORDER_BYTES)
    return ours, its


def _is_worker(order: Mapping[str, Any]) -> bool:
    """Whether it is a worker that finds nothing in the environment where it puts something."""
    is_ours = not order["module"] and order["argv"][1:2] == ["worker"]
    return is_ours and not WORKER_ENV.keys() & order["env"].keys()


def _load() -> None:
    for entry_point in importlib.metadata.entry_points(group="agentic"):
        if entry_point.dist and entry_point.dist.name in OURS:
            entry_point.load()
    _load_all(PACKAGES, MODULES)
    configure_mappers()  # else each command would do it with its first statement


def _load_all(packages: Sequence[str], modules: Sequence[str]) -> None:
    for package in packages:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in modules:
        importlib.import_module(name)


def _keep_garbage() -> None:
    """Keep what is loaded out of the collections of those that are forked, which would copy its pages."""
    gc.collect()
    gc.freeze()


def _fork_for(orders: socket.socket) -> str:
    """Fork a process for each order, for ever; return in such a process, with the module that it runs."""
    while True:
        received, fds, _, _ = socket.recv_fds(orders, MAX_ORDER_BYTES, 4)
        if not received:
            os._exit(0)  # the process of the tests has ended
        order = json.loads(received)
        if os.fork() == 0:
            orders.close()
            if order == FOR_WORKERS:
                orders = socket.socket(fileno=fds[0])
                _load_for_workers()
                continue
            *streams, end = fds
            _fork_and_tell(end)
            _become(order, streams)
            os.write(end, f"{os.getpid()}\n".encode())
            os.close(end)
            return str(order["module"])
        for fd in fds:
            os.close(fd)


def _load_for_workers() -> None:
    os.environ.update(WORKER_ENV)
    _load_all((), WORKER_MODULES)
    _keep_garbage()


def _fork_and_tell(end: int) -> None:
    """Return in a child, which tells its id; the process itself tells how the child ended, and ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        return
    for fd in (0, 1, 2):
        os.close(fd)
    _, status, usage = os.wait4(child, 0)
    code, cpu_s = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
    os.write(end, f"{code} {cpu_s}\n".encode())
    os._exit(0)


_stream = partial(open, encoding="utf-8", closefd=False)


def _become(order: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Take on arguments, environment, folder and streams."""
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    if order["is_closed"]:
        os.close(0)
        sys.stdin = None  # as Python has it then
    else:
        sys.stdin = _stream(0, "r")
    sys.stdout = _stream(1, "w")
    sys.stderr = _stream(2, "w", errors="backslashreplace", buffering=1)
    if order["is_apart"]:
        os.setsid()
    os.chdir(order["folder"])
    os.umask(order["umask"])
    os.environ.clear()
    os.environ.update(order["env"])
    time.tzset()
    sys.argv = order["argv"]
    __main__.__package__ = ""  # that of a script, whose name is the first word
    python_path = os.environ.get("PYTHONPATH", "")
    sys.path[:] = [order["folder"], *filter(None, python_path.split(os.pathsep)), *SYSTEM_PATH]
    importlib.invalidate_caches()


def _end_with(run: Callable[[], object]) -> None:
    """Run a command, and end as the interpreter does.

    In a quick run, free only what it has loaded and made itself: the rest would be copied first, which takes
    three times as long as most commands.
    """
    if not IS_QUICK:
        run()
        return
    try:
        run()
        code = 0
    except SystemExit as exc:
        if not isinstance(exc.code, int | None):
            raise  # it is printed
        code = exc.code or 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except OSError:
        sys.exit(code)  # the interpreter fails at it, too, and says so
    os._exit(code)


if __name__ == "__main__":
    SYSTEM_PATH = [
        place for place in sys.path[1:] if place not in os.environ.get("PYTHONPATH", "").split(os.pathsep)
    ]
    IS_QUICK = is_quick()
    _load()
    _keep_garbage()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that tell how commands ended
    if chosen := _fork_for(socket.socket(fileno=int(sys.argv[1]))):
        runpy.run_module(chosen, run_name="__main__", alter_sys=True)
    else:
        keep_spare()
        _end_with(main)
