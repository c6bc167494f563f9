"""Makes executors end their work in other systems, before a durable run is recorded as ended.

The process that decides about the run does this, outside of any transaction. If it is killed meanwhile, the
run has not ended, and the next process to decide does this again.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial

from structlog.contextvars import bound_contextvars

from agentic.core.graph.codec.payload import make_storable_packer
from agentic.core.graph.definition.run_services import BaseWorkflow, RunServices, SubCall
from agentic.core.graph.errors import CorruptContentError, HandlerError
from agentic.core.graph.model.messages import Activation
from agentic.core.graph.model.progress import SubRun
from agentic.core.graph.model.result import RunResult
from agentic.core.graph.model.state import RunState
from agentic.core.graph.running.on_cancel import find_work_to_cancel, run_cancel_hooks
from agentic.core.logging import get_logger
from agentic.executors.durable.worker.cached_run import CachedRun
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.preparing import tell_clean, with_effects

log = get_logger(__name__)


async def cancel_calls(host: RunHost, cached_run: CachedRun, state: RunState) -> None:
    """Make executors end their work in other systems, if ``state`` is the early end of a run.

    Raises:
        LedgerUnavailableError: The ledger cannot be used.
    """
    calls = find_work_to_cancel(cached_run.graph, state)
    if not calls:
        return
    services = RunServices(
        reducers=cached_run.graph.reducers,
        run_id=cached_run.run_id,
        path=state.path,
        clock=time.time,
        tell=None if host.tell is None else partial(tell_clean, host.tell, cached_run),
        run_sub=_refuse,
        pack=make_storable_packer(cached_run.workflow.codec),
        keeps_inputs=True,
        is_stored=True,
        previous_errors=state.previous_errors,
    )
    with bound_contextvars(**cached_run.log_context):
        known = [await _with_effects(host, cached_run, call) for call in calls]
        await run_cancel_hooks(
            [call for call in known if call is not None], cached_run.graph, services, state
        )


async def _with_effects(host: RunHost, cached_run: CachedRun, call: Activation) -> Activation | None:
    """Return a call with its effects, also from a killed process; None if they are damaged."""
    try:
        return await _knowing(host, cached_run, call)
    except CorruptContentError as exc:  # the run must end anyway
        log.warning("call.unreadable", executor_id=call.executor_id, reason=str(exc))
        return None


async def _knowing(host: RunHost, cached_run: CachedRun, call: Activation) -> Activation:
    progress = await with_effects(host, cached_run, call.origin, call.delivery.progress)
    return replace(call, delivery=replace(call.delivery, progress=progress))


def _refuse(workflow: BaseWorkflow, _: object, call: SubCall) -> Awaitable[tuple[RunResult, SubRun]]:
    raise HandlerError(f"{call.path}: a run that ends cannot start another one ({workflow.id})")
