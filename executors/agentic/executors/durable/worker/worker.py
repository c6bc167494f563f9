"""Works on activations: claims one, does it, saves the result, and continues in place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from agentic.core.audit import Decision, DecisionKind, decided
from agentic.core.errors import AgenticError, text_of
from agentic.core.graph.checkpoints.store import StoredCheckpoint
from agentic.core.graph.errors import CheckpointError, error_text
from agentic.core.graph.model.interrupts import stopped_by
from agentic.core.graph.model.messages import ActivationResult
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.planning.planner import commit, is_handled
from agentic.core.graph.running.on_cancel import find_work_to_cancel
from agentic.core.ledger import (
    ActivationId,
    ActivationStatus,
    Claimed,
    Dispatchable,
    LeaseState,
    LedgerConflictError,
    LedgerError,
    LedgerTransaction,
    LedgerUnavailableError,
    RunRow,
    Settled,
)
from agentic.core.logging import get_logger
from agentic.core.records import record
from agentic.core.types import RunId
from agentic.executors.durable.errors import TimeLimitError
from agentic.executors.durable.reconcile.advance import advance, advance_run, written
from agentic.executors.durable.runs.children import ChildRun, prepared_child, write_child
from agentic.executors.durable.runs.encoding import write_progress, write_result
from agentic.executors.durable.worker.activity import (
    Activity,
    ActivityOutcome,
    DeadlineSignal,
    RetryLater,
    WaitsForChild,
)
from agentic.executors.durable.worker.cached_run import CachedRun, StepPlan
from agentic.executors.durable.worker.claiming import Taken, claim_any, claim_of_run, claim_wanted
from agentic.executors.durable.worker.host import MAX_COUNTDOWN_S, RunHost, mark
from agentic.executors.durable.worker.ledger_executor import pauses
from agentic.executors.durable.worker.preparing import prepare
from agentic.executors.durable.worker.process_names import process_name
from agentic.executors.workers.guarding import HandlerTask, engine_task
from agentic.mappers.database.away import went_away

log = get_logger(__name__)

T = TypeVar("T")

REFUSED_DELAY_S = 30.0
"""Delay of an activation this process cannot run because its code differs from the run's."""


EARLY_PAUSE_S = 0.05
"""Minimum delay of a message that came too early."""

OVERRAN = "its time limit passed"
"""Cancel reason of work that exceeds the time limit of its task."""


@dataclass(slots=True, kw_only=True)
class Bounds:
    """How long a worker continues in place before it makes room for others.

    Attributes:
        activations: Maximum number of activations.
        seconds: Maximum time, after which it still finishes its current activation.
    """

    activations: int = 50
    seconds: float = 30.0


@dataclass(slots=True, kw_only=True)
class Worked:
    """The work a worker did in one go.

    Attributes:
        done: Activations it did.
        failed: Runs that failed in it, and why.
    """

    done: int = 0
    failed: dict[RunId, str] = field(default_factory=dict)

    def add(self, other: Worked) -> None:
        """Add the work of another worker."""
        self.done += other.done
        self.failed |= other.failed


@record
class Wide:
    """A superstep with several activations that may run at the same time.

    Attributes:
        run_id: The run.
        superstep: The superstep.
        width: How many.
        priority: The run's priority.
    """

    run_id: RunId
    superstep: int
    width: int
    priority: int


OnClaim = Callable[[ActivationId], None]


@record
class _Job:
    """An activation that this process works on."""

    claimed: Claimed
    cached_run: CachedRun
    activity: Activity


