"""Runs a workflow in this process: awaits what the planner decides, nothing more."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from agentic.core.graph.context import RunLink, WorkflowContext
from agentic.core.graph.edges import DirectEdge, FanOutEdge, Graph
from agentic.core.graph.errors import HandlerStoppedError, SelectorError, UndeliverableMessageError
from agentic.core.graph.events import WorkflowEvent
from agentic.core.graph.messages import Activation, ActivationResult, Sent, Several, Verdict, isolated
from agentic.core.graph.planner import Decision, WorkflowConfig, begin, cancel, commit, due, start
from agentic.core.graph.result import RunResult, RunStatus
from agentic.core.graph.state import RunState
from agentic.core.types import ExecutorId, RunId

if TYPE_CHECKING:
    from agentic.core.graph.workflow import Workflow

Listener = Callable[[WorkflowEvent], None]


class Runner:
    """One run of a graph. Made for it and gone with it; the run has started when this is made.

    Args:
        workflow: Whose graph and, unless given, whose limits.
        run_id: Name of the run.
        message: Its input.
        config: Limits of this run.
        path: Where the run lives when it is a sub-workflow's.
        listener: Told every event at once, durable and live, those of sub-workflows included.
    """

    def __init__(
        self,
        workflow: Workflow,
        run_id: RunId,
        message: object,
        *,
        config: WorkflowConfig | None = None,
        path: str = "",
        listener: Listener | None = None,
    ) -> None:
        self._graph = workflow.graph
        self._config = config or workflow.config
        self._listener = listener
        self._clock = time.time
        self._events: list[WorkflowEvent] = []
        self._outputs: list[object] = []
        self._link = RunLink(
            run_id=run_id, path=path, clock=self._clock, tell=self._tell, run_sub=self._run_sub
        )
        self._state = self._take(start(self._graph, run_id, path, message, self._clock()))

    async def run(self) -> RunResult:
        """Run until no message is in flight.

        Returns:
            The result, which may be a failed one; cancellation is raised.
        """
        state = self._state
        try:
            while state.status is RunStatus.RUNNING:
                activations = due(self._graph, state)
                state = self._take(begin(state, activations, self._clock()))
                results = await self._run_all(activations)
                state = self._commit(state, results)
                # Handlers that never wait would keep the loop from everyone else, listeners included.
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self.result()

    def cancel(self) -> None:
        """Note that the run was given up, unless it has ended."""
        if self._state.status is RunStatus.RUNNING:
            self._take(cancel(self._state, self._clock()))

    def result(self) -> RunResult:
        """Return what the run has come to."""
        return RunResult(
            run_id=self._state.run_id,
            status=self._state.status,
            outputs=tuple(self._outputs),
            superstep_count=self._state.superstep,
            duration_s=self._events[-1].duration_s or 0.0,
            events=tuple(self._events),
            error=self._state.error,
            waiting_fan_ins=tuple(self._state.waiting_fan_ins),
        )

    def _take(self, decision: Decision) -> RunState:
        """Record and tell the events of a decision; return its state."""
        self._state, events = decision
        self._events.extend(events)
        if self._listener is not None:
            for event in events:
                self._listener(event)
        return self._state

    def _commit(self, state: RunState, results: Sequence[ActivationResult]) -> RunState:
        for result in results:
            # Told already, while they happened; here they take their place in the record.
            self._events.extend(result.sub_events)
            self._outputs.extend(result.outputs)
        return self._take(commit(self._graph, self._config, state, results, self._clock()))

    def _tell(self, event: WorkflowEvent) -> None:
        if self._listener is not None:
            self._listener(event)

    async def _run_all(self, activations: Sequence[Activation]) -> list[ActivationResult]:
        """Run the activations of a superstep: those of one executor in its lanes, executors side by side."""
        if len(activations) == 1:
            return [await self._activate(activations[0])]
        queues: dict[ExecutorId, deque[int]] = {}
        for position, activation in enumerate(activations):
            queues.setdefault(activation.executor_id, deque()).append(position)
        results: dict[int, ActivationResult] = {}

        async def lane(queue: deque[int]) -> None:
            while queue:
                position = queue.popleft()
                results[position] = await self._activate(activations[position])

        async with asyncio.TaskGroup() as group:
            for executor_id, queue in queues.items():
                for _ in range(min(self._graph.lanes[executor_id], len(queue))):
                    group.create_task(lane(queue))
        return [results[position] for position in range(len(activations))]

    async def _activate(self, activation: Activation) -> ActivationResult:
        """Let an executor handle a message; an error becomes part of the result."""
        started = time.perf_counter()
        context: WorkflowContext[object, object] = WorkflowContext(activation, self._link)
        try:
            sends, outputs = await self._handle(activation, context)
            verdicts = await judge(self._graph, activation.executor_id, sends)
        except (asyncio.CancelledError, SystemExit) as exc:
            task = asyncio.current_task()
            if isinstance(exc, asyncio.CancelledError) and (task is None or task.cancelling()):
                raise
            return self._failed(
                activation, context, started, HandlerStoppedError(activation.executor_id, exc)
            )
        except Exception as exc:
            return self._failed(activation, context, started, exc)
        return ActivationResult(
            activation=activation,
            sends=sends,
            outputs=outputs,
            verdicts=verdicts,
            duration_s=time.perf_counter() - started,
            sub_events=tuple(context.sub_events),
        )

    async def _handle(
        self, activation: Activation, context: WorkflowContext[object, object]
    ) -> tuple[tuple[Sent, ...], tuple[object, ...]]:
        executor_id = activation.executor_id
        returned = await self._graph.executors[executor_id].handle(activation.delivery.payload, context)
        values = returned if isinstance(returned, Several) else () if returned is None else (returned,)
        if self._graph.sends_return_value(executor_id):
            context.sends.extend(Sent(isolated(value)) for value in values)
        else:
            context.outputs.extend(isolated(value) for value in values)
        return tuple(context.sends), tuple(context.outputs)

    @staticmethod
    def _failed(
        activation: Activation, context: WorkflowContext[object, object], started: float, error: Exception
    ) -> ActivationResult:
        return ActivationResult(
            activation=activation,
            error=error,
            duration_s=time.perf_counter() - started,
            sub_events=tuple(context.sub_events),
        )

    async def _run_sub(self, workflow: Workflow, message: object, run_id: RunId, path: str) -> RunResult:
        runner = Runner(workflow, run_id, message, path=path, listener=self._listener)
        return raise_for_failure(await runner.run())


async def judge(graph: Graph, source: ExecutorId, sends: Sequence[Sent]) -> dict[tuple[int, int], Verdict]:
    """Ask every condition and selector on the way of ``sends``; the planner reads the verdicts only."""
    verdicts: dict[tuple[int, int], Verdict] = {}
    for edge_index in graph.leaving[source]:
        edge = graph.edges[edge_index]
        for position, sent in enumerate(sends):
            if isinstance(edge, DirectEdge) and edge.condition is not None:
                holds = edge.condition(sent.payload)
                verdicts[edge_index, position] = bool(await holds if inspect.isawaitable(holds) else holds)
            elif isinstance(edge, FanOutEdge) and edge.select is not None:
                verdicts[edge_index, position] = await _selected(edge, sent)
    return verdicts


async def _selected(edge: FanOutEdge, sent: Sent) -> tuple[ExecutorId, ...]:
    if edge.select is None:
        return edge.targets
    answer = edge.select(sent.payload, edge.targets)
    answer = await answer if inspect.isawaitable(answer) else answer
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        raise SelectorError(edge.source, answer)
    chosen = set(answer)
    if unknown := sorted(map(str, chosen - set(edge.targets))):
        reason = f"its selector chose {', '.join(unknown)}, declared are {', '.join(edge.targets)}"
        raise UndeliverableMessageError(edge.source, sent.payload, reason)
    return tuple(target for target in edge.targets if target in chosen)


def raise_for_failure(result: RunResult) -> RunResult:
    """Return a good result; raise the error of a failed one, with the result as its ``result`` attribute."""
    if result.error is None:
        return result
    with contextlib.suppress(AttributeError):  # an exception class with slots cannot carry it
        result.error.result = result  # type: ignore[attr-defined]  # documented on Workflow.run
    raise result.error
