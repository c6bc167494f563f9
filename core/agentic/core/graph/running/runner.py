"""Runs a workflow in this process: it only carries out the planner's decisions."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from agentic.core.errors import text_of
from agentic.core.graph.checkpoints.writer import CheckpointWriter
from agentic.core.graph.codec.annotations import type_name
from agentic.core.graph.codec.payload import Payload, PayloadPacker, pack
from agentic.core.graph.definition.run_services import (
    BaseWorkflow,
    KeptEffects,
    RunServices,
    StateView,
    SubCall,
)
from agentic.core.graph.definition.workflow import WorkflowDefinition, definition_of
from agentic.core.graph.errors import (
    CheckpointConflictError,
    HandlerStoppedError,
    MessageTypeError,
    RunTimeoutError,
    error_text,
)
from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.graph.model.messages import Activation, ActivationKey, ActivationResult
from agentic.core.graph.model.policies import WorkflowConfig
from agentic.core.graph.model.progress import Asked, InfoRequest, SubRun, request_id
from agentic.core.graph.model.result import RunResult, RunStatus
from agentic.core.graph.model.state import RunState, state_of
from agentic.core.graph.planning.planner import (
    Answer,
    EarlyEnd,
    Transition,
    break_off,
    commit,
    due,
    go_on,
    is_handled,
    settle,
    start,
)
from agentic.core.graph.planning.shared_state import view_after
from agentic.core.graph.running.attempts import Attempts, with_edge_decisions
from agentic.core.graph.running.cancels import CancelWatch
from agentic.core.graph.running.on_cancel import find_work_to_cancel, run_cancel_hooks
from agentic.core.graph.running.tasks import gather_bounded
from agentic.core.records import record
from agentic.core.types import ExecutorId, JSONValue, RunId

OnEvent = Callable[[WorkflowEvent], None]

# Handlers that never wait would block the loop for all others, listeners included; each turn of it costs
# as much as a superstep.
_YIELD_AFTER_S = 0.01
_NO_LOCAL: Mapping[str, JSONValue] = {}


@record
class Setup:
    """How a run is run.

    Attributes:
        config: Its limits.
        listener: Gets every event at once, durable and live, also from sub-workflows.
        tracker: Keep the run's checkpoints, if it is stored.
        packer: Makes payloads of sent values.
        keeps_inputs: Whether messages are kept unchanged, because the run may be tried again.
        is_stored: Whether it is stored, by itself or as part of another run.
        deadline: The deadline of the activation around it, in seconds since the epoch.
        effects: Of a sub-workflow's run, if the activation around it has a ledger.
    """

    config: WorkflowConfig
    listener: OnEvent | None = None
    tracker: CheckpointWriter | None = None
    packer: PayloadPacker = pack
    keeps_inputs: bool = False
    is_stored: bool = False
    deadline: float | None = None
    effects: KeptEffects | None = None


class Runner:
    """One run of a graph, or one leg of it. A runner serves only that.

    Args:
        workflow: The workflow of the run.
        state: The state of the run: new, or from a checkpoint.
        setup: How it is run.
        outputs: Earlier outputs of the run.
    """

    def __init__(
        self, workflow: WorkflowDefinition, state: RunState, setup: Setup, *, outputs: Sequence[Payload] = ()
    ) -> None:
        self._workflow = workflow
        self._graph = graph = workflow.graph
        self._config = setup.config
        self._listener = setup.listener
        self._tracker = setup.tracker
        self._clock = time.time
        self._events: list[WorkflowEvent] = []
        self._outputs = list(outputs)
        self._state = state
        self._finished: dict[ActivationKey, ActivationResult] = {}
        self._running: dict[ActivationKey, Attempts] = {}
        self._untold: list[WorkflowEvent] = []
        self._live_count = 0
        self._started = time.perf_counter()
        self._services = RunServices(
            reducers=graph.reducers,
            run_id=state.run_id,
            path=state.path,
            clock=self._clock,
            tell=setup.listener,
            run_sub=self._run_sub,
            pack=setup.packer,
            deadline=min((d for d in (state.deadline, setup.deadline) if d is not None), default=None),
            keeps_inputs=setup.keeps_inputs,
            is_stored=setup.is_stored,
            history=setup.config.history,
            previous_errors=state.previous_errors,
            effects=setup.effects,
        )

    @property
    def run_id(self) -> RunId:
        """Name of the run."""
        return self._state.run_id

    @property
    def running_ids(self) -> list[ExecutorId]:
        """The executors whose handlers run at the moment."""
        return list(
            dict.fromkeys(name for name, shard in self._running if (name, shard) not in self._finished)
        )

    def begin(self, message: object) -> None:
        """Take the input of a new run.

        Raises:
            MessageTypeError: A start executor does not take it.
        """
        for name in self._graph.starts:
            node = self._graph.executors[name]
            if not node.accepts(message):
                raise MessageTypeError(name, message, [type_name(kind) for kind in node.input_types])
        facts = {"workflow": self._workflow.id, "version": self._workflow.version}
        now = self._clock()
        self._take(start(self._graph, self._config, self._state, now, self._services.pack(message), facts))

    def take_up(self, answers: Mapping[str, Answer | None], facts: Mapping[str, object]) -> None:
        """Resume a run that was interrupted, failed, cancelled, or waits.

        Args:
            answers: By name of the request within the run; None for a request that expired.
            facts: For the event: the checkpoint, and the changes since.
        """
        state, now = self._state, self._clock()
        late = [a.name for a in state.open_requests if a.deadline is not None and a.deadline <= now]
        settled = {**dict.fromkeys(late), **answers}
        is_waiting = state.status is RunStatus.WAITING_INPUT
        if settled:
            resumed = facts if is_waiting else None
            self._take(settle(self._graph, self._config, state, settled, now, resumed=resumed))
        if not is_waiting:
            self._take(go_on(self._graph, self._config, self._state, now, facts))

    async def run(self) -> RunResult:
        """Run until no message is in flight, or only answers could bring one.

        Returns:
            The result, also of a failed run; a cancellation is raised, even if user code suppresses it.
        """
        watch = CancelWatch()
        try:
            await self._save()
            yielded_at = time.perf_counter()
            while self._state.status is RunStatus.RUNNING:
                await self._superstep()
                if self._is_over:
                    await self._abandon()
                if self._tracker is not None:
                    await self._save()
                if watch.is_cancelled():
                    raise asyncio.CancelledError
                if time.perf_counter() - yielded_at > _YIELD_AFTER_S:
                    await asyncio.sleep(0)
                    yielded_at = time.perf_counter()
        except asyncio.CancelledError:
            self.cancel()
            await self._abandon()
            await self._save()
            raise
        return self.result()

    def cancel(self) -> None:
        """Note that the run was cancelled, unless it has ended."""
        if self._state.status is RunStatus.RUNNING:
            self._break_off(None)
            self._tell_saved()

    def result(self) -> RunResult:
        """Return the current result of the run."""
        state = self._state
        return RunResult(
            run_id=state.run_id,
            status=state.status,
            outputs=tuple(payload.value for payload in self._outputs),
            superstep_count=state.superstep,
            duration_s=time.perf_counter() - self._started,
            events=tuple(self._events),
            error=state.error,
            waiting_fan_ins=state.waiting_fan_ins,
            pending_requests=tuple(self._request(asked) for asked in state.open_requests),
        )

    def sub_run(self) -> SubRun:
        """Return the record of this run that an activation keeps."""
        return SubRun(self._state, tuple(self._outputs))

    def _request(self, asked: Asked) -> InfoRequest:
        return InfoRequest(
            id=request_id(self._state.run_id, asked.name),
            path=asked.path,
            data=asked.question.copy_value(),
            response_type=asked.response_type,
            raised_at=asked.raised_at,
            deadline=asked.deadline,
        )

    def _take(self, transition: Transition, results: Sequence[ActivationResult] = ()) -> None:
        """Apply a decision to the run: record and report its events, note its changes."""
        for result in results:
            if result.sub_events:
                # Already reported when they happened; here they take their place in the record.
                self._events.extend(result.sub_events)
        self._state = transition.state
        self._events.extend(transition.events)
        self._outputs.extend(transition.outputs)
        if self._tracker is not None:
            self._tracker.note(transition)
            if self._listener is not None:
                self._untold.extend(transition.events)  # unsaved events did not happen yet
        elif self._listener is not None:
            for event in transition.events:
                self._listener(event)

    def _tell_saved(self) -> None:
        if self._listener is not None:
            for event in self._untold:
                self._listener(event)
        self._untold.clear()

    async def _superstep(self) -> None:
        """Run the due activations and commit their results."""
        activations = due(self._state)
        self._finished = {}
        self._running = {}
        try:
            if self._state.deadline is None:
                await self._run_all(activations)
            else:
                await self._within_deadline(activations, self._state.deadline)
        except _StoppedError as stopped:
            self._break_off(stopped.error)
            return
        if self._state.kept:
            await self._rejudge()
        results = self._results(activations)
        if len(results) < len(activations) and not any(self._fails(result) for result in results):
            # A task of ours was cancelled by the code in it.
            missing = next(a for a in activations if a.key not in self._finished)
            self._break_off(HandlerStoppedError(missing.executor_id, asyncio.CancelledError()))
            return
        self._take(commit(self._graph, self._config, self._state, results, self._clock()), results)
        self._finished = {}
        self._running = {}  # a cancellation may reach the next superstep early; these are not part of it

    def _fails(self, result: ActivationResult) -> bool:
        return result.routing_error is not None or not is_handled(self._graph, self._state, result)

    def _results(self, activations: Sequence[Activation]) -> list[ActivationResult]:
        """Return the finished results of the superstep, in planner order."""
        return [r for a in activations if (r := self._finished.get(a.key)) is not None]

    async def _rejudge(self) -> None:
        """Evaluate the conditions again that had failed or not answered when the superstep was broken off."""
        for key, kept in self._state.kept.items():
            if kept.routing_error is not None or not kept.is_evaluated:
                again = await with_edge_decisions(kept, self._graph)
                self._state = replace(self._state, kept={**self._state.kept, key: again})

    async def _within_deadline(self, activations: Sequence[Activation], deadline: float) -> None:
        left = deadline - self._clock()
        timer = asyncio.timeout(max(left, 0))
        try:
            async with timer:
                if left <= 0:
                    await asyncio.sleep(0)  # handlers that never wait would not be stopped by the timer
                await self._run_all(activations)
        except TimeoutError:
            if not timer.expired():
                raise
        if timer.expired():
            unfinished = dict.fromkeys(a.executor_id for a in activations if a.key not in self._finished)
            limit = self._config.run_timeout_s or deadline - self._state.started_at
            raise _StoppedError(RunTimeoutError(self._state.run_id, limit, list(unfinished))) from None

    def _break_off(self, error: Exception | None) -> None:
        for key, running in self._running.items():
            if key not in self._finished and running.unevaluated is not None:
                self._finished[key] = replace(running.unevaluated, is_evaluated=False)
        results = self._results(due(self._state))
        unfinished = {key: one for key, one in self._running.items() if key not in self._finished}
        for running in unfinished.values():
            self._events.extend(running.sub_events)
        tried = {key: running.progress for key, running in unfinished.items()}
        transition = break_off(
            self._graph, self._config, self._state, results, self._clock(), EarlyEnd(error, tried)
        )
        self._take(transition, results)
        self._finished = {}
        self._running = {}

    async def _run_all(self, activations: Sequence[Activation]) -> None:
        """Run the activations of a superstep: executors in parallel, each executor's activations in lanes."""
        if len(activations) == 1 and not self._state.kept:
            activation = activations[0]
            await self._activate(activation, self._seen_by(activation.delivery.target))
            return
        try:
            await gather_bounded(self._lanes(), self._config.max_parallel)
        except* _StoppedError as stopped:
            raise stopped.exceptions[0] from None

    def _lanes(self) -> Iterator[Awaitable[None]]:
        queues: dict[ExecutorId, list[Activation]] = {}
        for activation in self._state.activations:
            queues.setdefault(activation.delivery.target, []).append(activation)
        for executor_id, queued in queues.items():
            queue = iter(queued)
            for _ in range(min(self._graph.lanes[executor_id], len(queued))):
                yield self._lane(executor_id, queue)

    async def _lane(self, executor_id: ExecutorId, queue: Iterator[Activation]) -> None:
        """Run a queue, one activation after the other; in a single lane, each sees the earlier writes."""
        view = self._seen_by(executor_id)
        is_alone = self._graph.lanes[executor_id] == 1
        for activation in queue:
            result = self._state.kept.get(activation.key) if self._state.kept else None
            if result is None:
                result = await self._activate(activation, view)
            if is_alone and not is_handled(self._graph, self._state, result):
                return  # the next one would not see the writes of this one
            if is_alone and (result.writes or result.local is not None):
                view = view_after(self._graph, view, result)

    def _seen_by(self, executor_id: ExecutorId) -> StateView:
        return StateView(self._state.shared, self._state.local.get(executor_id, _NO_LOCAL))

    async def _activate(self, activation: Activation, view: StateView) -> ActivationResult:
        key = activation.key
        attempts = self._running[key] = Attempts(activation, self._graph, self._services, self._config, view)
        result = self._finished[key] = await attempts.run()
        if (
            result.error is not None
            and self._config.fail_fast
            and not is_handled(self._graph, self._state, result)
        ):
            raise _StoppedError(result.error)
        return result

    @property
    def _is_over(self) -> bool:
        return self._state.status is not RunStatus.RUNNING

    async def _abandon(self) -> None:
        """Have executors cancel their external work, if the run ends before they are done."""
        if calls := find_work_to_cancel(self._graph, self._state):
            await run_cancel_hooks(calls, self._graph, self._services, self._state)

    async def _save(self) -> None:
        """Save a checkpoint, if the run is stored and has changed since the last one."""
        tracker = self._tracker
        if tracker is None or not tracker.is_dirty:
            return
        try:
            saved = await tracker.save(self._state, self._clock())
        except CheckpointConflictError as exc:
            # Another process continues the run: later events here are not part of it.
            self._untold.clear()
            self._state = replace(self._state, status=RunStatus.FAILED, error=exc)
        except Exception as exc:
            self._tell_saved()
            told = {"error_type": type(exc).__name__, "error": error_text(exc)}
            self._live(EventKind.CHECKPOINT_FAILED, told)
            if self._config.on_checkpoint_failure == "fail":
                self._fail_unsaved(exc)
                await self._abandon()
        else:
            self._tell_saved()
            if self._listener is not None:
                self._live(EventKind.CHECKPOINT_SAVED, {"checkpoint": saved.id, "bytes": saved.size_bytes})

    def _fail_unsaved(self, error: Exception) -> None:
        if self._state.status.is_final:
            self._state = replace(self._state, status=RunStatus.FAILED, error=self._state.error or error)
            return
        self._finished = {}
        self._break_off(error)
        self._tell_saved()

    def _live(self, kind: EventKind, data: Mapping[str, JSONValue]) -> None:
        if self._listener is not None:
            self._live_count += 1
            state = self._state
            self._listener(
                WorkflowEvent(
                    kind,
                    state.run_id,
                    self._clock(),
                    superstep=state.superstep,
                    path=state.path,
                    data=data,
                    live_number=self._live_count,
                )
            )

    def _run_sub(
        self, workflow: BaseWorkflow, message: object, call: SubCall
    ) -> Awaitable[tuple[RunResult, SubRun]]:
        return run_within(definition_of(workflow), message, call, self._services)


