"""The process beside another one: reads calls from its input and writes answers to its output.

It is a program: ``python -m agentic.core.reading.isolated_process MEMORY_BYTES``.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from typing import BinaryIO, cast

from agentic.core.types import JSONValue

IDLE_S = 60.0


def main() -> None:
    """Answer calls until the input ends."""
    _limit(resource.RLIMIT_AS, int(sys.argv[1]))
    _limit(resource.RLIMIT_CORE, 0)  # a core dump would store its input
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output that a library prints is not an answer
    waiting = select.poll()
    waiting.register(calls, select.POLLIN)
    while waiting.poll(IDLE_S * 1000) and (head := calls.readline()):
        answers.write(json.dumps(_answer(json.loads(head), calls)).encode() + b"\n")
        answers.flush()


def _answer(head: dict[str, JSONValue], calls: BinaryIO) -> dict[str, JSONValue]:
    payload = calls.read(int(str(head["size"])))
    # At its end the system ends the process with SIGPROF, in any state. A limit for the whole process
    # would have to know what earlier calls used: on a busy machine the system counts 15 % more than it tells.
    signal.setitimer(signal.ITIMER_PROF, float(str(head["cpu_s"])))
    module, _, name = str(head["function"]).partition(":")
    try:
        function = cast("Callable[[bytes], JSONValue]", getattr(import_module(module), name))
        return {"value": function(payload)}
    except Exception as exc:  # of a library; each fails in its own ways
        return {"fault": f"{type(exc).__name__}: {str(exc)[:200]}"}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _limit(what: int, value: int) -> None:
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


if __name__ == "__main__":
    main()
