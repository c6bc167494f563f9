"""A worker that runs its tasks in its own process is kept by the process of the command."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

KEEPER = """
import sys
from agentic.executors.workers.keeping import Keeper

keeper = Keeper([])
keeper._command = [sys.executable, "-c", sys.argv[1], *sys.argv[2:]]
print("keeping", flush=True)
sys.exit(keeper.run())
"""

STALLS_ONCE = """
import os, pathlib, signal, sys
from agentic.executors.workers.keeping import KEPT_VARIABLE
from agentic.executors.workers.pulse import make_folder, note_stalled

first = pathlib.Path(sys.argv[1])
if first.exists():
    sys.exit(5)
first.touch()
assert os.environ[KEPT_VARIABLE]
note_stalled(make_folder(), os.getpid())
os.kill(os.getpid(), signal.SIGKILL)
"""

DIES = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"

STOPS = """
import pathlib, signal, sys

def stop(*_):
    sys.exit(0)

signal.signal(signal.SIGTERM, stop)
pathlib.Path(sys.argv[1]).touch()
signal.pause()
"""


@pytest.mark.parametrize(("worker", "code"), [(STALLS_ONCE, 5), (DIES, 137)])
def test_only_a_worker_whose_loop_stood_still_is_begun_again(tmp_path: Path, worker: str, code: int) -> None:
    command = [sys.executable, "-c", KEEPER, worker, str(tmp_path / "begun")]
    assert subprocess.run(command, timeout=60, check=False, capture_output=True).returncode == code


def test_a_signal_is_handed_on_and_the_exit_code_is_the_worker_s(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with subprocess.Popen(
        [sys.executable, "-c", KEEPER, STOPS, str(begun)], stdout=subprocess.PIPE
    ) as keeper:
        while not begun.exists() and keeper.poll() is None:
            pass
        keeper.send_signal(signal.SIGTERM)
        assert keeper.wait(60) == 0
