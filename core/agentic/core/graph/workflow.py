"""A workflow: an immutable graph that can be run any number of times, also at once."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator

from agentic.core.graph.edges import Graph
from agentic.core.graph.errors import InvalidRunIdError
from agentic.core.graph.events import WorkflowEvent
from agentic.core.graph.planner import WorkflowConfig
from agentic.core.graph.result import RunResult
from agentic.core.graph.runner import Runner, raise_for_failure
from agentic.core.graph.subgraph import WorkflowExecutor
from agentic.core.graph.viz import to_dict, to_mermaid
from agentic.core.types import JSONValue, RunId


class Workflow:
    """A validated graph. Made by ``WorkflowBuilder.build()``.

    Attributes:
        id: Its name.
        version: As given by its author, or None.
        config: Limits of its runs.
        graph: Executors and edges.
    """

    def __init__(self, id: str, version: str | None, config: WorkflowConfig, graph: Graph) -> None:
        self.id = id
        self.version = version
        self.config = config
        self.graph = graph

    async def run(
        self, message: object, *, run_id: str | None = None, config: WorkflowConfig | None = None
    ) -> RunResult:
        """Run the workflow until no message is in flight.

        Supersteps follow bulk-synchronous parallel execution (Malewicz et al., Pregel, 2010): what an
        executor sends in superstep *n* is seen by its targets in superstep *n + 1*.

        Args:
            message: Given to every start executor in superstep 0.
            run_id: Name of the run, without ``/``; a random one is made when omitted.
            config: Limits of this run instead of the workflow's.

        Returns:
            Status, outputs in planner order, and the durable events.

        Raises:
            ConvergenceError: Messages were still in flight after ``max_supersteps``.
            UndeliverableMessageError: A message reached nobody, and ``strict`` is on.
            Exception: The first failure, in executor order, of the superstep that failed; what its siblings
                did is kept. The failed :class:`RunResult` is its attribute ``result``.
        """
        return raise_for_failure(await Runner(self, _checked(run_id), message, config=config).run())

    def run_stream(
        self, message: object, *, run_id: str | None = None, config: WorkflowConfig | None = None
    ) -> RunStream:
        """Start a run and return its events as they happen. Arguments are those of :meth:`run`."""
        return RunStream(self, message, _checked(run_id), config)

    def as_executor(self, id: str | None = None) -> WorkflowExecutor:
        """Return the workflow as an executor of another one; ``id`` defaults to the workflow's."""
        return WorkflowExecutor(self, id or self.id)

    def to_mermaid(self) -> str:
        """Return the graph as a Mermaid flowchart."""
        return to_mermaid(self.graph)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the graph's shape as JSON-able data."""
        return {"id": self.id, "version": self.version, **to_dict(self.graph)}


class RunStream:
    """The events of a run, live. The run is cancelled when the stream is closed or left early.

    Attributes:
        run_id: Name of the run.
    """

    def __init__(
        self, workflow: Workflow, message: object, run_id: RunId, config: WorkflowConfig | None
    ) -> None:
        self.run_id = run_id
        self._events: asyncio.Queue[WorkflowEvent | None] = asyncio.Queue()
        self._runner = Runner(workflow, run_id, message, config=config, listener=self._events.put_nowait)
        self._task = asyncio.create_task(self._runner.run(), name=f"run {run_id}")
        self._task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[RunResult]) -> None:
        if task.cancelled():
            self._runner.cancel()  # it may have been cancelled before its first step
        self._events.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[WorkflowEvent]:
        try:
            while (event := await self._events.get()) is not None:
                yield event
            self._events.put_nowait(None)  # for whoever looks again
        finally:
            await self.aclose()

    async def result(self) -> RunResult:
        """Wait for the end and return what :meth:`Workflow.run` would.

        Raises:
            Exception: As :meth:`Workflow.run`. A stream that was left early gives a cancelled result.
        """
        await asyncio.wait([self._task])
        if self._task.cancelled():
            return self._runner.result()
        return raise_for_failure(self._task.result())

    async def aclose(self) -> None:
        """Cancel the run if it still goes on, and wait until its handlers have ended."""
        self._task.cancel()
        await asyncio.wait([self._task])


def _checked(run_id: str | None) -> RunId:
    if run_id is None:
        return RunId(uuid.uuid4().hex)
    if not run_id or "/" in run_id:
        raise InvalidRunIdError(run_id)
    return RunId(run_id)
