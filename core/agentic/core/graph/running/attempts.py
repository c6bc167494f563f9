"""Runs an executor on one message, as often as its policy allows, until it is done or parks."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress
from dataclasses import replace

from agentic.core.errors import text_of
from agentic.core.graph.definition.context import ParkedSignal, WorkflowContext
from agentic.core.graph.definition.edges import Graph, carries_failures
from agentic.core.graph.definition.entry import HandlerEntry
from agentic.core.graph.definition.run_services import RunServices, StateView
from agentic.core.graph.errors import ExecutorTimeoutError, error_text, error_type
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.interrupts import stopped_by
from agentic.core.graph.model.messages import NO_DECISIONS, Activation, ActivationResult, Sent, Several
from agentic.core.graph.model.policies import WorkflowConfig, delay_before_retry
from agentic.core.graph.model.progress import FailedAttempt, Progress, without_open
from agentic.core.graph.model.state import joined
from agentic.core.graph.planning.conditions import evaluate_conditions
from agentic.core.graph.planning.record_events import failure_of
from agentic.core.graph.running.cancels import CancelWatch
from agentic.core.graph.running.tasks import isolate_contextvars


class PassingSignal(Exception):  # noqa: N818 - not an error of the handler
    """A try met ``error``, which will pass; the try does not count."""

    def __init__(self, error: Exception) -> None:
        super().__init__(text_of(error))
        self.error = error


class Attempts:
    """The tries of one activation.

    Args:
        activation: The message and its executor.
        graph: Of its run.
        services: To its run.
        config: Of the run.
        view: Its view of the run's state.

    Attributes:
        progress: The progress that outlives the tries so far, even cancelled ones.
        sub_events: Durable events of the sub-workflows in them.
        unevaluated: Its result, set as soon as the conditions are evaluated on it.
    """

    __slots__ = (
        "_activation",
        "_executor",
        "_graph",
        "_keeps_input",
        "_policy",
        "_services",
        "_started",
        "_timeout_s",
        "_view",
        "_watch",
        "progress",
        "sub_events",
        "unevaluated",
    )  # fmt: skip

    def __init__(
        self,
        activation: Activation,
        graph: Graph,
        services: RunServices,
        config: WorkflowConfig,
        view: StateView,
    ) -> None:
        executor = graph.executors[activation.delivery.target]
        self._activation = activation
        self._executor = executor
        self._graph = graph
        self._services = services
        self._view = view
        self._policy = executor.retry or config.retry
        self._timeout_s = executor.timeout_s or config.timeout_s
        self.progress = activation.delivery.progress
        self.sub_events: tuple[WorkflowEvent, ...] = ()
        self.unevaluated: ActivationResult | None = None
        # A handler may change its message; the next try must not see that.
        self._keeps_input = (
            self._policy.max_attempts > 1 or services.keeps_inputs or executor.id in graph.retry_targets
        )
        self._started = time.perf_counter()
        self._watch: CancelWatch

    async def run(self) -> ActivationResult:
        """Try until it is done, parks, or has failed for good: an error becomes part of the result.

        Raises:
            CancelledError: The run was cancelled.
        """
        while True:
            outcome = await self.next_try()
            if isinstance(outcome, ActivationResult):
                return outcome
            await asyncio.sleep(outcome)

    async def next_try(self) -> ActivationResult | float:
        """Try once; return the result, or the seconds to wait before the next try.

        Raises:
            CancelledError: The run was cancelled, even if the handler suppressed that.
            PassingSignal: The try did not count; start it again after a while.
        """
        begun = time.perf_counter()
        self._watch = CancelWatch()  # of the task that tries, which may be another one each time
        outcome = await self._try()
        if isinstance(outcome, ActivationResult):
            return outcome
        if self._services.is_passing is not None and self._services.is_passing(outcome):
            raise PassingSignal(outcome)
        return await self.fail(outcome, time.perf_counter() - begun)

    async def fail(self, error: Exception, duration_s: float = 0.0) -> ActivationResult | float:
        """Note that a try failed; return the same as :meth:`next_try`."""
        tries = _tries_so_far(self.progress) + 1 if self.progress.failures else 1
        delay = delay_before_retry(self._policy, tries, error, random.random())  # noqa: S311  # jitter is no secret
        self._note(error, duration_s, delay)
        return await self._failed(error) if delay is None else delay

    async def give_up(self, error: Exception) -> ActivationResult:
        """Return the result of an activation that is not tried again, despite its policy."""
        self._note(error, 0.0, None)
        return await self._failed(error)

    async def _try(self) -> ActivationResult | Exception:
        """Enter the handler once; return the result, or the error."""
        services, timeout_s = self._services, self._timeout_s
        timeout_at = None if timeout_s is None else services.clock() + timeout_s
        entry = HandlerEntry(
            self._activation, services, self._view.local, self.progress, timeout_at, self._keeps_input
        )
        outcome: ActivationResult | Exception
        try:
            message = self._message()
            if timeout_s is None:
                returned = await self._enter(message, entry)
            else:
                returned = await self._within(timeout_s, message, entry)
            outcome = self._result(entry, returned)
        except Exception as exc:
            outcome = self._noted(exc, entry)
        except BaseException as exc:
            outcome = self._left_by(exc, entry)
        finally:
            if entry.sub_events:
                self.sub_events += tuple(entry.sub_events)
        if self._watch.is_cancelled():
            # A handler that returns, or fails, after a request to stop has not done its work.
            self.progress = without_open(entry.kept())
            self._watch.drop_own()
            raise asyncio.CancelledError
        if self._watch.cancelled_itself():
            await self._watch.take_back()
            if isinstance(outcome, ActivationResult):
                outcome = stopped_by(self._executor.id, asyncio.CancelledError())
        if isinstance(outcome, ActivationResult):
            if outcome.sends and self._executor.id in self._graph.conditional_sources:
                self.unevaluated = outcome
                return await with_edge_decisions(outcome, self._graph)
            return outcome
        self.progress = without_open(entry.kept())
        return outcome

    def _message(self) -> object:
        payload = self._activation.delivery.payload
        return payload.copy_value() if self._keeps_input else payload.value

    async def _enter(self, message: object, entry: HandlerEntry) -> object:
        """Run the executor on the message; nothing of it still runs afterwards."""
        context: WorkflowContext[object, object] = WorkflowContext(entry, self._executor, self._view.shared)
        try:
            return await isolate_contextvars(self._executor.handle(message, context))
        finally:
            if (calls := entry.close()) is not None:
                await calls.end(at_once=self._watch.is_cancelled())

    async def _within(self, timeout_s: float, message: object, entry: HandlerEntry) -> object:
        timer = asyncio.timeout(timeout_s)
        try:
            async with timer:
                returned = await self._enter(message, entry)
        except Exception as exc:
            if timer.expired():
                raise ExecutorTimeoutError(self._executor.id, timeout_s) from exc
            raise
        if timer.expired():  # the handler suppressed the cancellation
            raise ExecutorTimeoutError(self._executor.id, timeout_s)
        return returned

    def _take(self, entry: HandlerEntry, returned: object) -> None:
        """Send or yield the return value of the handler."""
        values = returned if isinstance(returned, Several) else (returned,)
        services, executor = self._services, self._executor
        sends = executor.id in self._graph.sending
        for value in values:
            if sends:
                entry.sends.append(Sent(services.pack(value)))
            else:
                entry.add_output(services.pack(value))

    def _result(self, entry: HandlerEntry, returned: object = None) -> ActivationResult:
        """Return the result of a try whose handler has ended: it waits for answers, or is done."""
        waits = entry.waits
        if returned is not None and not waits:
            self._take(entry, returned)
        took = time.perf_counter() - self._started
        told = self.sub_events
        if entry.sub_events:
            told = (*told, *entry.sub_events)
        if waits:
            return ActivationResult(
                self._activation, parked=True, progress=entry.kept(), duration_s=took, sub_events=told
            )
        if entry.once and not self._services.keeps_effects:  # a ledger has it already
            self.progress = replace(self.progress, origin=self._activation.origin, once=entry.once)
        # By position, because it is half the work of a call with names, in each superstep.
        return ActivationResult(
            self._activation, tuple(entry.sends), tuple(entry.outputs), tuple(entry.writes),
            entry.changed_local, NO_DECISIONS, None, None, False, self.progress, took, told, True,
            entry.commits,
        )  # fmt: skip

    def _noted(self, error: Exception, entry: HandlerEntry) -> Exception:
        """Return an error with a note that names the executor; a sub-workflow's error has its own note."""
        if error is not entry.sub_error:
            note = f"in executor {joined(self._services.path, self._executor.id)!r}"
            with suppress(Exception):  # foreign code may have broken the notes
                if note not in getattr(error, "__notes__", ()):
                    error.add_note(note)
        return error

    def _left_by(self, exc: BaseException, entry: HandlerEntry) -> ActivationResult | Exception:
        """Return the result after a handler raised a ``BaseException`` that is not an ``Exception``."""
        if isinstance(exc, GeneratorExit):  # this coroutine is closed; a handler's own is a RuntimeError
            raise exc
        if self._parks(exc, entry):
            return self._result(entry)
        self.progress = without_open(entry.kept())
        return self._stopped(exc)

    def _parks(self, exc: BaseException, entry: HandlerEntry) -> bool:
        """Whether a handler stopped to wait for answers, not because the run is cancelled."""
        return isinstance(exc, asyncio.CancelledError) and not self._watch.is_cancelled() and entry.waits

    def _stopped(self, exc: BaseException) -> Exception:
        is_stopped = self._watch.is_cancelled()
        if isinstance(exc, ParkedSignal) and is_stopped:
            raise asyncio.CancelledError from exc  # the timer of the run knows no subclass of it
        if isinstance(exc, asyncio.CancelledError) and (is_stopped or isinstance(exc, ParkedSignal)):
            raise exc
        return stopped_by(self._executor.id, exc)

    def _note(self, error: Exception, duration_s: float, delay_s: float | None) -> None:
        failure = FailedAttempt(
            len(self.progress.failures) + 1, error_type(error), error_text(error), duration_s, delay_s
        )
        self.progress = replace(
            self.progress,
            origin=self._activation.origin,
            failures=(*self.progress.failures, failure),
        )

    async def _failed(self, error: Exception) -> ActivationResult:
        """Return the result of a final failure, with a record of it if an edge may take that."""
        executor_id, graph = self._executor.id, self._graph
        failed = ActivationResult(
            self._activation,
            error=error,
            progress=self.progress,
            duration_s=time.perf_counter() - self._started,
            sub_events=self.sub_events,
        )
        if not any(carries_failures(graph.edges[index]) for index in graph.leaving[executor_id]):
            return failed
        record = failure_of(executor_id, error, len(self.progress.failures))
        self.unevaluated = replace(failed, sends=(Sent(self._services.pack(record)),))
        return await with_edge_decisions(self.unevaluated, graph)


