"""Executors cancel their external work when a run ends before their messages are handled."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentic.core.errors import line_of
from agentic.core.graph.definition.context import WorkflowContext
from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.definition.entry import HandlerEntry
from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.run_services import RunServices, StateView
from agentic.core.graph.model.interrupts import is_interrupt
from agentic.core.graph.model.messages import Activation
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.model.state import Draft, RunState
from agentic.core.graph.planning.routing import route
from agentic.core.graph.running.tasks import isolate_contextvars
from agentic.core.old_methods import name_of_override
from agentic.core.types import JSONValue

CANCEL_HOOK_S = 12.0
"""Time for an executor to cancel its external work; the end of the run waits for it."""

_NO_LOCAL: Mapping[str, JSONValue] = {}


def find_work_to_cancel(graph: Graph, state: RunState) -> Sequence[Activation]:
    """Return the activations whose external work must be cancelled; none, unless the run was broken off.

    Args:
        graph: The workflow's.
        state: As of the end of the run.
    """
    is_broken_off = state.status in {RunStatus.FAILED, RunStatus.CANCELLED}
    if not is_broken_off or not any(node.has_cancel_hook for node in graph.executors.values()):
        return ()
    done = [result for result in state.kept.values() if result.is_evaluated and result.routing_error is None]
    finished = {result.activation.key for result in done}
    under_way = [activation for activation in state.activations if activation.key not in finished]
    parked = [
        replace(one.activation, delivery=replace(one.activation.delivery, progress=one.progress))
        for one in state.parked.values()
    ]
    following = [
        Activation(delivery, state.superstep + 1, shard)
        for shard, delivery in enumerate(route(graph, Draft(state), done).deliveries)
    ]
    found = (*under_way, *parked, *following)
    return [activation for activation in found if graph.executors[activation.executor_id].has_cancel_hook]


async def run_cancel_hooks(
    calls: Sequence[Activation], graph: Graph, services: RunServices, state: RunState
) -> None:
    """Have executors cancel their external work; errors of that are reported, and change nothing.

    Args:
        calls: The activations that they did not finish.
        graph: Of their run.
        services: To their run.
        state: Its current state.
    """
    async with asyncio.TaskGroup() as group:
        for call in calls:
            view = StateView(state.shared, state.local.get(call.executor_id, _NO_LOCAL))
            group.create_task(_run_cancel_hook(call, graph.executors[call.executor_id], services, view))


async def _run_cancel_hook(call: Activation, node: Executor, services: RunServices, view: StateView) -> None:
    hook = getattr(node, name_of_override(type(node), Executor, "on_cancel", "abandon") or "on_cancel")
    entry = HandlerEntry(call, services, view.local, call.delivery.progress)
    ctx = WorkflowContext[object, object](entry, node, view.shared)
    try:
        async with asyncio.timeout(CANCEL_HOOK_S):
            await isolate_contextvars(hook(call.delivery.payload.copy_value(), ctx))
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as exc:
        if is_interrupt(exc):
            raise
        ctx.log("warning", "cancel hook failed; external work may continue", reason=line_of(exc))
    finally:
        entry.close()
