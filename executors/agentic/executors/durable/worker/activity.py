"""One try of a claimed activation, in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace

from structlog.contextvars import bound_contextvars

from agentic.core.graph.codec.payload import Payload, make_storable_packer
from agentic.core.graph.definition.context import ParkedSignal
from agentic.core.graph.definition.run_services import BaseWorkflow, RunServices, SubCall
from agentic.core.graph.definition.subgraph import WorkflowExecutor
from agentic.core.graph.definition.workflow import WorkflowDefinition, definition_of
from agentic.core.graph.errors import ExecutorTimeoutError, RunTimeoutError, error_text
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.history import HistorySource
from agentic.core.graph.model.messages import Activation, ActivationResult
from agentic.core.graph.model.progress import Progress, SubRun
from agentic.core.graph.model.result import RunResult
from agentic.core.graph.running.attempts import Attempts, PassingSignal, with_edge_decisions
from agentic.core.graph.running.runner import run_within
from agentic.core.ledger import ActivationId, LedgerUnavailableError
from agentic.core.logging import get_logger
from agentic.core.masking import learning
from agentic.core.records import record
from agentic.executors.durable.worker import ledger_executor
from agentic.executors.durable.worker.cached_run import CachedRun
from agentic.executors.workers.guarding import at_most
from agentic.executors.workers.pulse import own_pulse
from agentic.mappers.database.away import went_away

log = get_logger(__name__)


@record
class RetryLater:
    """A try failed, and another one will follow."""

    delay_s: float


@record
class WaitsForChild:
    """The activation waits for a child run, which must start or continue."""

    workflow: WorkflowDefinition
    message: object
    call: SubCall


ActivityOutcome = ActivationResult | RetryLater | WaitsForChild

ChildReader = Callable[[WorkflowDefinition, SubCall], Awaitable[tuple[RunResult, SubRun] | None]]
"""Returns the result of a child run; None if it must start, or continue with answers."""


@record
class Surroundings:
    """The surroundings of an activation, besides its run.

    Attributes:
        read_child: Reads the results of child runs.
        keep_once: Stores the result of a call of ``ctx.once``.
        tell: Receives live events.
        deadline: When the run must be done, by the clock of this process.
    """

    read_child: ChildReader
    keep_once: Callable[[str, Payload], Awaitable[None]]
    tell: Callable[[WorkflowEvent], None] | None
    deadline: float | None
    history: HistorySource | None = None


class Activity:
    """The tries of a claimed activation in this process.

    Args:
        cached_run: Its run.
        activation: The activation to handle.
        progress: The progress from its tries so far.
        surroundings: Its other needs.
    """

    def __init__(
        self, cached_run: CachedRun, activation: Activation, progress: Progress, surroundings: Surroundings
    ) -> None:
        self._cached_run = cached_run
        self._surroundings = surroundings
        self._activation = activation
        self._deadline = surroundings.deadline
        self._is_patient = True
        self._services = RunServices(
            reducers=cached_run.graph.reducers,
            run_id=cached_run.run_id,
            path=cached_run.state.path,
            clock=time.time,
            tell=surroundings.tell,
            run_sub=self._run_sub,
            pack=make_storable_packer(cached_run.workflow.codec),
            deadline=self._deadline,
            keeps_inputs=True,  # the cached run may serve a second try
            is_stored=True,
            history=surroundings.history,
            keep_once=self._keep_once,
            joins_commit=True,
            previous_errors=cached_run.state.previous_errors,
            is_passing=lambda error: self._is_patient and went_away(error),
        )
        view = cached_run.view_for(activation)
        self._attempts = Attempts(activation, cached_run.graph, self._services, cached_run.config, view)
        # Not the activation's own progress: the barrier publishes parts missing from the run's log.
        self._attempts.progress = progress
        self._past = progress
        node = cached_run.graph.executors[activation.executor_id]
        self._is_child_run = isinstance(node, WorkflowExecutor)
        self._timeout_s = node.timeout_s or cached_run.config.timeout_s

    @property
    def progress(self) -> Progress:
        """The progress from the tries so far."""
        return self._attempts.progress

    @property
    def progress_if_stopped(self) -> Progress:
        """The progress without the last try, because nothing of that try was kept."""
        if self._is_child_run:
            return self._past  # with the answers not passed on yet
        progress = self._attempts.progress
        is_new = len(progress.failures) > len(self._past.failures)
        is_final = is_new and progress.failures[-1].delay_s is None
        return replace(progress, failures=progress.failures[:-1]) if is_final else progress

    async def try_once(self) -> ActivityOutcome:
        """Enter the handler once; its log lines name the run and activation.

        Raises:
            CancelledError: The process stops it.
            LedgerUnavailableError: The ledger is unavailable; the handler was stopped, but did not fail.
        """
        kept = self._cached_run.state.kept.get(self._activation.key)
        if kept is not None:
            return await with_edge_decisions(
                kept, self._cached_run.graph
            )  # done, but its conditions were not evaluated
        name = ActivationId(self._cached_run.run_id, self._activation.superstep, *self._activation.key)
        pulse = None if self._timeout_s is None else own_pulse()
        try:
            with (
                nullcontext() if pulse is None or self._timeout_s is None else pulse.at_work(self._timeout_s),
                bound_contextvars(**self._cached_run.log_context, activation=str(name)),
                learning(self._cached_run.secrets),
            ):
                return _outcome(await self._within_deadline())
        except _WaitSignal as signal:
            return signal.waits
        except _AwaySignal as signal:
            raise signal.error from None

    async def _next_try(self) -> ActivationResult | float:
        """Try once; try again when the database was unavailable: that is not the handler's failure."""
        for longest_s in ledger_executor.PAUSES_S:
            try:
                return await self._try()
            except (PassingSignal, _AwaySignal) as signal:
                pause_s, reason = ledger_executor.shortened(longest_s), error_text(signal.error)
                log.warning("attempt.interrupted", reason=reason, again_in_s=round(pause_s, 1))
            await asyncio.sleep(pause_s)
        self._is_patient = False
        return await self._try()

    def _try(self) -> Awaitable[ActivationResult | float]:
        limit_s = self._limit_s
        return self._attempts.next_try() if limit_s is None else self._try_within(limit_s)

    async def _try_within(self, limit_s: float) -> ActivationResult | float:
        with at_most(limit_s):
            return await self._attempts.next_try()

    @property
    def _limit_s(self) -> float | None:
        """The time limit of a try in seconds, if there is one."""
        if self._deadline is None:
            return self._timeout_s
        left_s = max(self._deadline - time.time(), 0)
        return left_s if self._timeout_s is None else min(self._timeout_s, left_s)

    async def fail(self, error: Exception) -> ActivityOutcome:
        """Record that the try failed after all; return the outcome."""
        return _outcome(await self._attempts.fail(error))

    async def overrun(self) -> ActivityOutcome:
        """Record that the try was abandoned because it exceeded its time and did not end; return the outcome.

        Raises:
            DeadlineSignal: The run's time is over.
        """
        if self._timeout_s is None or (self._deadline is not None and time.time() >= self._deadline):
            raise DeadlineSignal
        return await self.fail(ExecutorTimeoutError(self._activation.executor_id, self._timeout_s))

    async def give_up(self, error: Exception) -> ActivationResult:
        """Return the activation's result if it is not tried again."""
        return await self._attempts.give_up(error)

    async def _within_deadline(self) -> ActivationResult | float:
        if self._deadline is None:
            return await self._next_try()
        left = self._deadline - time.time()
        timer = asyncio.timeout(max(left, 0))
        try:
            async with timer:
                return await self._next_try()
        except TimeoutError:
            if not timer.expired():
                raise
            raise DeadlineSignal from None

    async def _run_sub(self, given: BaseWorkflow, message: object, call: SubCall) -> tuple[RunResult, SubRun]:
        workflow = definition_of(given)
        if not self._is_child_run:
            # No other process could rebuild a workflow that a handler builds itself.
            return await run_within(workflow, message, call, self._services)
        try:
            found = await self._surroundings.read_child(workflow, call)
        except LedgerUnavailableError as exc:
            raise _AwaySignal(exc) from exc
        if found is None:
            raise _WaitSignal(WaitsForChild(workflow, message, call))
        return found

    async def _keep_once(self, key: str, payload: Payload) -> None:
        try:
            await self._surroundings.keep_once(key, payload)
        except LedgerUnavailableError as exc:
            raise _AwaySignal(exc) from exc


class DeadlineSignal(Exception):  # noqa: N818 - not an error: the run's time is over
    """The run must end, because its time is over."""

    def error_of(self, cached_run: CachedRun, unfinished: Mapping[str, None]) -> RunTimeoutError:
        """Return the error that ends the run."""
        state = cached_run.state
        limit = cached_run.config.run_timeout_s or (state.deadline or state.started_at) - state.started_at
        return RunTimeoutError(state.run_id, limit, list(unfinished))


class _WaitSignal(ParkedSignal):
    """Leaves a handler that must wait for its child run."""

    def __init__(self, waits: WaitsForChild) -> None:
        super().__init__("waits for a child run")
        self.waits = waits


class _AwaySignal(ParkedSignal):
    """Leaves a handler that cannot continue without the ledger."""

    def __init__(self, error: LedgerUnavailableError) -> None:
        super().__init__(str(error))
        self.error = error


def _outcome(tried: ActivationResult | float) -> ActivityOutcome:
    return tried if isinstance(tried, ActivationResult) else RetryLater(tried)
