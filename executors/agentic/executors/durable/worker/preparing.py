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
from agentic.executors.durable.worker.cached_run import RunImage
from agentic.executors.durable.worker.host import RunHost


async def prepare(host: RunHost, image: RunImage, lease: Lease, progress: str | None) -> Activity | None:
    """Return the tries of a claimed activation; None when its superstep is over.

    Args:
        host: The parts of this process.
        image: Its run.
        lease: The claim's lease.
        progress: The progress from its tries so far, from the ledger.

    Raises:
        CorruptContentError: The ledger's content is damaged.
        LedgerUnavailableError: The ledger cannot be used.
    """
    activation = image.activation(lease.id)
    if activation is None:
        return None
    await _learn_lane(host, image, activation)
    surroundings = Surroundings(
        read_child=partial(read_child, host, image.workflow),
        keep_once=partial(_keep_once, host, image, lease, activation.origin),
        tell=None if host.tell is None else partial(tell_clean, host.tell, image),
        deadline=await _own_deadline(host, image),
        history=image.config.history or host.history,
    )
    past = await _past(host, image, activation, lease, progress)
    return Activity(image, activation, past, surroundings)


async def _own_deadline(host: RunHost, image: RunImage) -> float | None:
    """Return the run's deadline by the clock of this process, which may be wrong."""
    deadline = image.state.deadline
    if deadline is None:
        return None
    return deadline + time.time() - await host.lane.do(lambda ledger: ledger.now())


def tell_clean(tell: Callable[[WorkflowEvent], None], image: RunImage, event: WorkflowEvent) -> None:
    """Send an event without secrets."""
    tell(image.clean(event))


async def _learn_lane(host: RunHost, image: RunImage, activation: Activation) -> None:
    """Read the results of earlier activations in a lane, because this one sees their writes."""
    executor_id = activation.executor_id
    if image.graph.lanes[executor_id] > 1:
        return
    if all(image.kept((executor_id, shard)) for shard in range(activation.shard)):
        return
    run_id, superstep = image.run_id, image.state.superstep
    for outcome in await host.lane.do(lambda ledger: ledger.outcomes(run_id, superstep)):
        earlier = image.activation(outcome.id)
        if outcome.id.executor_id == executor_id and outcome.result and earlier is not None:
            image.keep(read_result(image.workflow.codec, earlier, outcome.result))


async def _past(
    host: RunHost, image: RunImage, activation: Activation, lease: Lease, text: str | None
) -> Progress:
    """Return the progress from the tries so far: of this entry and, after a crash, of the dead one."""
    codec = image.workflow.codec
    progress = activation.delivery.progress if text is None else read_progress(codec, text)
    if lease.fence == 1 and not progress.origin:
        return progress
    return await with_effects(host, image, activation.origin, progress)


async def with_effects(host: RunHost, image: RunImage, origin: str, progress: Progress) -> Progress:
    """Return an activation's progress, with its calls of ``ctx.once`` from the ledger."""
    effects = await host.lane.do(lambda ledger: ledger.effects(image.run_id, origin))
    if not effects:
        return progress
    once = {key: read_value(image.workflow.codec, text) for key, text in effects.items()}
    return replace(progress, origin=origin, once={**progress.once, **once})


async def _keep_once(
    host: RunHost, image: RunImage, lease: Lease, origin: str, key: str, payload: Payload
) -> None:
    text = write_value(image.workflow.codec, payload)
    if not await host.lane.do(lambda ledger: ledger.keep_effect(lease, origin, key, text)):
        raise asyncio.CancelledError(f"the claim of {lease.id} is lost")
