"""The statements that change activations, or read the activations of one run, each built once."""

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
    delete,
    exists,
    func,
    insert,
    literal_column,
    null,
    select,
    update,
)

from agentic.core.ledger import ActivationStatus
from agentic.mappers.database.driver import CompiledStatement
from agentic.mappers.ledger.sql import (
    ACTIVATIONS,
    EFFECTS,
    NOW,
    RUNS,
    bound,
    of_activation,
    of_executor,
    of_project,
    of_run,
    of_superstep,
    word,
)

ACTIVATION_COLUMNS = (
    ACTIVATIONS.c.run_id,
    ACTIVATIONS.c.superstep,
    ACTIVATIONS.c.executor_id,
    ACTIVATIONS.c.shard,
    ACTIVATIONS.c.status,
    ACTIVATIONS.c.position,
    ACTIVATIONS.c.lanes,
    ACTIVATIONS.c.queue,
    ACTIVATIONS.c.priority,
    ACTIVATIONS.c.began_at,
    ACTIVATIONS.c.fence,
    ACTIVATIONS.c.crashes,
    ACTIVATIONS.c.on_crash,
    ACTIVATIONS.c.max_crashes,
    ACTIVATIONS.c.not_before,
    ACTIVATIONS.c.lease_until,
    ACTIVATIONS.c.worker,
    ACTIVATIONS.c.dispatched_at,
    ACTIVATIONS.c.progress,
    ACTIVATIONS.c.result,
    ACTIVATIONS.c.note,
    ACTIVATIONS.c.waits_for,
    ACTIVATIONS.c.started_at,
    ACTIVATIONS.c.finished_at,
)
"""The columns of an activation, in the order of :class:`agentic.mappers.ledger.rows.FoundActivation`."""

IS_OPEN = ACTIVATIONS.c.finished_at.is_(None)

OFFERED, HELD, DELAYED = (literal_column(number, Integer()) for number in "012")
"""Values of ``is_held`` of a pending activation: ready, held by its run, not due."""

_LEASE_UNTIL = NOW + bindparam("lease_s", type_=Float)
_IS_HELD_BY_LEASE = (
    of_activation(ACTIVATIONS),
    ACTIVATIONS.c.fence == bindparam("fence", type_=Integer),
    ACTIVATIONS.c.status == word(ActivationStatus.RUNNING),
)


def _has(status: ActivationStatus) -> ColumnElement[bool]:
    return ACTIVATIONS.c.status == word(status)


def _becomes(status: ActivationStatus, **values: object) -> Update:
    return update(ACTIVATIONS).values(status=word(status), lease_until=null(), **values)


def _becomes_pending(not_before: ColumnElement[float] = NOW) -> Update:
    return _becomes(ActivationStatus.PENDING, not_before=not_before, waits_for=null(), dispatched_at=null())


def _settled(change: Update, *, says_something: bool = True) -> CompiledStatement:
    """Return a statement for the holder of the lease; it changes nothing if the lease is not valid.

    Args:
        change: The new state of the activation.
        says_something: Whether there is a result, progress or note. SQLite's driver binds a null more
            slowly than a value, and most statements would bind three.
    """
    said = {
        "result": bindparam("result", type_=ACTIVATIONS.c.result.type),
        "progress": func.coalesce(
            bindparam("progress", type_=ACTIVATIONS.c.progress.type), ACTIVATIONS.c.progress
        ),
        "note": bindparam("note", type_=ACTIVATIONS.c.note.type),
    }
    silent = {"result": null(), "note": null()}
    crashes = ACTIVATIONS.c.crashes + bindparam("crash", type_=Integer)
    taken = change.where(*_IS_HELD_BY_LEASE).values(crashes=crashes)
    return CompiledStatement(taken.values(said if says_something else silent))


def _next_blocked() -> ColumnElement[int]:
    blocked = ACTIVATIONS.alias("waiting")
    return (
        select(blocked.c.shard)
        .where(of_executor(blocked), blocked.c.status == word(ActivationStatus.BLOCKED))
        .order_by(blocked.c.position)
        .limit(literal_column("1"))
        .scalar_subquery()
    )


_READ = select(*ACTIVATION_COLUMNS).where(of_activation(ACTIVATIONS))

