"""The statements on runs, each built once."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Float,
    Integer,
    Update,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    insert,
    null,
    or_,
    select,
    update,
)

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import ActivationStatus
from agentic.mappers.database.driver import CompiledStatement
from agentic.mappers.ledger.sql import ACTIVATIONS, NOW, PROJECTS, RUNS, bound, of_project, of_run, word

RUN_COLUMNS = (
    RUNS.c.run_id,
    RUNS.c.workflow,
    RUNS.c.status,
    RUNS.c.superstep,
    RUNS.c.revision,
    RUNS.c.priority,
    RUNS.c.created_at,
    RUNS.c.began_at,
    RUNS.c.updated_at,
    RUNS.c.finished_at,
    RUNS.c.deadline,
    RUNS.c.wake_at,
    RUNS.c.max_parallel,
    RUNS.c.parent_run_id,
    RUNS.c.parent_superstep,
    RUNS.c.parent_executor_id,
    RUNS.c.parent_shard,
    RUNS.c.idempotency_key,
    RUNS.c.cancel_reason,
    RUNS.c.cancel_at,
    RUNS.c.is_paused,
    RUNS.c.note,
    RUNS.c.error,
)
"""The columns of a run, in the order of :class:`agentic.mappers.ledger.rows.FoundRun`."""

IS_UNFINISHED = RUNS.c.finished_at.is_(None)


def _limit() -> ColumnElement[int]:
    """Return the project's limit of running activations, and lock it, if there is one.

    Every transaction takes this lock before the lock of the run: otherwise two could deadlock.
    """
    limited = PROJECTS.c.id == bindparam("project_id"), PROJECTS.c.max_running.is_not(None)
    return select(PROJECTS.c.max_running).where(*limited).with_for_update(key_share=True).scalar_subquery()


def _values_of_step(*, goes_on: bool = False) -> dict[str, object]:
    """Return the columns of a run that a step sets.

    Args:
        goes_on: The run neither ends nor waits for a moment. SQLite's driver binds a null more slowly than a
            value, and most steps would bind five.
    """
    taken = ("status", "superstep", "revision")
    seldom = ("deadline", "wake_at", "decide_at", "error")
    values = {name: bindparam(name, type_=RUNS.c[name].type) for name in (*taken, *seldom)}
    ended = case((bindparam("is_final", type_=Boolean), NOW))
    unset: dict[str, object] = dict.fromkeys((*seldom, "finished_at"), null())
    return {
        **values,
        "updated_at": NOW,
        "finished_at": ended,
        "note": null(),
        **(unset if goes_on else {}),
    }


def _advance(*, goes_on: bool) -> CompiledStatement:
    return CompiledStatement(
        update(RUNS)
        .values(_values_of_step(goes_on=goes_on))
        .where(
            of_run(RUNS),
            RUNS.c.superstep == bindparam("from_superstep", type_=Integer),
            RUNS.c.revision == bindparam("from_revision", type_=Integer),
        )
    )


def _change(**values: object) -> Update:
    return update(RUNS).where(of_run(RUNS), IS_UNFINISHED).values(values)


def _open_of_run(*more: ColumnElement[bool]) -> ColumnElement[bool]:
    of_same = (
        ACTIVATIONS.c.project_id == RUNS.c.project_id,
        ACTIVATIONS.c.run_id == RUNS.c.run_id,
        ACTIVATIONS.c.superstep == RUNS.c.superstep,
    )
    return exists().where(*of_same, ACTIVATIONS.c.finished_at.is_(None), *more).correlate(RUNS)


_IS_IDLE = and_(RUNS.c.status == word(RunStatus.RUNNING), ~_open_of_run())
_HAS_RUNNING = _open_of_run(ACTIVATIONS.c.status == word(ActivationStatus.RUNNING))
_MUST_END = and_(
    RUNS.c.cancel_at.is_not(None),
    or_(RUNS.c.cancel_at <= NOW - bindparam("cancel_grace_s", type_=Float), ~_HAS_RUNNING),
)

CLOCK = CompiledStatement(select(NOW))

READ_RUN = CompiledStatement(select(*RUN_COLUMNS).where(of_run(RUNS)))

CHILDREN = CompiledStatement(
    select(*RUN_COLUMNS).where(
        of_project(RUNS),
        RUNS.c.parent_run_id == bindparam("run_id", type_=RUNS.c.parent_run_id.type),
        IS_UNFINISHED,
    )
)

_FOR_CHANGE = select(*RUN_COLUMNS, _limit()).where(of_run(RUNS))

LOCK_RUN = CompiledStatement(_FOR_CHANGE.with_for_update(key_share=True, of=RUNS))
"""Like ``READ_RUN``, with the project's limit; on SQLite every transaction holds the lock."""

