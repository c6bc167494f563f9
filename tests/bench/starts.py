"""What commands cost before they do anything: ``python -m tests.bench.starts``.

CPU time of whole processes, user and system, the best of several: the machine may be busy.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench.measuring import Stopwatch

ROUNDS = 10
PIPELINE = """
name: one
steps:
  - {id: start, actor: fetch, config: {url: "https://example.com/"}}
"""
COMMANDS = {
    "--version": 0.45,
    "--help": 0.45,
    "pipelines validate one.yaml": 0.45,
    "executions list": 0.8,
}
"""Command -> the CPU time it may take, in seconds."""


def main() -> None:
    """Print a table in Markdown. The commands take turns, so that a busy minute is nobody's alone."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "one.yaml").write_text(PIPELINE, encoding="utf-8")
        _spent_s(["projects", "add", "default"], home)
        spent = {command: [_spent_s(command.split(), home)] for command in COMMANDS}
        for _ in range(ROUNDS - 1):
            for command, seconds in spent.items():
                seconds.append(_spent_s(command.split(), home))
    lines = ["| command | CPU, s | target |", "|---|---:|---:|"]
    lines += [f"| `agentic {one}` | {min(spent[one]):.2f} | {target} |" for one, target in COMMANDS.items()]
    lines += [f"| a loop of 3,000,000 additions, to compare machines | {_loop_s():.2f} |  |"]
    sys.stdout.write("\n".join(lines) + "\n")


def _spent_s(words: Sequence[str], home: Path) -> float:
    """Run a command in a process of its own and return its CPU time."""
    env = {**os.environ, "AGENTIC_HOME": str(home / ".agentic")}
    agentic = [sys.executable, "-m", "agentic.core.cli", *words]
    out = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    pid = os.posix_spawn("/usr/bin/env", ["env", "-C", str(home), *agentic], env, file_actions=[out])
    _, status, used = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"agentic {' '.join(words)} ended with status {status}")
    return used.ru_utime + used.ru_stime


def _loop_s() -> float:
    found = []
    for _ in range(ROUNDS):
        watch, total = Stopwatch(), 0
        for number in range(3_000_000):
            total += number
        found.append(watch.read().cpu_s)
    return min(found)


if __name__ == "__main__":
    main()
