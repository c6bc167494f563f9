"""Decides the next step of an abandoned run, as pure functions of the ledger's contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agentic.core.graph.model.messages import ActivationKey, ActivationResult
from agentic.core.graph.model.progress import Progress
from agentic.core.graph.model.result import RunStatus
from agentic.core.graph.model.state import RunState
from agentic.core.graph.planning.planner import (
    EarlyEnd,
    Transition,
    break_off,
    commit,
    due,
    is_handled,
    settle,
    take_in,
)
from agentic.core.ledger import RunRow
from agentic.core.records import record
from agentic.executors.durable.worker.activity import DeadlineSignal
from agentic.executors.durable.worker.cached_run import CachedRun

GRACE_S = 10.0
"""Time for handlers after a cancellation or a deadline before the run ends without them."""


@record
class SuperstepState:
    """A superstep in the ledger.

    Attributes:
        results: Results of closed activations.
        tried: Progress of stopped activations.
        waiting: Progress of open activations.
        has_open: Whether there are open ones.
        has_running: Whether there are claimed ones.
    """

    results: Mapping[ActivationKey, ActivationResult]
    tried: Mapping[ActivationKey, Progress]
    waiting: Mapping[ActivationKey, Progress]
    has_open: bool
    has_running: bool

    def ended_by(self, error: Exception | None) -> EarlyEnd:
        """Return the early end of the superstep; it keeps all progress."""
        return EarlyEnd(error, {**self.waiting, **self.tried})


def decide(cached_run: CachedRun, run: RunRow, superstep: SuperstepState, now: float) -> Transition | None:
    """Return how a run continues or ends; None when others will handle it.

    Args:
        cached_run: The run at its newest checkpoint.
        run: Its row in the ledger.
        superstep: Its superstep.
        now: By the ledger's clock, in seconds since the epoch.
    """
    if run.status.is_final:
        return None
    ending = _ending(cached_run, run, superstep, now)
    if ending is not None:
        return _broken_off(cached_run, superstep, ending, now)
    if run.status is RunStatus.WAITING_INPUT:
        # The parent run reports expired requests to a child run.
        return None if run.parent is not None else _expired(cached_run, now)
    if superstep.has_open:
        return None
    state, results = _merged(cached_run, superstep)
    return commit(cached_run.graph, cached_run.config, state, results, now)


def _expired(cached_run: CachedRun, now: float) -> Transition | None:
    late = [a.name for a in cached_run.state.open_requests if a.deadline is not None and a.deadline <= now]
    if not late:
        return None
    answers = dict.fromkeys(late)
    return settle(cached_run.graph, cached_run.config, cached_run.state, answers, now, resumed=None)


def catch_up(cached_run: CachedRun, superstep: SuperstepState, now: float) -> Transition:
    """Return the finished work of a superstep whose run ended without its code, before it continues."""
    state, results = _merged(cached_run, superstep)
    return take_in(cached_run.graph, cached_run.config, state, results, now, superstep.tried)


def _ending(cached_run: CachedRun, run: RunRow, superstep: SuperstepState, now: float) -> EarlyEnd | None:
    """Return the end of the run in the middle of its superstep, if there is one."""
    if run.cancel_reason is not None and not _is_whole(cached_run, run, superstep):
        is_time = not superstep.has_running or now >= (run.cancel_at or 0.0) + GRACE_S
        return superstep.ended_by(None) if is_time else None
    if run.status is not RunStatus.RUNNING:
        return None
    if cached_run.config.fail_fast:
        for result in superstep.results.values():
            if result.error is not None and not is_handled(cached_run.graph, cached_run.state, result):
                return superstep.ended_by(result.error)
    return _out_of_time(cached_run, run, superstep, now)


def _is_whole(cached_run: CachedRun, run: RunRow, superstep: SuperstepState) -> bool:
    """Whether the whole superstep has results: it ends like any other, before the run does."""
    is_open = run.status is not RunStatus.RUNNING or superstep.has_open
    return not is_open and all(activation.key in superstep.results for activation in due(cached_run.state))


def _out_of_time(
    cached_run: CachedRun, run: RunRow, superstep: SuperstepState, now: float
) -> EarlyEnd | None:
    """Return the end of a run whose time is over, once its handlers have stopped, or had time to."""
    if run.deadline is None:
        return None
    # A process that stopped a handler judged the time to be over by its own clock.
    is_over = bool(superstep.tried) or (superstep.has_open and now >= run.deadline)
    if not is_over:
        return None
    if superstep.has_running and now < run.deadline + GRACE_S:
        return None
    unfinished = {str(a.executor_id): None for a in due(cached_run.state) if a.key not in superstep.results}
    return superstep.ended_by(DeadlineSignal().error_of(cached_run, unfinished))


def _broken_off(cached_run: CachedRun, superstep: SuperstepState, ending: EarlyEnd, now: float) -> Transition:
    state, results = _merged(cached_run, superstep)
    return break_off(cached_run.graph, cached_run.config, state, results, now, ending)


def _merged(cached_run: CachedRun, superstep: SuperstepState) -> tuple[RunState, Sequence[ActivationResult]]:
    """Return the results of the superstep in planner order, and the state with those kept from before."""
    state = cached_run.state
    if state.kept:
        again = {key: superstep.results.get(key, kept) for key, kept in state.kept.items()}
        state = replace(state, kept=again)
    return state, [superstep.results[a.key] for a in due(state) if a.key in superstep.results]
