"""Controls a durable run: answer, resume, retry, cancel, pause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from agentic.core.audit import Decision, DecisionKind, decided
from agentic.core.graph.errors import CheckpointError, RunEndedError
from agentic.core.graph.model.progress import request_id
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.planning.planner import Answer, Transition, settle
from agentic.core.graph.planning.responses import Responses
from agentic.core.ledger import (
    ActivationRow,
    ActivationStatus,
    Dispatchable,
    LedgerConflictError,
    LedgerTransaction,
    RunRow,
    UnknownRunError,
)
from agentic.core.ledger.records import NO_LIMIT
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue, RunId
from agentic.executors.durable.errors import (
    CancelledRunError,
    DurableError,
    LateAnswerError,
    UnknownWorkflowError,
)
from agentic.executors.durable.reconcile.advance import (
    Written,
    advance_run,
    look,
    superstep_state_of,
    write_plan,
)
from agentic.executors.durable.reconcile.deciding import catch_up
from agentic.executors.durable.runs.beginning import take_up
from agentic.executors.durable.runs.children import pause_with_children
from agentic.executors.durable.runs.cutting_off import CUT_OFF, cut_off_soon
from agentic.executors.durable.worker.cached_run import CachedRun, StepPlan
from agentic.executors.durable.worker.claiming import dispatchable_of
from agentic.executors.durable.worker.host import RunHost, mark

log = get_logger(__name__)

_MAX_ROUNDS = 20
_MAX_NAMED = 100

Answers = Mapping[str, Answer | None]


async def answer(
    host: RunHost, run_id: RunId, responses: Mapping[str, object], answered_by: str = ""
) -> None:
    """Answer requests of a run; it continues when it waits for nothing else.

    Args:
        host: The parts of this process.
        run_id: The outermost run, which has the requests.
        responses: Answers by request id.
        answered_by: Name of the responder, for the record.

    Raises:
        UnknownRunError: The run does not exist.
        RunEndedError: It has completed.
        CancelledRunError: It is cancelled, or will be; nothing is changed.
        LateAnswerError: A request has expired, even if no process has noticed.
        UnknownRequestError: An answer matches no open request; nothing is changed.
        AnswerError: An answer has the wrong type; nothing is changed.
    """
    given = Responses(responses, answered_by)
    try:
        await _go_on(
            host, run_id, lambda cached_run: given.checked(cached_run.workflow.codec, cached_run.state)
        )
    except LateAnswerError:
        await advance_run(host, run_id)
        raise


async def resume(host: RunHost, run_id: RunId) -> None:
    """Continue a run that failed, was cancelled, or has expired requests, from where it stopped.

    A run that is active, or still waits for answers, does not change.

    Raises:
        UnknownRunError: The run does not exist.
        RunEndedError: It has completed.
    """
    decision = decided(DecisionKind.RETRY_REQUESTED, run_id, "the run is to continue where it stopped")
    await _go_on(host, run_id, lambda _: {}, decision)


async def cancel(host: RunHost, run_id: RunId, reason: str) -> bool:
    """Request a run's cancellation; False when it has already ended.

    It starts nothing new, and its running handlers learn of it within seconds. If this process lacks the
    workflow's code, another process may end the run within seconds; else this ends it without the code.
    """
    decision = decided(DecisionKind.CANCEL_REQUESTED, run_id, "the run is to end", reason=reason)
    if not await host.ledger_executor.do(
        lambda ledger: _noted(ledger, ledger.request_cancel(run_id, reason), decision)
    ):
        return False
    host.leases.look()
    try:
        await advance_run(host, run_id)
    except (CheckpointError, UnknownWorkflowError) as exc:
        log.info("run.refused", run_id=run_id, reason=str(exc))
        await cut_off_soon(host, run_id)
    return True


async def pause(host: RunHost, run_id: RunId, *, is_paused: bool) -> bool:
    """Pause a run and its child runs, or continue them; False when the run has already ended."""
    kind = DecisionKind.RUN_PAUSED if is_paused else DecisionKind.RUN_UNPAUSED
    decision = decided(kind, run_id, "nothing more of it starts" if is_paused else "the run continues")
    return await host.ledger_executor.do(
        lambda ledger: _noted(ledger, pause_with_children(ledger, run_id, is_paused=is_paused), decision)
    )


async def retry(host: RunHost, run_id: RunId) -> int:
    """Continue a failed or cancelled run where it stopped; else rerun activations that await review.

    Returns:
        How many activations awaited review, in the run and in child runs it waits for.

    Raises:
        UnknownRunError: The run does not exist.
        RunEndedError: It has completed.
        CheckpointError: It cannot continue: it began with different code.
        NothingToRetryError: It continues by itself.
    """
    run, _ = await _found(host, run_id)
    if run.status.is_final:
        await resume(host, run_id)
        return 0
    again = await host.ledger_executor.do(lambda ledger: _retried(ledger, run))
    if not again:
        await host.run_cache.get(run_id, run.workflow, run.revision)
        latest, _ = await _found(host, run_id)
        raise NothingToRetryError(run_id, latest.status)
    await host.spread(again)
    return len(again)


class NothingToRetryError(DurableError):
    """A run is active, or waits for answers: there is nothing to retry."""

    def __init__(self, run_id: RunId, status: RunStatus) -> None:
        super().__init__(
            f"run {run_id!r} is {status} and has no activations in review, so there is nothing to retry; "
            f"see `agentic runs show {run_id}`"
        )


def _retried(ledger: LedgerTransaction, run: RunRow) -> list[Dispatchable]:
    """Rerun activations that await review; return the ones to notify workers of."""
    found = list(_in_review(ledger, run))
    for row, _ in found:
        ledger.retry(row.id)
    again = [dispatchable_of(row, workflow) for row, workflow in found]
    mark(ledger, again)
    if again:
        what = f"{len(again)} activations in review run again"
        names: list[JSONValue] = [str(row.id) for row, _ in found[:_MAX_NAMED]]
        ledger.add_decisions([decided(DecisionKind.RETRY_REQUESTED, run.run_id, what, activations=names)])
    return again


def _noted(ledger: LedgerTransaction, is_done: bool, decision: Decision) -> bool:  # the recorded action
    """Record a decision if it was carried out."""
    if is_done:
        ledger.add_decisions([decision])
    return is_done


def _in_review(ledger: LedgerTransaction, run: RunRow) -> Iterator[tuple[ActivationRow, str]]:
    """Yield activations that await review, in a run and in child runs it waits for, with their workflow."""
    statuses = {ActivationStatus.REVIEW, ActivationStatus.WAITING}
    for row in ledger.list_activations(run_id=run.run_id, statuses=statuses, limit=NO_LIMIT):
        if row.status is ActivationStatus.REVIEW:
            yield row, run.workflow
        elif row.waits_for is not None and (child := ledger.run(row.waits_for)) is not None:
            yield from _in_review(ledger, child)


async def _go_on(
    host: RunHost,
    run_id: RunId,
    answers: Callable[[CachedRun], Answers],
    decision: Decision | None = None,
) -> None:
    """Continue a run with answers; an explicit decision continues a cancelled run, too."""
    for _ in range(_MAX_ROUNDS):
        run, now = await _found(host, run_id)
        if decision is None:
            _refuse_if_cancelled(run)
        cached_run = await host.run_cache.get(run_id, run.workflow, run.revision)
        async with cached_run.lock:
            if cached_run.revision != run.revision:
                continue
            checked = answers(cached_run)
            if run.status is RunStatus.COMPLETED:
                raise RunEndedError(run_id, run.status, "be resumed")
            plan = _plan(cached_run, run, checked, now, await _left_over(host, cached_run, run))
            if plan is None:
                return
            limits = _limits(cached_run, checked)
            written = await host.ledger_executor.do(
                partial(_write, run=run, plan=plan, answers=checked, limits=limits, decision=decision)
            )
            if written is not None:
                host.take(cached_run, plan)
                await host.spread(written.others)
                break
            host.run_cache.drop(run_id)
    else:
        raise LedgerConflictError(f"run {run_id!r} changed {_MAX_ROUNDS} times meanwhile; try again")
    if plan.is_settled:
        await advance_run(host, run_id)


def _refuse_if_cancelled(run: RunRow) -> None:
    """Refuse to answer a run that is cancelled, or will be.

    Raises:
        CancelledRunError: It is.
    """
    if run.status is RunStatus.CANCELLED or (run.cancel_at is not None and not run.status.is_final):
        raise CancelledRunError(run.run_id, is_over=run.status is RunStatus.CANCELLED)


def _limits(cached_run: CachedRun, answers: Answers) -> Mapping[str, float]:
    """Return the deadlines of requests, by their ids."""
    return {
        request_id(cached_run.run_id, asked.name): asked.deadline
        for asked in cached_run.state.open_requests
        if asked.name in answers and asked.deadline is not None
    }


def _write(
    ledger: LedgerTransaction,
    run: RunRow,
    plan: StepPlan,
    answers: Answers,
    limits: Mapping[str, float],
    decision: Decision | None,
) -> Written | None:
    """Write a plan, unless its answers are too late, or the run was cancelled meanwhile.

    The ledger and its clock decide here whether an answer, a cancellation or a deadline came first.

    Raises:
        CancelledRunError: It will be cancelled.
        LateAnswerError: A request has expired.
    """
    if answers:
        latest = ledger.run(run.run_id, lock=True)
        if latest is not None and latest.revision == run.revision:
            _refuse_if_cancelled(latest)
    now = ledger.now() if limits else 0.0
    for request, until in limits.items():
        if until <= now:
            raise LateAnswerError(request, now - until)
    found = write_plan(ledger, run, plan, None)
    if found is not None and decision is not None:
        ledger.add_decisions([decision])
    return found


async def _left_over(host: RunHost, cached_run: CachedRun, run: RunRow) -> Sequence[Transition]:
    """Return the finished work in the superstep of a run that ended without its code."""
    view = (
        await host.ledger_executor.do(lambda ledger: look(ledger, run.run_id))
        if run.note == CUT_OFF
        else None
    )
    return () if view is None else [catch_up(cached_run, superstep_state_of(cached_run, view), view.now)]


def _plan(
    cached_run: CachedRun, run: RunRow, answers: Answers, now: float, before: Sequence[Transition]
) -> StepPlan | None:
    """Return how to continue a run; None when it continues anyway, or has nothing to do."""
    if run.status is RunStatus.RUNNING:
        if not answers:
            return None
        # Running activations do not change; the next superstep receives the answers.
        return cached_run.plan(
            [settle(cached_run.graph, cached_run.config, cached_run.state, answers, now)], now
        )
    late = [a for a in cached_run.state.open_requests if a.deadline is not None and a.deadline <= now]
    if run.status is RunStatus.WAITING_INPUT and not answers and not late:
        return None
    facts = {"checkpoint": f"{run.run_id}@{run.revision}", "changed": list(cached_run.changed)}
    return take_up(cached_run, answers, now, facts, before=before)


async def _found(host: RunHost, run_id: RunId) -> tuple[RunRow, float]:
    """Return a run, and the time of the ledger's clock."""
    run, now = await host.ledger_executor.do(lambda ledger: (ledger.run(run_id), ledger.now()))
    if run is None:
        raise UnknownRunError(run_id)
    return run, now
