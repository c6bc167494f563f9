"""The state machine of the examples; the first process that compiles a program is killed meanwhile."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil

from agentic.core.coding import SandboxValidator, language_tools
from agentic.core.graph import Workflow
from agentic.core.llm import FunctionModel, ModelRequest
from agentic.core.sandbox import ProcessSandbox, SandboxJob, SandboxResult

EXAMPLE = Path(__file__).parents[3] / "examples" / "state_machine" / "state_machine.py"
ASKED, KILLED = Path("asked.log"), Path("killed.log")
"""A line for each request to the model, and the process that was killed, in the folder of the place."""


def load_example() -> ModuleType:
    """Return the example as a module."""
    spec = importlib.util.spec_from_file_location("state_machine", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def state_machine() -> Workflow:
    """Return the workflow of the example."""
    example = load_example()

    def reply(request: ModelRequest) -> str:
        said: str = example.script(request)
        with ASKED.open("a") as log:  # one short write: it is whole, whoever else writes
            log.write(f"{said.encode().hex()}\n")
        return said

    flow: Workflow = example.build(FunctionModel(reply), SandboxValidator(Deadly(language_tools())))
    return flow


class Deadly(ProcessSandbox):
    """Kills its process while the first program is compiled."""

    async def run_job(self, job: SandboxJob, on_output: Any = None) -> SandboxResult:
        if job.command[0] == "tsc" and is_first():
            threading.Thread(target=kill_when_it_compiles, daemon=True).start()
        return await super().run_job(job, on_output)


def is_first() -> bool:
    """Whether nothing was compiled before, in any process."""
    try:
        KILLED.open("x").close()
    except FileExistsError:
        return False
    return True


def kill_when_it_compiles() -> None:
    """Kill this process as soon as it has a compiler in a sandbox."""
    while not any("tsc" in child.cmdline() for child in psutil.Process().children()):
        time.sleep(0.002)
    KILLED.write_text(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGKILL)
