"""Prepares an activation from the contents of the ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.messages import Activation
from agentic.core.graph.model.progress import Progress
from agentic.core.ledger import Lease
from agentic.executors.durable.runs.children import read_child
from agentic.executors.durable.runs.encoding import read_progress, read_result, read_value, write_value
from agentic.executors.durable.worker.activity import Activity, Surroundings
from agentic.executors.durable.worker.cached_run import CachedRun
from agentic.executors.durable.worker.host import RunHost


async def prepare(
    host: RunHost, cached_run: CachedRun, lease: Lease, progress: str | None
) -> Activity | None:
    """Return the tries of a claimed activation; None when its superstep is over.

    Args:
        host: The parts of this process.
        cached_run: Its run.
        lease: The claim's lease.
        progress: The progress from its tries so far, from the ledger.

    Raises:
        CorruptContentError: The ledger's content is damaged.
        LedgerUnavailableError: The ledger cannot be used.
    """
    activation = cached_run.activation(lease.id)
    if activation is None:
        return None
    await _learn_lane(host, cached_run, activation)
    surroundings = Surroundings(
        read_child=partial(read_child, host, cached_run.workflow),
        keep_once=partial(_keep_once, host, cached_run, lease, activation.origin),
        tell=None if host.tell is None else partial(tell_clean, host.tell, cached_run),
        deadline=await _own_deadline(host, cached_run),
        history=cached_run.config.history or host.history,
    )
    past = await _past(host, cached_run, activation, lease, progress)
    return Activity(cached_run, activation, past, surroundings)


async def _own_deadline(host: RunHost, cached_run: CachedRun) -> float | None:
    """Return the run's deadline by the clock of this process, which may be wrong."""
    deadline = cached_run.state.deadline
    if deadline is None:
        return None
    return deadline + time.time() - await host.ledger_executor.do(lambda ledger: ledger.now())


def tell_clean(tell: Callable[[WorkflowEvent], None], cached_run: CachedRun, event: WorkflowEvent) -> None:
    """Send an event without secrets."""
    tell(cached_run.clean(event))


async def _learn_lane(host: RunHost, cached_run: CachedRun, activation: Activation) -> None:
    """Read the results of earlier activations in a lane, because this one sees their writes."""
    executor_id = activation.executor_id
    if cached_run.graph.lanes[executor_id] > 1:
        return
    if all(cached_run.kept((executor_id, shard)) for shard in range(activation.shard)):
        return
    run_id, superstep = cached_run.run_id, cached_run.state.superstep
    for outcome in await host.ledger_executor.do(lambda ledger: ledger.outcomes(run_id, superstep)):
        earlier = cached_run.activation(outcome.id)
        if outcome.id.executor_id == executor_id and outcome.result and earlier is not None:
            cached_run.keep(read_result(cached_run.workflow.codec, earlier, outcome.result))


async def _past(
    host: RunHost, cached_run: CachedRun, activation: Activation, lease: Lease, text: str | None
) -> Progress:
    """Return the progress from the tries so far: of this entry and, after a crash, of the dead one."""
    codec = cached_run.workflow.codec
    progress = activation.delivery.progress if text is None else read_progress(codec, text)
    if lease.fence == 1 and not progress.origin:
        return progress
    return await with_effects(host, cached_run, activation.origin, progress)


async def with_effects(host: RunHost, cached_run: CachedRun, origin: str, progress: Progress) -> Progress:
    """Return an activation's progress, with its calls of ``ctx.once`` from the ledger."""
    effects = await host.ledger_executor.do(lambda ledger: ledger.effects(cached_run.run_id, origin))
    if not effects:
        return progress
    once = {key: read_value(cached_run.workflow.codec, text) for key, text in effects.items()}
    return replace(progress, origin=origin, once={**progress.once, **once})


async def _keep_once(
    host: RunHost, cached_run: CachedRun, lease: Lease, origin: str, key: str, payload: Payload
) -> None:
    text = write_value(cached_run.workflow.codec, payload)
    if not await host.ledger_executor.do(lambda ledger: ledger.keep_effect(lease, origin, key, text)):
        raise asyncio.CancelledError(f"the claim of {lease.id} is lost")
