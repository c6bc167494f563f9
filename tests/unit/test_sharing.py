"""Sessions of pytest whose tests are shared among forked processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

SERVER = """
import os

import pytest

@pytest.fixture(scope="session", autouse=True)
def server():
    yield
    with open("ended.txt", "a") as file:
        print(os.getpid(), file=file)
"""
ODD = """
import os, signal

import pytest

@pytest.mark.parametrize("number", range(4))
def test_it(number, tmp_path):
    with open("ran.txt", "a") as file:
        print(__name__, number, os.getpid(), tmp_path, file=file)
    print("printed by", __name__, number)
    assert number != FAILS
    if number == DIES:
        os.kill(os.getpid(), signal.SIGKILL)
"""
HANGING = """
import threading

@pytest.fixture(autouse=True)
def hanging(request):
    if request.node.name == "test_it[2]":
        threading.Thread(target=threading.Event().wait, name="beside", daemon=True).start()
        threading.Event().wait()
"""

INTERRUPTING = """
import os, signal, threading

@pytest.fixture(autouse=True)
def interrupting(request):
    if request.node.name == "test_it[2]":
        with open("waiting.txt", "a+") as file:
            print(os.getpid(), file=file, flush=True)
            file.seek(0)
            if len(file.readlines()) == 2:
                os.killpg(0, signal.SIGINT)
        threading.Event().wait()
"""


def session(
    folder: Path, files: Mapping[str, tuple[int, int]], *options: str, more: str = ""
) -> tuple[int, str, list[list[str]]]:
    """Run files of four tests. The number of one that fails and of one that dies is given; -1 is none."""
    (folder / "conftest.py").write_text(SERVER + more, encoding="utf-8")
    for name, (fails, dies) in files.items():
        text = f"FAILS, DIES = {fails}, {dies}\n{ODD}"
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {REPOSITORY}\n", encoding="utf-8")
    plugins = ("-p", "tests.costs", "-p", "tests.sharing", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", *plugins, "--processes", "2", *options]
    bare = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=bare,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        start_new_session=True,  # a test sends Ctrl-C to all of them
    )
    ran = [line.split() for line in (folder / "ran.txt").read_text(encoding="utf-8").splitlines()]
    return done.returncode, done.stdout + done.stderr, ran


def test_each_test_runs_once_and_a_process_that_dies_fails_one(tmp_path: Path) -> None:
    code, printed, ran = session(tmp_path, {"a": (1, -1), "b": (-1, 1), "c": (-1, -1)})
    assert code == 1
    assert sorted((name, number) for name, number, *_ in ran) == [
        (f"test_{name}", str(number)) for name in "abc" for number in range(4)
    ]
    processes = {name: {row[2] for row in ran if row[0] == name} for name in ("test_a", "test_b", "test_c")}
    assert {name: len(pids) for name, pids in processes.items()} == {"test_a": 1, "test_b": 2, "test_c": 1}
    assert len({row[3] for row in ran}) == len(ran)
    assert len({Path(row[3]).parents[1] for row in ran}) == 1
    assert "2 failed, 10 passed" in printed
    assert "printed by test_a 1" in printed
    assert "printed by test_b" not in printed
    assert "FAILED test_b.py::test_it[1] - the process ended with signal SIGKILL" in printed
    ended = (tmp_path / "ended.txt").read_text(encoding="utf-8").split()
    assert sorted(ended) == sorted(
        {row[2] for row in ran} - {row[2] for row in ran if row[:2] == ["test_b", "1"]}
    )


def test_what_takes_too_long_fails_with_the_stacks_of_all_threads(tmp_path: Path) -> None:
    options = ("-p", "pytest_timeout", "--timeout", "1")
    code, printed, _ = session(tmp_path, {"a": (-1, -1)}, *options, more=HANGING)
    assert code == 1
    assert "Failed: Timeout (>1.0s) from pytest-timeout." in printed
    assert "Stack of beside" in printed
    assert "3 passed, 1 error" in printed


def test_ctrl_c_ends_the_servers_of_all_processes(tmp_path: Path) -> None:
    code, printed, ran = session(tmp_path, {"a": (-1, -1), "b": (-1, -1)}, more=INTERRUPTING)
    assert code == 2, printed
    assert {name for name, *_ in ran} == {"test_a", "test_b"}
    ended = (tmp_path / "ended.txt").read_text(encoding="utf-8").split()
    assert sorted(ended) == sorted((tmp_path / "waiting.txt").read_text(encoding="utf-8").split())


def test_after_enough_failures_no_file_is_begun(tmp_path: Path) -> None:
    quiet = {f"z{number}": (-1, -1) for number in range(8)}
    code, printed, ran = session(tmp_path, {"a": (0, -1), "b": (0, -1), **quiet}, "--exitfirst")
    assert code == 1
    assert "stopping after" in printed
    assert len(ran) < 30


def test_names_of_tests_that_are_only_collected_are_printed(tmp_path: Path) -> None:
    (tmp_path / "ran.txt").touch()
    code, printed, ran = session(tmp_path, {"a": (-1, -1)}, "--collect-only")
    assert (code, ran) == (0, [])
    assert "4 tests collected" in printed


def test_a_fault_of_a_plugin_is_printed(tmp_path: Path) -> None:
    odd = "\ndef pytest_runtest_logfinish():\n    raise RuntimeError('an odd plugin')\n"
    code, printed, _ = session(tmp_path, {"a": (-1, -1)}, more=odd)
    assert code == 1
    assert "4 failed" in printed
    assert "RuntimeError: an odd plugin" in printed