LOCK_FREE_RUN = CompiledStatement(_FOR_CHANGE.with_for_update(key_share=True, of=RUNS, skip_locked=True))
"""Like ``LOCK_RUN``; finds no run while another transaction has the lock."""

FIND_RUNS = CompiledStatement(
    select(RUNS.c.run_id, RUNS.c.idempotency_key).where(
        of_project(RUNS),
        or_(
            RUNS.c.run_id == bindparam("run_id"),
            RUNS.c.idempotency_key == bindparam("idempotency_key", type_=RUNS.c.idempotency_key.type),
        ),
    )
)
"""Runs that conflict with a new one."""

ADD_RUN = CompiledStatement(
    insert(RUNS)
    .values(
        {
            **bound(RUNS),
            **_values_of_step(),
            "created_at": NOW,
            "began_at": func.coalesce(bindparam("began_at", type_=RUNS.c.began_at.type), NOW),
            "cancel_at": null(),
            "cancel_reason": null(),
            "is_paused": false(),
            "note": null(),
        }
    )
    .returning(RUNS.c.began_at)
)
"""Binds its columns by name, and ``is_final``; ``began_at`` is null for a run without a parent."""

ADVANCE = _advance(goes_on=False)
GO_ON = _advance(goes_on=True)
"""Changes nothing if the run is at another revision. The second is for most steps, which have no ends."""

RESUME = CompiledStatement(
    update(RUNS).where(of_run(RUNS)).values(cancel_reason=null(), cancel_at=null(), is_paused=false())
)
"""For an ended run that continues."""

_PARENT = ("parent_run_id", "parent_superstep", "parent_executor_id", "parent_shard")

ADOPT = CompiledStatement(
    update(RUNS)
    .where(of_run(RUNS))
    .values({name: bindparam(name, type_=RUNS.c[name].type) for name in _PARENT})
)

CANCEL = CompiledStatement(
    _change(
        cancel_reason=func.coalesce(RUNS.c.cancel_reason, bindparam("reason", type_=RUNS.c.note.type)),
        cancel_at=func.coalesce(RUNS.c.cancel_at, NOW),
        decide_at=case((RUNS.c.decide_at < NOW, RUNS.c.decide_at), else_=NOW),
    )
)

PAUSE = CompiledStatement(_change(is_paused=bindparam("is_paused", type_=Boolean)))

NOTE = CompiledStatement(
    update(RUNS)
    .where(of_run(RUNS))
    .values(
        note=bindparam("note", type_=RUNS.c.note.type),
        decide_at=case((RUNS.c.decide_at < NOW, NOW), else_=RUNS.c.decide_at),
    )
)
"""Postpones a run that cannot be decided: other runs come before it next time."""

MARK_IDLE = CompiledStatement(
    update(RUNS).where(of_run(RUNS), RUNS.c.status == word(RunStatus.RUNNING)).values(decide_at=NOW)
)
"""For a run whose superstep has no open activation."""

NEGLECTED = CompiledStatement(
    select(*RUN_COLUMNS)
    .where(
        of_project(RUNS),
        IS_UNFINISHED,
        RUNS.c.decide_at.is_not(None),
        RUNS.c.decide_at <= NOW,
        or_(RUNS.c.deadline <= NOW, RUNS.c.wake_at <= NOW, _IS_IDLE, _MUST_END),
    )
    .order_by(RUNS.c.decide_at)
    .limit(bindparam("limit", type_=Integer))
)
