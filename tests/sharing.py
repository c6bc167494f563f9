"""Processes that share the tests: ``pytest --processes 6``.

The processes are forked when all tests are collected. pytest-xdist starts processes that each collect for
themselves: 18,000 tests take each of them 17 s of CPU and 800 MB, which is a tenth of a whole session here.

A process gets a file at a time, the files that cost most first, and reports to the process that collected. If
a process dies, its test has failed, and another process takes the rest of the file.
"""

from __future__ import annotations

import os
import selectors
import signal
import sys
import time
import traceback
import warnings
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import pytest
from _pytest._io import TerminalWriter
from _pytest.capture import CaptureManager
from _pytest.terminal import TerminalReporter
from _pytest.tmpdir import TempPathFactory
from tests import costs

ENDS_WITHIN_S = 20.0
"""How long processes have to end their servers when the session is interrupted."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the number of processes."""
    parser.addoption("--processes", type=int, default=0, help="share the tests among so many processes")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the files that cost most come first."""
    if config.getoption("processes"):
        entries = costs.read_entries()
        items.sort(key=lambda item: -entries.get(costs.file_of(item), 0))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Literal[True] | None:
    """Share the tests; leave a session with one process, or one that only collects, to pytest."""
    option = session.config.option
    if not option.processes or option.collectonly or session.testsfailed:
        return None
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if isinstance(reporter, TerminalReporter):
        reporter.showfspath = False  # a line for each file, which has the results of several at a time
    _Sharing(session).run(option.processes)
    return True


@dataclass(eq=False)
class _Process:
    pid: int
    pipe: Connection
    items: list[pytest.Item] = field(default_factory=list)
    """Given to it, and not ended."""


class _Sharing:
    """The process that collected: gives files to others, and reports what they tell."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._files: deque[list[pytest.Item]] = deque(_by_file(session.items))
        self._by_id = {item.nodeid: item for item in session.items}
        self._processes: list[_Process] = []
        self._selector = selectors.DefaultSelector()
        self._started = 0
        factory: TempPathFactory = session.config._tmp_path_factory  # type: ignore[attr-defined]
        self._folder = factory.getbasetemp()

    def run(self, count: int) -> None:
        try:
            for _ in range(min(count, len(self._files))):
                self._start()
            while self._processes:
                for key, _ in self._selector.select():
                    self._hear(key.data)
        finally:
            self._end()
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _start(self) -> None:
        ours, theirs = Pipe()
        self._started += 1
        sys.stdout.flush()
        sys.stderr.flush()
        if (pid := os.fork()) == 0:
            ours.close()
            for other in self._processes:
                other.pipe.close()
            self._selector.close()
            _work(self._session, self._by_id, theirs, self._folder / f"p{self._started}")
        theirs.close()
        process = _Process(pid, ours)
        self._processes.append(process)
        self._selector.register(ours, selectors.EVENT_READ, process)
        self._give(process)

    def _give(self, process: _Process) -> None:
        is_over = not self._files or self._session.shouldfail or self._session.shouldstop
        given = [] if is_over else self._files.popleft()
        process.items += given
        with suppress(OSError):  # it has ended: that is heard next
            process.pipe.send([item.nodeid for item in given])

    def _hear(self, process: _Process) -> None:
        kind, told = _told(process.pipe)
        hook, config = self._session.config.hook, self._session.config
        if kind == "report":
            report = hook.pytest_report_from_serializable(config=config, data=told)
            hook.pytest_runtest_logreport(report=report)
            if self._session.shouldfail or self._session.shouldstop:
                self._files.clear()
                for one in self._processes:
                    with suppress(OSError):
                        one.pipe.send("stop")
        elif kind == "ended":
            process.items.remove(self._by_id[told])
        elif kind == "next":
            self._give(process)
        elif kind == "died":
            self._bury(process)
        elif kind == "costs":
            costs.add(config, told)
        else:
            text, place, when, nodeid, location = told
            message = warnings.WarningMessage(text, UserWarning, *place)
            hook.pytest_warning_recorded.call_historic(
                kwargs={"warning_message": message, "when": when, "nodeid": nodeid, "location": location}
            )

    def _bury(self, process: _Process) -> None:
        """Report the test of a process that ended unasked, and have the rest run by another."""
        self._selector.unregister(process.pipe)
        process.pipe.close()
        self._processes.remove(process)
        _, status = os.waitpid(process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        is_stopped = self._session.shouldfail or self._session.shouldstop
        if code == 0 and (is_stopped or not process.items):
            return
        if not process.items:
            raise RuntimeError(f"a process of tests ended with {code} after its last test")
        item, *rest = process.items
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
        report = pytest.TestReport(
            item.nodeid, item.location, {}, "failed", f"the process ended with {how}", "call"
        )
        self._session.config.hook.pytest_runtest_logreport(report=report)
        self._files.extendleft(reversed(_by_file(rest)))
        if self._files:
            self._start()

    def _end(self) -> None:
        for process in self._processes:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGINT)
        deadline = time.monotonic() + ENDS_WITHIN_S
        for process in self._processes:
            while os.waitpid(process.pid, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    os.kill(process.pid, signal.SIGKILL)
                time.sleep(0.05)
        self._selector.close()


def _told(pipe: Connection) -> tuple[str, Any]:
    """Return what a process says: a word, and what goes with it."""
    try:
        word, more = pipe.recv()
    except (EOFError, ConnectionResetError):
        return "died", None
    return word, more


def _by_file(items: Sequence[pytest.Item]) -> list[list[pytest.Item]]:
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(costs.file_of(item), []).append(item)
    return list(files.values())


def _work(session: pytest.Session, by_id: dict[str, pytest.Item], pipe: Connection, folder: Path) -> None:
    """Be a process that runs tests; never return."""
    code = 1
    try:
        _set_apart(session.config, folder)
        _Worker(session, by_id, pipe).run()
        code = 0
    except BaseException:  # else a copy of the whole session would go on
        # The process that collected sends the signal again. What the fixtures have begun has to end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with suppress(BaseException):
            traceback.print_exc()
        with suppress(BaseException):
            session._setupstate.teardown_exact(None)
    finally:
        # Not by the interpreter: it would end what the process that collected has opened.
        os._exit(code)


def _set_apart(config: pytest.Config, folder: Path) -> None:
    """Capture output and make folders apart from those of other processes, and print nothing."""
    plugins = config.pluginmanager
    plugins.unregister(name="terminalreporter")
    plugins.register(_Terminal(), "terminalreporter")
    capture = plugins.getplugin("capturemanager")
    if isinstance(capture, CaptureManager):
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()  # until a test begins: what goes wrong before is printed
    factory: TempPathFactory = config._tmp_path_factory  # type: ignore[attr-defined]
    folder.mkdir(mode=0o700)
    factory._basetemp = folder


class _Terminal:
    """Makes what plugins write to the terminal output of the test: the stacks when it takes too long."""

    @property
    def _tw(self) -> TerminalWriter:
        return TerminalWriter(sys.stderr)


class _Worker:
    """A process that runs tests, as a plugin of pytest in it: it passes on what is reported."""

    def __init__(self, session: pytest.Session, by_id: dict[str, pytest.Item], pipe: Connection) -> None:
        self._session = session
        self._by_id = by_id
        self._pipe = pipe
        self._tells = False
        session.config.pluginmanager.register(self, "reports of shared tests")
        self._tells = True  # not of warnings from before, which a new plugin gets too

    def run(self) -> None:
        items = self._received()
        while items:
            following: list[pytest.Item] = []
            for number, item in enumerate(items, start=1):
                if is_stopped := self._is_stopped():
                    following = []
                elif number == len(items):  # before its end: what the next file needs, too, is not ended
                    self._pipe.send(("next", None))
                    following = self._received()
                rest = [] if is_stopped else [*items[number : number + 1], *following[:1]]
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=rest[0] if rest else None)
                self._pipe.send(("ended", item.nodeid))
                if is_stopped:
                    break
            items = following
        self._pipe.send(("costs", costs.spent(self._session.config)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook, config = self._session.config.hook, self._session.config
        self._pipe.send(("report", hook.pytest_report_to_serializable(config=config, report=report)))

    def pytest_warning_recorded(
        self,
        warning_message: warnings.WarningMessage,
        when: Literal["config", "collect", "runtest"],
        nodeid: str,
        location: tuple[str, int, str] | None,
    ) -> None:
        if self._tells:
            text = f"{warning_message.category.__name__}: {warning_message.message}"
            place = (warning_message.filename, warning_message.lineno)
            self._pipe.send(("warning", (text, place, when, nodeid, location)))

    def _received(self) -> list[pytest.Item]:
        told = self._pipe.recv()
        return [] if told == "stop" else [self._by_id[nodeid] for nodeid in told]

    def _is_stopped(self) -> bool:
        is_told = self._pipe.poll() and self._pipe.recv() == "stop"
        return is_told or bool(self._session.shouldfail or self._session.shouldstop)
