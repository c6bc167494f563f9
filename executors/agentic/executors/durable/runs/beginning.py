"""Plans for the ledger: the first decision of a run, and the ones that continue a resting run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentic.core.graph.checkpoints.snapshots import CheckpointTracker
from agentic.core.graph.codec.annotations import type_name
from agentic.core.graph.codec.payload import make_storable_packer
from agentic.core.graph.definition.run_services import SubCall
from agentic.core.graph.errors import MessageTypeError
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.planning.planner import Answer, Transition, go_on, settle, start
from agentic.core.graph.running.runner import deadline_of, new_state
from agentic.core.types import RunId
from agentic.executors.durable.runs.catalog import RegisteredWorkflow
from agentic.executors.durable.worker.cached_run import CachedRun, StepPlan


def begin(
    registered: RegisteredWorkflow, run_id: RunId, message: object, now: float, call: SubCall | None = None
) -> tuple[CachedRun, StepPlan]:
    """Return a new run and its first plan.

    Args:
        registered: The run's workflow.
        run_id: The run's name.
        message: Given to every start executor.
        now: Seconds since the epoch.
        call: The call of the waiting activation, when it is a child run.

    Raises:
        MessageTypeError: A start executor does not take ``message``.
        UnencodableError: It cannot be stored.
        UnstorableTypesError: Runs of the workflow cannot be stored.
    """
    workflow = registered.workflow
    if call is None:  # the parent's events cover its child runs
        workflow.check_storable()
    for name in workflow.graph.starts:
        node = workflow.graph.executors[name]
        if not node.accepts(message):
            raise MessageTypeError(name, message, [type_name(kind) for kind in node.input_types])
    state = new_state(run_id, "" if call is None else call.path, now, workflow.config)
    if call is not None:
        state = replace(state, previous_errors=call.previous_errors)
    cached_run = CachedRun(registered, state, CheckpointTracker(workflow, run_id))
    own_version = None if workflow.has_lent_version else workflow.version
    facts = {"workflow": workflow.id, "version": own_version}
    payload = make_storable_packer(workflow.codec)(message)
    decision = start(workflow.graph, workflow.config, state, now, payload, facts)
    return cached_run, cached_run.plan([decision], now)


def take_up(
    cached_run: CachedRun,
    answers: Mapping[str, Answer | None],
    now: float,
    facts: Mapping[str, object],
    *,
    before: Sequence[Transition] = (),
) -> StepPlan:
    """Return the plan that continues a run that waits, failed or was cancelled.

    Args:
        cached_run: The run.
        answers: By name of the request within the run; None for one that expired.
        now: Seconds since the epoch.
        facts: Changes since then, for the event.
        before: Decisions to make first.
    """
    graph, config = cached_run.graph, cached_run.config
    state = before[-1].state if before else cached_run.state
    state = replace(state, deadline=deadline_of(now, config))
    # The parent run reports expired requests to a child run.
    asked = () if state.path else state.open_requests
    late = [a.name for a in asked if a.deadline is not None and a.deadline <= now]
    settled = {**dict.fromkeys(late), **answers}
    is_waiting = state.status is RunStatus.WAITING_INPUT
    decisions = list(before)
    if settled:
        resumed = facts if is_waiting else None
        decisions.append(settle(graph, config, state, settled, now, resumed=resumed))
        state = decisions[-1].state
    if not is_waiting:
        decisions.append(go_on(graph, config, state, now, facts))
    return cached_run.plan(decisions, now)