class DurableWorker:
    """Works on activations, one at a time.

    Args:
        host: The parts of this process.
        bounds: How long it continues in place.
        on_wide: Called with a superstep where others could help.
        on_claim: Called with each activation it begins with.
    """

    def __init__(
        self,
        host: RunHost,
        bounds: Bounds | None = None,
        *,
        on_wide: Callable[[Wide], None] | None = None,
        on_claim: OnClaim | None = None,
    ) -> None:
        self._host = host
        self._on_claim = on_claim
        self._on_wide = on_wide
        self._bounds = bounds or Bounds()
        self._left = 0
        self._until = 0.0
        self._worked = Worked()
        self._read: StoredCheckpoint | None = None
        self._handling: HandlerTask[ActivityOutcome] | None = None
        self._end_reason: str | None = None

    async def work(self, wanted: ActivationId | None = None) -> Worked:
        """Do an activation, and continue with the next ones.

        When cancelled, it stops the current handler, writes its progress, and returns its claim.

        Args:
            wanted: Do this one, if it may run; else the best one available.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        return await self._until_over(partial(self._claim, wanted))

    async def help(self, wide: Wide) -> Worked:
        """Help with the activations of a superstep, and continue. Raises as :meth:`work`."""
        me, run_id, priority = self._host.me, wide.run_id, wide.priority

        async def claim() -> Claimed | None:
            taken = await self._claim_and_read(
                lambda ledger: Taken(claim_of_run(ledger, me, run_id, priority))
            )
            return taken.claimed

        return await self._until_over(claim)

    async def _until_over(self, claim: Callable[[], Awaitable[Claimed | None]]) -> Worked:
        self._left = self._bounds.activations
        self._until = time.monotonic() + self._bounds.seconds
        self._worked, self._end_reason = Worked(), None
        work = engine_task(self._work(claim))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as exc:
            self._end(str(exc))
            with suppress(LedgerUnavailableError):  # its claim ends with its lease
                await work
            raise
        return self._worked

    async def _work(self, claim: Callable[[], Awaitable[Claimed | None]]) -> None:
        claimed = await claim()
        while claimed is not None:
            self._left -= 1
            self._worked.done += 1
            if self._on_claim is not None:
                self._on_claim(claimed.lease.id)
            claimed = await self._do(claimed)

    def _end(self, reason: str) -> None:
        self._left, self._end_reason = 0, reason
        if self._handling is not None:
            self._handling.stop(reason)

    async def _claim(self, wanted: ActivationId | None) -> Claimed | None:
        host = self._host
        if wanted is None:
            return (await self._claim_and_read(lambda ledger: Taken(claim_any(ledger, host.me)))).claimed
        taken = await self._claim_and_read(lambda ledger: claim_wanted(ledger, host.me, wanted))
        if taken.others and taken.claimed is None:
            # Not at once: as long as the clocks differ, it would come too early again.
            soon = time.time() + EARLY_PAUSE_S
            await host.spread([replace(one, not_before=max(one.not_before, soon)) for one in taken.others])
        else:
            await host.spread(taken.others)
        return taken.claimed

    async def _claim_and_read(self, claim: Callable[[LedgerTransaction], Taken]) -> Taken:
        """Claim, and read the unknown parts of the run in the same transaction."""
        run_cache = self._host.run_cache

        def work(ledger: LedgerTransaction) -> tuple[Taken, StoredCheckpoint | None]:
            taken = claim(ledger)
            claimed = taken.claimed
            if claimed is None or run_cache.knows(claimed.lease.id.run_id, claimed.revision):
                return taken, None
            with suppress(CheckpointError):  # the next reader reports the error
                return taken, ledger.load(claimed.lease.id.run_id)
            return taken, None

        taken, self._read = await self._host.ledger_executor.do(work)
        return taken

    @property
    def _goes_on(self) -> bool:
        return self._left > 0 and time.monotonic() < self._until

    async def _do(self, claimed: Claimed) -> Claimed | None:
        stopped: list[LeaseState] = []

        def stop(state: LeaseState) -> None:
            stopped.append(state)
            if self._handling is not None:
                self._handling.stop()

        # Held from here on: building the workflow may take longer than a lease.
        with self._host.leases.held(claimed.lease, stop):
            job = await self._prepared(claimed)
            if job is None:
                return None
            if self._end_reason is not None:
                await self._give_back(job)
                return None
            self._tell_width(job)
            task = self._handling = HandlerTask(job.activity.try_once())
            if stopped:
                task.stop()
            await task.ended
            is_stopped = bool(stopped) or self._end_reason is not None
            try:
                outcome = await self._outcome(job, task, is_stopped=is_stopped)
            except DeadlineSignal:
                return await self._broken_off(job, "the run's time is over")
            if outcome is None:
                return await self._stopped(job, stopped)
        return await self._settled(job, outcome)

    async def _outcome(
        self, job: _Job, task: HandlerTask[ActivityOutcome], *, is_stopped: bool
    ) -> ActivityOutcome | None:
        """Return the outcome of a try; None when it was stopped from outside."""
        executor_id = job.claimed.lease.id.executor_id
        if not task.done():
            log.warning("handler.left", activation=str(job.claimed.lease.id), reason="it does not end")
            return None if is_stopped else await job.activity.overrun()
        try:
            return task.result()
        except asyncio.CancelledError as exc:
            if is_stopped or not task.cancelled_itself:
                return None
            return await job.activity.fail(stopped_by(executor_id, exc))
        except (LedgerUnavailableError, DeadlineSignal):
            raise
        except Exception as exc:
            return await job.activity.fail(exc)
        except BaseException as exc:
            # From code that the engine did not expect to be foreign: the run must report the error.
            return await job.activity.fail(stopped_by(executor_id, exc))

    def _tell_width(self, job: _Job) -> None:
        state, lease = job.cached_run.state, job.claimed.lease
        lanes = job.cached_run.graph.lanes[lease.id.executor_id]
        if lanes > 1 and len(state.activations) > 1 and self._on_wide is not None and self._goes_on:
            width = min(lanes, len(state.activations))
            self._on_wide(Wide(state.run_id, state.superstep, width, job.claimed.priority))

    async def _prepared(self, claimed: Claimed) -> _Job | None:
        host, lease = self._host, claimed.lease
        read, self._read = self._read, None

        async def prepared() -> tuple[CachedRun, Activity | None]:
            cached_run = await host.run_cache.get(lease.id.run_id, claimed.workflow, claimed.revision, read)
            return cached_run, await prepare(host, cached_run, lease, claimed.progress)

        try:
            cached_run, activity = await self._patiently(prepared)
        except LedgerError:
            raise
        except Exception as exc:  # also from foreign code while the run was read or built
            await self._patiently(partial(self._refuse, claimed, exc))
            return None
        return None if activity is None else _Job(claimed, cached_run, activity)

    async def _patiently(self, do: Callable[[], Awaitable[T]]) -> T:
        """Do something for a claim; retry when the database was unavailable."""
        waits = pauses()
        while True:
            try:
                return await do()
            except Exception as exc:
                if not (went_away(exc) and await self._waited(waits, exc)):
                    raise

    async def _refuse(self, claimed: Claimed, reason: Exception) -> None:
        """Return a claim this process cannot run; another one may have the code for it."""
        note = error_text(reason)
        run_id = claimed.lease.id.run_id
        unexpected = {} if isinstance(reason, AgenticError) else {"exc_info": reason}
        log.warning("activation.refused", activation=str(claimed.lease.id), reason=note, **unexpected)

        def give_back(ledger: LedgerTransaction) -> None:
            settled = Settled(
                status=ActivationStatus.PENDING, delay_s=REFUSED_DELAY_S, note=note, to_the_end=True
            )
            if ledger.settle(claimed.lease, settled):
                run = ledger.run(run_id)
                if run is not None and run.note != note:  # it is offered repeatedly: once is enough
                    ledger.add_decisions([_refusal(claimed, note)])
                ledger.note(run_id, note)

        await self._host.ledger_executor.do(give_back)
        if self._host.on_refused is not None:
            self._host.on_refused(reason)

    async def _settled(self, job: _Job, outcome: ActivityOutcome) -> Claimed | None:
        """Save the outcome of a try; retry while the database is unavailable, without the handler."""
        waits = pauses()
        while True:
            try:
                if isinstance(outcome, RetryLater):
                    return await self._try_again(job, outcome)
                if isinstance(outcome, WaitsForChild):
                    return await self._wait(job, outcome)
                if len(job.cached_run.state.activations) == 1:
                    return await self._finish_step(job, outcome)
                return await self._finish(job, outcome)
            except _OnCommitError as exc:
                if not (went_away(exc.error) and await self._waited(waits, exc.error)):
                    outcome = await job.activity.fail(exc.error)
            except Exception as exc:
                if not (went_away(exc) and await self._waited(waits, exc)):
                    raise

    async def _waited(self, waits: Iterator[float], reason: Exception) -> bool:
        """Wait a while for the database to come back; False if this process has waited for long enough."""
        pause_s = next(waits, None)
        if pause_s is None or self._end_reason is not None:
            return False
        log.warning("database.away", reason=error_text(reason), again_in_s=round(pause_s, 1))
        await asyncio.sleep(pause_s)
        return self._end_reason is None

    async def _finish_step(self, job: _Job, result: ActivationResult) -> Claimed | None:
        """Save the result of a superstep's only activation together with the next decision."""
        cached_run, host, ended = job.cached_run, self._host, _LOST
        async with cached_run.lock:
            now = time.time()
            decision = commit(cached_run.graph, cached_run.config, cached_run.state, [result], now)
            if not (leaves_calls := find_work_to_cancel(cached_run.graph, decision.state)):
                plan = cached_run.plan([decision], now)
                ended = await self._unless_overtaken(
                    lambda ledger: self._write_step(ledger, job, result, plan)
                )
                if ended.is_advanced:
                    self._take(cached_run, plan)
                else:
                    host.run_cache.drop(cached_run.run_id)
        if leaves_calls:  # ending them takes time, and the claim may be lost: first save the result
            return await self._finish(job, result)
        await host.spread(ended.others)
        return await self._tend(cached_run.run_id) if ended.is_last else ended.claimed

    def _write_step(
        self, ledger: LedgerTransaction, job: _Job, result: ActivationResult, plan: StepPlan
    ) -> _Ended:
        run = ledger.run(job.cached_run.run_id, lock=True)
        if run is None:
            return _LOST
        if run.cancel_reason is not None or run.revision != job.cached_run.revision:
            return self._write_result(ledger, job, result, run)
        counts = (
            plan.state.status is not RunStatus.FAILED
            or plan.state.superstep > job.claimed.lease.id.superstep  # merged; the next one was one too many
            or result.activation.key in plan.state.kept
        )
        if not self._close(ledger, job, result if counts else replace(result, on_commit=()), text=None):
            return _LOST
        if not advance(ledger, run, plan):
            raise _OvertakenError
        so_far = written(ledger, run, plan, self._host.me if self._goes_on else None)
        return _Ended(claimed=so_far.claimed, others=so_far.others, is_advanced=True)

    async def _finish(self, job: _Job, result: ActivationResult) -> Claimed | None:
        """Save the result of one of several activations; the last one continues the run."""
        host, run_id = self._host, job.cached_run.run_id

        def write(ledger: LedgerTransaction) -> _Ended:
            run = ledger.run(run_id, lock=True)
            return _LOST if run is None else self._write_result(ledger, job, result, run)

        ended = await host.ledger_executor.do(write)
        if ended is _LOST:
            return None
        job.cached_run.keep(result)
        await host.spread(ended.others)
        return await self._tend(run_id) if ended.is_last else ended.claimed

    def _write_result(
        self, ledger: LedgerTransaction, job: _Job, result: ActivationResult, run: RunRow
    ) -> _Ended:
        lease, cached_run = job.claimed.lease, job.cached_run
        text = write_result(cached_run.workflow.codec, result)
        if not self._close(ledger, job, result, text):
            return _LOST
        fails = result.error is not None and not is_handled(cached_run.graph, cached_run.state, result)
        is_last = not ledger.has_open(run.run_id, lease.id.superstep)
        if is_last or run.cancel_reason is not None or (fails and cached_run.config.fail_fast):
            return _Ended(is_last=True)
        return self._next_of_run(ledger, run)

    def _next_of_run(self, ledger: LedgerTransaction, run: RunRow) -> _Ended:
        """Continue with another activation of the run, or notify a worker of it."""
        me = self._host.me
        if self._goes_on:
            return _Ended(claimed=claim_of_run(ledger, me, run.run_id, run.priority))
        return _Ended(others=mark(ledger, ledger.claimable(me.queues, run_id=run.run_id, limit=1)))

    def _close(
        self, ledger: LedgerTransaction, job: _Job, result: ActivationResult, text: str | None
    ) -> bool:
        cached_run, executor_id = job.cached_run, job.claimed.lease.id.executor_id
        fails = not is_handled(cached_run.graph, cached_run.state, result)
        settled = Settled(
            status=ActivationStatus.DONE,
            result=text,
            skips_rest=fails and cached_run.graph.lanes[executor_id] == 1,
        )
        if not ledger.settle(job.claimed.lease, settled):
            return False
        if result.on_commit:
            try:
                ledger.apply(result.on_commit)
            except (LedgerConflictError, LedgerUnavailableError):
                raise  # the ledger's own error, not the function's
            except Exception as exc:
                raise _OnCommitError(exc) from exc
            except BaseException as exc:
                error = stopped_by(executor_id, exc)
                raise _OnCommitError(error) from exc
        return True

    async def _try_again(self, job: _Job, again: RetryLater) -> Claimed | None:
        claimed = job.claimed
        text = write_progress(job.cached_run.workflow.codec, job.activity.progress)
        settled = Settled(status=ActivationStatus.PENDING, progress=text, delay_s=again.delay_s)

        def write(ledger: LedgerTransaction) -> _Ended:
            run = ledger.run(claimed.lease.id.run_id, lock=True)
            if run is None or not ledger.settle(claimed.lease, settled):
                return _LOST
            ended = self._next_of_run(ledger, run)
            if ended.claimed is not None and ended.claimed.lease.id == claimed.lease.id:
                return ended
            row = ledger.activation(claimed.lease.id)
            at = time.time() + again.delay_s  # by this process's clock: it sends the message
            later = [] if row is None else [_dispatchable(claimed, row.fence, at)]
            if again.delay_s <= MAX_COUNTDOWN_S:  # else no message is sent, or not by a broker
                mark(ledger, later)
            return _Ended(claimed=ended.claimed, others=[*ended.others, *later])

        ended = await self._host.ledger_executor.do(write)
        await self._host.spread(ended.others)
        return ended.claimed

    async def _wait(self, job: _Job, waits: WaitsForChild) -> Claimed | None:
        host, claimed = self._host, job.claimed
        text = write_progress(job.cached_run.workflow.codec, job.activity.progress)
        async with prepared_child(host, claimed, waits) as child:
            ended = _LOST
            if child is not None:
                ended = await self._unless_overtaken(
                    lambda ledger: self._write_child(ledger, job, child, text)
                )
                if ended.is_advanced:
                    self._take(child.cached_run, child.plan)
        if child is None or not ended.is_advanced:
            host.run_cache.drop(waits.call.run_id)
            await self._give_back(job)  # still ours, if the child run continued meanwhile
            return None
        await host.spread(ended.others)
        return await self._tend(child.cached_run.run_id) if child.plan.is_settled else ended.claimed

    def _write_child(self, ledger: LedgerTransaction, job: _Job, child: ChildRun, text: str) -> _Ended:
        if not write_child(ledger, job.claimed, child, text):
            raise _OvertakenError
        run = ledger.run(child.cached_run.run_id)
        if run is None:
            raise _OvertakenError
        so_far = written(ledger, run, child.plan, self._host.me if self._goes_on else None)
        return _Ended(claimed=so_far.claimed, others=so_far.others, is_advanced=True)

    def _take(self, cached_run: CachedRun, plan: StepPlan) -> None:
        self._host.take(cached_run, plan)
        self._note(plan)

    def _note(self, plan: StepPlan) -> None:
        if plan.state.status is RunStatus.FAILED and plan.state.error is not None:
            self._worked.failed[plan.state.run_id] = error_text(plan.state.error)

    async def _tend(self, run_id: RunId) -> Claimed | None:
        return await advance_run(self._host, run_id, goes_on=self._goes_on, on_plan=self._note)

    async def _unless_overtaken(self, write: Callable[[LedgerTransaction], _Ended]) -> _Ended:
        try:
            return await self._host.ledger_executor.do(write)
        except _OvertakenError:
            return _LOST

    async def _stopped(self, job: _Job, stopped: Sequence[LeaseState]) -> Claimed | None:
        if LeaseState.LOST in stopped:
            log.warning("activation.lost", activation=str(job.claimed.lease.id))
            self._host.run_cache.drop(job.cached_run.run_id)
            return None
        if LeaseState.CANCELLED in stopped:
            return await self._broken_off(job, "the run is cancelled")
        if self._end_reason == OVERRAN:
            # If returned, it would start again forever.
            log.warning("activation.overran", activation=str(job.claimed.lease.id))
            error = TimeLimitError(job.claimed.lease.id.executor_id)
            return await self._settled(job, await job.activity.fail(error))
        await self._give_back(job)
        return None

    async def _broken_off(self, job: _Job, note: str) -> Claimed | None:
        text = write_progress(job.cached_run.workflow.codec, job.activity.progress_if_stopped)
        settled = Settled(status=ActivationStatus.SKIPPED, progress=text, note=note)
        lease = job.claimed.lease
        await self._host.ledger_executor.do(lambda ledger: ledger.settle(lease, settled))
        return await self._tend(lease.id.run_id)

    async def _give_back(self, job: _Job) -> None:
        """Return the activation for another worker at once; this is not a crash."""
        claimed = job.claimed
        text = write_progress(job.cached_run.workflow.codec, job.activity.progress_if_stopped)
        settled = Settled(status=ActivationStatus.PENDING, progress=text, note="given back by its worker")

        def write(ledger: LedgerTransaction) -> Sequence[Dispatchable]:
            if not ledger.settle(claimed.lease, settled):
                return []
            return mark(ledger, [_dispatchable(claimed, claimed.lease.fence, 0.0)])

        await self._host.spread(await self._host.ledger_executor.do(write))


@record
class _Ended:
    """The next work after an activation was settled."""

    claimed: Claimed | None = None
    others: Sequence[Dispatchable] = ()
    is_last: bool = False
    is_advanced: bool = False


_LOST = _Ended()
"""The claim was already lost."""


class _OnCommitError(Exception):
    """A function that joined the transaction raised ``error``."""

    def __init__(self, error: Exception) -> None:
        super().__init__(text_of(error))
        self.error = error


class _OvertakenError(Exception):
    """Another process decided about the run: undo this transaction."""


def _refusal(claimed: Claimed, reason: str) -> Decision:
    who = f"worker {process_name()}"
    activation = claimed.lease.id
    what = f"{activation.executor_id} is left to another worker"
    facts = str(activation)
    return decided(
        DecisionKind.RUN_REFUSED, activation.run_id, what, reason=reason, who=who, activation=facts
    )


def _dispatchable(claimed: Claimed, fence: int, not_before: float) -> Dispatchable:
    return Dispatchable(
        id=claimed.lease.id,
        queue=claimed.queue,
        priority=claimed.priority,
        workflow=claimed.workflow,
        fence=fence,
        not_before=not_before,
    )
