"""What people and programs ask of a run that is under way: answers, another go, an end, a pause."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from agentic.core.audit import Decision, DecisionKind, decided
from agentic.core.graph.errors import CheckpointError, RunEndedError
from agentic.core.graph.planner import Answer, settle
from agentic.core.graph.responses import Responses
from agentic.core.graph.result import RunStatus
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
from agentic.executors.durable.beginning import take_up
from agentic.executors.durable.children import pause_with_children
from agentic.executors.durable.claiming import dispatchable_of
from agentic.executors.durable.errors import DurableError, UnknownWorkflowError
from agentic.executors.durable.host import RunHost, mark
from agentic.executors.durable.image import Plan, RunImage
from agentic.executors.durable.tending import Written, tend, write_plan

log = get_logger(__name__)

_MAX_ROUNDS = 20
_MAX_NAMED = 100

Answers = Mapping[str, Answer | None]


async def answer(
    host: RunHost, run_id: RunId, responses: Mapping[str, object], answered_by: str = ""
) -> None:
    """Answer requests of a run; it goes on when nothing else is to be waited for.

    Args:
        host: Of this process.
        run_id: The outermost run, whose requests they are.
        responses: By request id.
        answered_by: Who answers, for the record.

    Raises:
        UnknownRunError: There is no such run.
        RunEndedError: It has completed.
        UnknownRequestError: An answer is to no open request; nothing is changed.
        AnswerError: An answer is of another type than was asked for; nothing is changed.
    """
    given = Responses(responses, answered_by)
    await _go_on(host, run_id, lambda image: given.checked(image.workflow.codec, image.state))


async def resume(host: RunHost, run_id: RunId) -> None:
    """Let a run go on that failed, was cancelled, or whose requests have expired: where it stands.

    One that goes on already, or waits for answers still, stays as it is.

    Raises:
        UnknownRunError: There is no such run.
        RunEndedError: It has completed.
    """
    decision = decided(DecisionKind.RETRY_REQUESTED, run_id, "the run is to go on where it stands")
    await _go_on(host, run_id, lambda _: {}, decision)


async def cancel(host: RunHost, run_id: RunId, reason: str) -> bool:
    """Ask for a run to be cancelled; False when it has ended already.

    Nothing of it is begun any more, and what runs is told within seconds. Where the code of its workflow is
    not known, somebody else ends it.
    """
    decision = decided(DecisionKind.CANCEL_REQUESTED, run_id, "the run is to end", reason=reason)
    if not await host.lane.do(lambda ledger: _noted(ledger, ledger.request_cancel(run_id, reason), decision)):
        return False
    host.leases.look()
    try:
        await tend(host, run_id)
    except (CheckpointError, UnknownWorkflowError) as exc:
        log.info("run.refused", run_id=run_id, reason=str(exc))
    return True


async def pause(host: RunHost, run_id: RunId, *, is_paused: bool) -> bool:
    """Let nothing of a run be begun, or let it go on; False when it has ended already.

    The same goes for its child runs.
    """
    kind = DecisionKind.RUN_PAUSED if is_paused else DecisionKind.RUN_UNPAUSED
    decision = decided(kind, run_id, "nothing more of it begins" if is_paused else "the run goes on")
    return await host.lane.do(
        lambda ledger: _noted(ledger, pause_with_children(ledger, run_id, is_paused=is_paused), decision)
    )


async def retry(host: RunHost, run_id: RunId) -> int:
    """Let a run go on that failed or was cancelled, where it stands; else run again what waits for a person.

    Returns:
        How many activations waited for a person, of the run and of child runs it waits for.

    Raises:
        UnknownRunError: There is no such run.
        RunEndedError: It has completed.
        CheckpointError: It goes on nowhere: it began with other code than there is.
        NothingToRetryError: It goes on by itself.
    """
    run = await _found(host, run_id)
    if run.status.is_final:
        await resume(host, run_id)
        return 0
    again = await host.lane.do(lambda ledger: _retried(ledger, run))
    if not again:
        await host.images.get(run_id, run.workflow, run.revision)
        raise NothingToRetryError(run_id, run.status)
    await host.spread(again)
    return len(again)


class NothingToRetryError(DurableError):
    """A run goes on, or waits for answers: nothing of it is there to be run again."""

    def __init__(self, run_id: RunId, status: RunStatus) -> None:
        super().__init__(
            f"run {run_id!r} is {status}, and nothing of it waits for a person to be run again; "
            f"see `agentic runs show {run_id}`"
        )


def _retried(ledger: LedgerTransaction, run: RunRow) -> list[Dispatchable]:
    """Let what waits for a person run again; return what workers are to be told of."""
    found = list(_in_review(ledger, run))
    for row, _ in found:
        ledger.retry(row.id)
    again = [dispatchable_of(row, workflow) for row, workflow in found]
    mark(ledger, again)
    if again:
        what = f"{len(again)} activations that waited for a person run again"
        names: list[JSONValue] = [str(row.id) for row, _ in found[:_MAX_NAMED]]
        ledger.add_decisions([decided(DecisionKind.RETRY_REQUESTED, run.run_id, what, activations=names)])
    return again


def _noted(ledger: LedgerTransaction, is_done: bool, decision: Decision) -> bool:  # what was done
    """Write a decision down, if it was carried out."""
    if is_done:
        ledger.add_decisions([decision])
    return is_done


def _in_review(ledger: LedgerTransaction, run: RunRow) -> Iterator[tuple[ActivationRow, str]]:
    """Yield what waits for a person in a run and in child runs it waits for, and whose workflow it is of."""
    statuses = {ActivationStatus.REVIEW, ActivationStatus.WAITING}
    for row in ledger.list_activations(run_id=run.run_id, statuses=statuses, limit=NO_LIMIT):
        if row.status is ActivationStatus.REVIEW:
            yield row, run.workflow
        elif row.waits_for is not None and (child := ledger.run(row.waits_for)) is not None:
            yield from _in_review(ledger, child)


async def _go_on(
    host: RunHost,
    run_id: RunId,
    answers: Callable[[RunImage], Answers],
    decision: Decision | None = None,
) -> None:
    for _ in range(_MAX_ROUNDS):
        run = await _found(host, run_id)
        image = await host.images.get(run_id, run.workflow, run.revision)
        async with image.lock:
            if image.revision != run.revision:
                continue
            checked = answers(image)
            if run.status is RunStatus.COMPLETED:
                raise RunEndedError(run_id, run.status, "be resumed")
            plan = _plan(image, run, checked)
            if plan is None:
                return
            written = await host.lane.do(partial(_write, run=run, plan=plan, decision=decision))
            if written is not None:
                host.take(image, plan)
                await host.spread(written.others)
                break
            host.images.drop(run_id)
    else:
        raise LedgerConflictError(f"run {run_id!r} went on {_MAX_ROUNDS} times meanwhile; try again")
    if plan.is_settled:
        await tend(host, run_id)


def _write(ledger: LedgerTransaction, run: RunRow, plan: Plan, decision: Decision | None) -> Written | None:
    found = write_plan(ledger, run, plan, None)
    if found is not None and decision is not None:
        ledger.add_decisions([decision])
    return found


def _plan(image: RunImage, run: RunRow, answers: Answers) -> Plan | None:
    """Return how a run goes on; None when it does so anyway, or when there is nothing to go on with."""
    now = time.time()
    if run.status is RunStatus.RUNNING:
        if not answers:
            return None
        # What is at work in it stays as it is, and the superstep after this one hears of the answers.
        return image.plan([settle(image.graph, image.config, image.state, answers, now)], now)
    late = [a for a in image.state.open_requests if a.deadline is not None and a.deadline <= now]
    if run.status is RunStatus.WAITING_INPUT and not answers and not late:
        return None
    facts = {"checkpoint": f"{run.run_id}@{run.revision}", "changed": list(image.changed)}
    return take_up(image, answers, now, facts)


async def _found(host: RunHost, run_id: RunId) -> RunRow:
    run = await host.lane.do(lambda ledger: ledger.run(run_id))
    if run is None:
        raise UnknownRunError(run_id)
    return run