READ_ACTIVATION = CompiledStatement(_READ)

LOCK_ACTIVATION = CompiledStatement(_READ.with_for_update())
"""Like ``READ_ACTIVATION``, but locks the row until the transaction ends."""

CLAIM = CompiledStatement(
    update(ACTIVATIONS)
    .where(of_activation(ACTIVATIONS), _has(ActivationStatus.PENDING), ACTIVATIONS.c.not_before <= NOW)
    .values(
        status=word(ActivationStatus.RUNNING),
        fence=ACTIVATIONS.c.fence + literal_column("1"),
        worker=bindparam("worker", type_=ACTIVATIONS.c.worker.type),
        lease_until=_LEASE_UNTIL,
        started_at=func.coalesce(ACTIVATIONS.c.started_at, NOW),
    )
    .returning(
        ACTIVATIONS.c.fence,
        ACTIVATIONS.c.queue,
        ACTIVATIONS.c.crashes,
        ACTIVATIONS.c.progress,
        ACTIVATIONS.c.dispatched_at,
    )
)

_CLOSED = update(ACTIVATIONS).values(
    status=bindparam("status", type_=ACTIVATIONS.c.status.type),
    lease_until=null(),
    waits_for=null(),
    finished_at=NOW,
)
CLOSE = _settled(_CLOSED)
CLOSE_SILENTLY = _settled(_CLOSED, says_something=False)
_DELAY_S = bindparam("delay_s", type_=Float)
GIVE_BACK = _settled(
    _becomes_pending(NOW + _DELAY_S).values(
        is_held=case(
            (ACTIVATIONS.c.is_held == OFFERED, case((_DELAY_S > 0, DELAYED), else_=OFFERED)),
            else_=ACTIVATIONS.c.is_held,
        ),
        began_at=case((bindparam("to_the_end", type_=Boolean), NOW), else_=ACTIVATIONS.c.began_at),
    )
)
PARK = _settled(
    update(ACTIVATIONS).values(
        status=bindparam("status", type_=ACTIVATIONS.c.status.type),
        lease_until=null(),
        waits_for=bindparam("waits_for", type_=ACTIVATIONS.c.waits_for.type),
    )
)
"""States of a settled activation: closed, pending, or waiting."""

RELEASE_BLOCKED = CompiledStatement(
    _becomes_pending().where(of_executor(ACTIVATIONS), ACTIVATIONS.c.shard == _next_blocked())
)
SKIP_BLOCKED = CompiledStatement(
    _becomes(ActivationStatus.SKIPPED, finished_at=NOW).where(
        of_executor(ACTIVATIONS), _has(ActivationStatus.BLOCKED)
    )
)
SKIP_OPEN = CompiledStatement(
    _becomes(ActivationStatus.SKIPPED, finished_at=NOW).where(of_superstep(ACTIVATIONS), IS_OPEN)
)
RETRY = CompiledStatement(_becomes_pending().where(of_activation(ACTIVATIONS), _has(ActivationStatus.REVIEW)))
WAKE = CompiledStatement(
    _becomes_pending().where(
        of_activation(ACTIVATIONS),
        _has(ActivationStatus.WAITING),
        ACTIVATIONS.c.waits_for == bindparam("waits_for"),
    )
)

HOLD_RUN = CompiledStatement(update(ACTIVATIONS).where(of_run(ACTIVATIONS), IS_OPEN).values(is_held=HELD))
OFFER_RUN = CompiledStatement(
    update(ACTIVATIONS)
    .where(of_run(ACTIVATIONS), IS_OPEN)
    .values(
        is_held=case(
            (and_(_has(ActivationStatus.PENDING), ACTIVATIONS.c.not_before > NOW), DELAYED), else_=OFFERED
        ),
        dispatched_at=null(),
    )
)
"""Claims ignore held activations; when offered again, they must be dispatched again."""

COUNT_RUNNING = CompiledStatement(
    select(func.count())
    .select_from(ACTIVATIONS)
    .where(of_superstep(ACTIVATIONS), IS_OPEN, _has(ActivationStatus.RUNNING))
)
COUNT_RUNNING_OF_PROJECT = CompiledStatement(
    select(func.count())
    .select_from(ACTIVATIONS)
    .where(of_project(ACTIVATIONS), _has(ActivationStatus.RUNNING))
)

