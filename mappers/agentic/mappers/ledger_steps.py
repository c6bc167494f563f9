"""What a step of a run makes of its activations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from operator import attrgetter

from agentic.core.graph.result import RunStatus
from agentic.core.ledger import ActivationId, ActivationStatus, NewActivation, Step
from agentic.core.types import ExecutorId
from agentic.mappers.driver import Value, Values
from agentic.mappers.ledger_activation_statements import FENCES, REMOVE_ACTIVATION
from agentic.mappers.ledger_cursor import LedgerCursor

Fences = Mapping[tuple[ExecutorId, int], int]
"""Executor and shard -> fence."""


def stays(superstep: int, step: Step) -> bool:
    """Whether a run is in the same superstep after a step, and what is under way there goes on."""
    metadata = step.checkpoint.metadata
    goes_on = metadata.status is RunStatus.RUNNING and metadata.superstep == superstep
    return goes_on and not step.activations


def has_open(step: Step) -> bool:
    """Whether one of the activations that are due has no result yet."""
    return any(new.result is None for new in step.activations)


def take_out(cursor: LedgerCursor, of_superstep: Values, step: Step) -> Fences:
    """Remove those of a superstep that are made anew, as it was broken off; return their fences."""
    if not step.activations or step.checkpoint.metadata.superstep != of_superstep["superstep"]:
        return {}
    known = {(executor, shard): fence for executor, shard, fence in cursor.rows(FENCES, of_superstep)}
    anew = [new.id[2:] for new in step.activations if new.id[2:] in known]
    if anew:
        rows = [{**of_superstep, "executor_id": executor, "shard": shard} for executor, shard in anew]
        cursor.run_each(REMOVE_ACTIVATION, rows)
    return known


def new_rows(of_run: Values, step: Step, before: Fences) -> Iterator[tuple[ActivationId, dict[str, Value]]]:
    """Return the columns of the activations that are due.

    Of each executor the first ``lanes`` can be claimed, and the others wait for them.

    Args:
        of_run: What all have from their run: its key, ``priority`` and ``is_held``.
        step: Says which are due, in any order.
        before: Fences of those that are made anew.
    """
    taken: Counter[ExecutorId] = Counter()
    for new in sorted(step.activations, key=attrgetter("position")):
        fence = before.get(new.id[2:], -1) + 1
        yield new.id, {**of_run, **_columns(new), "status": _status(new, taken).value, "fence": fence}


def _status(new: NewActivation, taken: Counter[ExecutorId]) -> ActivationStatus:
    if new.result is not None:
        return ActivationStatus.DONE
    executor_id = new.id.executor_id
    if taken[executor_id] == new.lanes:
        return ActivationStatus.BLOCKED
    taken[executor_id] += 1
    return ActivationStatus.PENDING


def _columns(new: NewActivation) -> dict[str, Value]:
    _, superstep, executor_id, shard = new.id
    return {
        "superstep": superstep,
        "executor_id": executor_id,
        "shard": shard,
        "position": new.position,
        "lanes": new.lanes,
        "queue": new.queue,
        "on_crash": new.on_crash,
        "max_crashes": new.max_crashes,
        "result": new.result,
        "worker": None,
        "lease_s": None,
    }
