from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agentic.executors.durable.worker.process_names import is_gone, process_name

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells of processes")


def name_of(pid: int) -> str:
    """Return the name a process beside this one has."""
    return process_name("host").replace(f"/{os.getpid()}/", f"/{pid}/")


def test_a_process_that_works_is_not_gone() -> None:
    assert not is_gone(process_name())
    assert process_name("agentic@host").startswith(f"agentic@host/{os.getpid()}/")


def test_a_process_that_was_killed_is_gone_before_its_parent_has_looked_and_afterwards() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        name = name_of(process.pid)
        assert not is_gone(name)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_gone(name)
        process.wait()
        assert is_gone(name)


@pytest.mark.parametrize("name", ["host/999999999/00000000", "host/999999999", "host", "host/x/y"])
def test_of_a_process_elsewhere_it_is_not_known(name: str) -> None:
    assert not is_gone(name)


@pytest.mark.parametrize("pid", [1, 0, 10**30])
def test_of_a_process_that_cannot_be_asked_it_is_not_known(pid: int) -> None:
    assert not is_gone(name_of(pid))
