"""What people and programs ask of a run that is under way: answers, another go, an end, a pause."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from agentic.core.graph.errors import RunEndedError
from agentic.core.graph.planner import Answer
from agentic.core.graph.responses import Responses
from agentic.core.graph.result import RunStatus
from agentic.core.ledger import ActivationId, LedgerConflictError, RunRow, UnknownRunError
from agentic.core.types import RunId
from agentic.executors.durable.beginning import take_up
from agentic.executors.durable.host import RunHost
from agentic.executors.durable.image import RunImage
from agentic.executors.durable.tending import tend, write_plan

_MAX_ROUNDS = 20

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

    Raises:
        UnknownRunError: There is no such run.
        RunEndedError: It has completed.
    """
    await _go_on(host, run_id, lambda _: {})


async def cancel(host: RunHost, run_id: RunId, reason: str) -> bool:
    """Ask for a run to be cancelled; False when it has ended already.

    Nothing of it is begun any more, and what runs is told within seconds.
    """
    if not await host.lane.do(lambda ledger: ledger.request_cancel(run_id, reason)):
        return False
    await tend(host, run_id)
    return True


async def pause(host: RunHost, run_id: RunId, *, is_paused: bool) -> bool:
    """Let nothing of a run be begun, or let it go on; False when it has ended already."""
    return await host.lane.do(lambda ledger: ledger.pause(run_id, is_paused=is_paused))


async def retry_activation(host: RunHost, activation_id: ActivationId) -> bool:
    """Let an activation that waits for a person run again; False when it does not wait."""
    return await host.lane.do(lambda ledger: ledger.retry(activation_id))


async def _go_on(host: RunHost, run_id: RunId, answers: Callable[[RunImage], Answers]) -> None:
    for _ in range(_MAX_ROUNDS):
        run = await _found(host, run_id)
        image = await host.images.get(run_id, run.workflow, run.revision)
        async with image.lock:
            if image.revision != run.revision:
                continue
            checked = answers(image)
            if run.status is RunStatus.COMPLETED:
                raise RunEndedError(run_id, run.status, "be resumed")
            facts = {"checkpoint": f"{run_id}@{run.revision}", "changed": list(image.changed)}
            plan = take_up(image, checked, time.time(), facts)
            written = await host.lane.do(partial(write_plan, run=run, plan=plan, claimant=None))
            if written is not None:
                host.take(image, plan)
                await host.spread(written.others)
                break
            host.images.drop(run_id)
    else:
        raise LedgerConflictError(f"run {run_id!r} went on {_MAX_ROUNDS} times meanwhile; try again")
    if plan.is_settled:
        await tend(host, run_id)


async def _found(host: RunHost, run_id: RunId) -> RunRow:
    run = await host.lane.do(lambda ledger: ledger.run(run_id))
    if run is None:
        raise UnknownRunError(run_id)
    return run
