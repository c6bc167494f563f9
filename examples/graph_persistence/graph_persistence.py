"""A run that is killed in the middle, and continued by another process: finished steps are not repeated."""

import argparse
import asyncio
import os
import signal
from itertools import pairwise

from agentic.core import Executor, Workflow, WorkflowBuilder, handler
from agentic.core.graph import CheckpointNotFoundError, RunResult
from agentic.mappers import SqlCheckpointStore
from agentic.migrations import upgrade

DATABASE = "sqlite:///book.db"
STEPS = ("outline", "draft", "proof", "print")


class Step(Executor):
    """A step of the work; it can kill its own process, as a power cut would."""

    def __init__(self, id: str, *, is_deadly: bool) -> None:
        super().__init__(id)
        self.is_deadly = is_deadly

    @handler
    async def work(self, text: str) -> str:
        """Add a line."""
        print(f"{self.id} begins", flush=True)
        if self.is_deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"{text} > {self.id}"


def build(kill_in: str | None = None) -> Workflow:
    """Return the workflow: a chain of steps, one of them deadly."""
    steps = [Step(name, is_deadly=name == kill_in) for name in STEPS]
    builder = WorkflowBuilder("book", version="1").set_start(steps[0])
    for before, after in pairwise(steps):
        builder.add_edge(before, after)
    return builder.build()


async def run(kill_in: str | None) -> RunResult:
    """Continue the run if there is one; otherwise begin it."""
    upgrade(DATABASE)
    store = SqlCheckpointStore.open(DATABASE)
    try:
        return await build(kill_in).resume("book", checkpoints=store)
    except CheckpointNotFoundError:
        return await build(kill_in).run("a book", run_id="book", checkpoints=store)
    finally:
        store.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kill-in", choices=STEPS, help="the step that kills the process")
    print(asyncio.run(run(parser.parse_args().kill_in)).output(str))