_HAS_OPEN = exists().where(of_superstep(ACTIVATIONS), IS_OPEN)
_HAS_BLOCKED = exists().where(of_executor(ACTIVATIONS), _has(ActivationStatus.BLOCKED))

HAS_OPEN = CompiledStatement(select(_HAS_OPEN))
WHAT_IS_LEFT = CompiledStatement(select(_HAS_OPEN, _HAS_BLOCKED))
"""Whether the superstep still waits for an activation, and whether the executor has a queued one."""

OUTCOMES = CompiledStatement(
    select(
        ACTIVATIONS.c.executor_id,
        ACTIVATIONS.c.shard,
        ACTIVATIONS.c.status,
        ACTIVATIONS.c.result,
        ACTIVATIONS.c.progress,
    )
    .where(of_superstep(ACTIVATIONS), ACTIVATIONS.c.finished_at.is_not(None))
    .order_by(ACTIVATIONS.c.position)
)

FENCES = CompiledStatement(
    select(ACTIVATIONS.c.executor_id, ACTIVATIONS.c.shard, ACTIVATIONS.c.fence).where(
        of_superstep(ACTIVATIONS)
    )
)
REMOVE_ACTIVATION = CompiledStatement(delete(ACTIVATIONS).where(of_activation(ACTIVATIONS)))
"""Activations to recreate."""

_NEW = {
    **bound(ACTIVATIONS),
    **dict.fromkeys(("dispatched_at", "waits_for", "note", "progress", "result", "finished_at"), null()),
    "crashes": literal_column("0"),
    "not_before": NOW,
    "lease_until": _LEASE_UNTIL,
    "started_at": case((bindparam("worker", type_=ACTIVATIONS.c.worker.type).is_not(None), NOW)),
}
ADD_ACTIVATION = CompiledStatement(insert(ACTIVATIONS).values(_NEW))
"""Binds its other columns by name. An activation that is claimed already has ``worker`` and ``lease_s``."""

ADD_FINISHED = CompiledStatement(
    insert(ACTIVATIONS).values({**_NEW, "result": bound(ACTIVATIONS)["result"], "finished_at": NOW})
)
"""With a ``result``."""

SET_LEASE = CompiledStatement(
    update(ACTIVATIONS).where(*_IS_HELD_BY_LEASE).values(lease_until=bindparam("lease_until", type_=Float))
)
LEASES_UNTIL = CompiledStatement(
    select(
        ACTIVATIONS.c.run_id,
        ACTIVATIONS.c.superstep,
        ACTIVATIONS.c.executor_id,
        ACTIVATIONS.c.shard,
        ACTIVATIONS.c.fence,
        RUNS.c.cancel_at,
    )
    .join(RUNS, (RUNS.c.project_id == ACTIVATIONS.c.project_id) & (RUNS.c.run_id == ACTIVATIONS.c.run_id))
    .where(
        of_project(ACTIVATIONS),
        _has(ActivationStatus.RUNNING),
        ACTIVATIONS.c.lease_until == bindparam("lease_until", type_=Float),
    )
)

DISPATCHED = CompiledStatement(
    update(ACTIVATIONS).where(of_activation(ACTIVATIONS)).values(dispatched_at=NOW)
)
UNDISPATCHED = CompiledStatement(
    update(ACTIVATIONS).where(of_activation(ACTIVATIONS)).values(dispatched_at=null())
)

HAS_LEASE = CompiledStatement(select(exists().where(*_IS_HELD_BY_LEASE)))

_OF_ORIGIN = (
    EFFECTS.c.project_id == bindparam("project_id"),
    EFFECTS.c.run_id == bindparam("run_id"),
    EFFECTS.c.origin == bindparam("origin"),
)
EFFECTS_OF = CompiledStatement(select(EFFECTS.c.key, EFFECTS.c.text).where(*_OF_ORIGIN))
ADD_EFFECT = CompiledStatement(
    insert(EFFECTS).from_select(
        EFFECTS.c.keys(),
        select(*bound(EFFECTS).values()).where(
            ~exists().where(*_OF_ORIGIN, EFFECTS.c.key == bindparam("key"))
        ),
    )
)
"""Binds its columns by name; the first record of a key stays."""
