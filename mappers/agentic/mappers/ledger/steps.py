"""Effects of a step of a run on its activations."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import ActivationId, ActivationStatus, LedgerStep, NewActivation
from agentic.core.types import ExecutorId
from agentic.mappers.database.driver import Value, Values
from agentic.mappers.ledger.activation_statements import FENCES, REMOVE_ACTIVATION
from agentic.mappers.ledger.cursor import LedgerCursor

PENDING = str(ActivationStatus.PENDING)
_BLOCKED = str(ActivationStatus.BLOCKED)
_DONE = str(ActivationStatus.DONE)
_position = attrgetter("position")

NewRow = dict[str, Value]
"""The columns of an activation to add."""

Fences = Mapping[tuple[ExecutorId, int], int]
"""Executor and shard -> fence."""


def stays(superstep: int, step: LedgerStep) -> bool:
    """Whether a run stays in its superstep after a step, and running activations continue."""
    metadata = step.checkpoint.metadata
    return not step.activations and metadata.superstep == superstep and metadata.status is RunStatus.RUNNING


def has_open(step: LedgerStep) -> bool:
    """Whether any due activation has no result yet."""
    for new in step.activations:  # noqa: SIM110  # the first one says so at once, as a rule
        if new.result is None:
            return True
    return False


def take_out(cursor: LedgerCursor, of_superstep: Values, step: LedgerStep) -> Fences:
    """Remove activations that an interrupted superstep recreates; return their fences."""
    if not step.activations or step.checkpoint.metadata.superstep != of_superstep["superstep"]:
        return {}
    known = {(executor, shard): fence for executor, shard, fence in cursor.rows(FENCES, of_superstep)}
    anew = [new.id[2:] for new in step.activations if new.id[2:] in known]
    if anew:
        rows = [{**of_superstep, "executor_id": executor, "shard": shard} for executor, shard in anew]
        cursor.run_each(REMOVE_ACTIVATION, rows)
    return known


def new_rows(
    of_run: Values, step: LedgerStep, before: Fences
) -> tuple[dict[ActivationId, NewRow], list[NewRow]]:
    """Return the columns of the due activations: open ones by name, then finished ones.

    For each executor, the first ``lanes`` open ones can be claimed; the others wait for them.

    Args:
        of_run: Values from their run: its key, ``priority``, ``began_at`` and ``is_held``.
        step: Lists the due activations, in any order.
        before: Fences of recreated activations.
    """
    begun: dict[ExecutorId, int] = {}
    opened: dict[ActivationId, NewRow] = {}
    finished: list[NewRow] = []
    for new in sorted(step.activations, key=_position):
        executor_id = new.id.executor_id
        count = begun.get(executor_id, 0)
        row = _columns(new, of_run, before)
        if new.result is not None:
            finished.append({**row, "status": _DONE, "result": new.result})
        elif count == new.lanes:
            opened[new.id] = {**row, "status": _BLOCKED}
        else:
            opened[new.id] = row
            begun[executor_id] = count + 1
    return opened, finished


def _columns(new: NewActivation, of_run: Values, before: Fences) -> NewRow:
    _, superstep, executor_id, shard = new.id
    return {
        **of_run,
        "superstep": superstep,
        "executor_id": executor_id,
        "shard": shard,
        "status": PENDING,
        "position": new.position,
        "lanes": new.lanes,
        "queue": new.queue,
        "fence": before.get((executor_id, shard), -1) + 1,
        "on_crash": new.on_crash,
        "max_crashes": new.max_crashes,
        "worker": None,
        "lease_s": None,
    }