class _StoppedError(Exception):
    """A superstep is broken off because of ``error``."""

    def __init__(self, error: Exception) -> None:
        super().__init__(text_of(error))
        self.error = error


async def run_within(
    workflow: WorkflowDefinition, message: object, call: SubCall, services: RunServices
) -> tuple[RunResult, SubRun]:
    """Run a sub-workflow within an activation, or resume it.

    Args:
        workflow: The sub-workflow.
        message: Its input.
        call: Of the activation.
        services: To the activation's run.
    """
    before = call.before
    setup = Setup(
        workflow.config,
        services.tell,
        packer=services.pack if call.is_kept else pack,
        keeps_inputs=call.keeps_inputs,
        is_stored=services.is_stored and call.is_kept,
        deadline=call.deadline,
        effects=call.effects,
    )
    state = (
        replace(
            new_state(call.run_id, call.path, services.clock(), workflow.config),
            previous_errors=call.previous_errors,
        )
        if before is None
        else replace(state_of(before), run_id=call.run_id, path=call.path)
    )
    runner = Runner(workflow, state, setup, outputs=() if before is None else before.outputs)
    if before is None:
        runner.begin(message)
    elif state_of(before).status is not RunStatus.COMPLETED:
        runner.take_up(answers_of(call), {})
    try:
        return await runner.run(), runner.sub_run()
    except asyncio.CancelledError:
        call.keep(runner.sub_run(), runner.result().events)
        raise


def answers_of(call: SubCall) -> dict[str, Answer | None]:
    """Return the answered and expired requests of a sub-run: by name within it."""
    return {
        name: None if asked.answer is None else Answer(asked.answer, asked.answered_by)
        for name, asked in call.answers.items()
    }


def new_state(run_id: RunId, path: str, now: float, config: WorkflowConfig) -> RunState:
    """Return the state of a run that has not started."""
    return RunState(run_id, path, now, deadline_of(now, config))


def deadline_of(now: float, config: WorkflowConfig) -> float | None:
    """Return the deadline of a run that starts or resumes ``now``, in seconds since the epoch."""
    return None if config.run_timeout_s is None else now + config.run_timeout_s


def raise_for_failure(result: RunResult) -> RunResult:
    """Return a good result; raise the error of a failed one, with the result as its ``result`` attribute."""
    if result.error is None:
        return result
    with contextlib.suppress(AttributeError):  # an exception class with slots cannot carry it
        result.error.result = result  # type: ignore[attr-defined]  # documented on Workflow.run
    raise result.error