async def with_edge_decisions(result: ActivationResult, graph: Graph) -> ActivationResult:
    """Return the result with the decisions on its messages, or with the error of a condition."""
    source = result.activation.delivery.target
    watch = CancelWatch()
    try:
        asked = evaluate_conditions(graph, source, result.sends, is_failure=result.error is not None)
        decisions = await isolate_contextvars(asked)
    except GeneratorExit:
        raise
    except BaseException as exc:
        if watch.is_cancelled():
            raise asyncio.CancelledError from exc
        if watch.cancelled_itself():
            await watch.take_back()
        error = exc if isinstance(exc, Exception) else stopped_by(source, exc)
        return replace(result, routing_error=error, is_evaluated=True)
    if watch.is_cancelled():
        raise asyncio.CancelledError
    if watch.cancelled_itself():
        await watch.take_back()
        error = stopped_by(source, asyncio.CancelledError())
        return replace(result, routing_error=error, is_evaluated=True)
    return replace(result, edge_decisions=decisions, routing_error=None, is_evaluated=True)


def _tries_so_far(progress: Progress) -> int:
    """Return how many tries count for the policy: the tries since the last final failure, if any."""
    tries = 0
    for failure in reversed(progress.failures):
        if failure.delay_s is None:
            break
        tries += 1
    return tries
