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
from agentic.executors.durable.worker.cached_run import RunImage

GRACE_S = 10.0
"""Time for handlers after a cancellation or a deadline before the run ends without them."""


@record
class Standing:
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


def decide(image: RunImage, run: RunRow, standing: Standing, now: float) -> Transition | None:
    """Return how a run continues or ends; None when others will handle it.

    Args:
        image: The run at its newest checkpoint.
        run: Its row in the ledger.
        standing: Its superstep.
        now: By the ledger's clock, in seconds since the epoch.
    """
    if run.status.is_final:
        return None
    ending = _ending(image, run, standing, now)
    if ending is not None:
        return _broken_off(image, standing, ending, now)
    if run.status is RunStatus.WAITING_INPUT:
        # The parent run reports expired requests to a child run.
        return None if run.parent is not None else _expired(image, now)
    if standing.has_open:
        return None
    state, results = _merged(image, standing)
    return commit(image.graph, image.config, state, results, now)


def _expired(image: RunImage, now: float) -> Transition | None:
    late = [a.name for a in image.state.open_requests if a.deadline is not None and a.deadline <= now]
    if not late:
        return None
    answers = dict.fromkeys(late)
    return settle(image.graph, image.config, image.state, answers, now, resumed=None)


def caught_up(image: RunImage, standing: Standing, now: float) -> Transition:
    """Return the finished work of a superstep whose run ended without its code, before it continues."""
    state, results = _merged(image, standing)
    return take_in(image.graph, image.config, state, results, now, standing.tried)


def _ending(image: RunImage, run: RunRow, standing: Standing, now: float) -> EarlyEnd | None:
    """Return the end of the run in the middle of its superstep, if there is one."""
    if run.cancel_reason is not None and not _is_whole(image, run, standing):
        is_time = not standing.has_running or now >= (run.cancel_at or 0.0) + GRACE_S
        return standing.ended_by(None) if is_time else None
    if run.status is not RunStatus.RUNNING:
        return None
    if image.config.fail_fast:
        for result in standing.results.values():
            if result.error is not None and not is_handled(image.graph, image.state, result):
                return standing.ended_by(result.error)
    return _out_of_time(image, run, standing, now)


def _is_whole(image: RunImage, run: RunRow, standing: Standing) -> bool:
    """Whether the whole superstep has results: it ends like any other, before the run does."""
    is_open = run.status is not RunStatus.RUNNING or standing.has_open
    return not is_open and all(activation.key in standing.results for activation in due(image.state))


def _out_of_time(image: RunImage, run: RunRow, standing: Standing, now: float) -> EarlyEnd | None:
    """Return the end of a run whose time is over, once its handlers have stopped, or had time to."""
    if run.deadline is None:
        return None
    # A process that stopped a handler judged the time to be over by its own clock.
    is_over = bool(standing.tried) or (standing.has_open and now >= run.deadline)
    if not is_over:
        return None
    if standing.has_running and now < run.deadline + GRACE_S:
        return None
    unfinished = {str(a.executor_id): None for a in due(image.state) if a.key not in standing.results}
    return standing.ended_by(DeadlineSignal().error_of(image, unfinished))


def _broken_off(image: RunImage, standing: Standing, ending: EarlyEnd, now: float) -> Transition:
    state, results = _merged(image, standing)
    return break_off(image.graph, image.config, state, results, now, ending)


def _merged(image: RunImage, standing: Standing) -> tuple[RunState, Sequence[ActivationResult]]:
    """Return the results of the superstep in planner order, and the state with those kept from before."""
    state = image.state
    if state.kept:
        again = {key: standing.results.get(key, kept) for key, kept in state.kept.items()}
        state = replace(state, kept=again)
    return state, [standing.results[a.key] for a in due(state) if a.key in standing.results]
