"""The statements that find activations of any run, each built once, all with partial indexes."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import (
    ColumnElement,
    Float,
    Integer,
    Select,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    or_,
    select,
    true,
    tuple_,
    union_all,
    update,
)

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger import ActivationStatus
from agentic.mappers.database.driver import CompiledStatement
from agentic.mappers.ledger.activation_statements import ACTIVATION_COLUMNS, DELAYED, IS_OPEN, OFFERED
from agentic.mappers.ledger.sql import ACTIVATIONS, NOW, PROJECTS, RUNS, of_project, of_run, word

_LIMIT = bindparam("limit", type_=Integer)
_BEST_FIRST = (
    ACTIVATIONS.c.priority.desc(),
    ACTIVATIONS.c.began_at,
    ACTIVATIONS.c.run_id,
    ACTIVATIONS.c.position,
)

_IS_PENDING = ACTIVATIONS.c.status == word(ActivationStatus.PENDING)
_IS_DUE = and_(_IS_PENDING, ACTIVATIONS.c.not_before <= NOW)
_IS_OFFERED = and_(_IS_DUE, ACTIVATIONS.c.is_held == OFFERED)
_IS_LATE = and_(of_project(ACTIVATIONS), _IS_DUE, ACTIVATIONS.c.is_held == DELAYED)
_HAS_LATE = exists().where(_IS_LATE).correlate(None).label("has_late")
# Nearly all pending activations are of such runs. PostgreSQL cannot know that and expects few: it would
# read and sort a whole queue, although the first rows of an index suffice. For a CASE it expects half.
_RUN_GOES_ON = case(
    (
        and_(
            RUNS.c.status == word(RunStatus.RUNNING),
            RUNS.c.superstep == ACTIVATIONS.c.superstep,
            RUNS.c.is_paused.is_(false()),
            RUNS.c.cancel_at.is_(None),
        ),
        true(),
    ),
    else_=false(),
)


def _dispatchable(*where: ColumnElement[bool]) -> Select[*tuple[object, ...]]:
    """Return a query for the dispatch data of activations whose run continues."""
    same_run = and_(RUNS.c.project_id == ACTIVATIONS.c.project_id, RUNS.c.run_id == ACTIVATIONS.c.run_id)
    return (
        select(
            ACTIVATIONS.c.run_id,
            ACTIVATIONS.c.superstep,
            ACTIVATIONS.c.executor_id,
            ACTIVATIONS.c.shard,
            ACTIVATIONS.c.queue,
            ACTIVATIONS.c.priority,
            RUNS.c.workflow,
            ACTIVATIONS.c.fence,
            ACTIVATIONS.c.not_before,
            ACTIVATIONS.c.began_at,
            ACTIVATIONS.c.position,
        )
        .join(RUNS, same_run)
        .where(of_project(ACTIVATIONS), *where, _RUN_GOES_ON)
    )


def _has_room() -> ColumnElement[bool]:
    """Return the condition that an activation's run and project are below their limits."""
    running = ACTIVATIONS.alias("running")
    is_running = and_(of_project(running), running.c.status == word(ActivationStatus.RUNNING))
    # Full runs are few: listing them costs less than counting the running activations for each candidate.
    full = (
        select(RUNS.c.run_id)
        .join(running, and_(running.c.project_id == RUNS.c.project_id, running.c.run_id == RUNS.c.run_id))
        .where(is_running, RUNS.c.max_parallel.is_not(None))
        .group_by(RUNS.c.run_id, RUNS.c.max_parallel)
        .having(func.count() >= RUNS.c.max_parallel)
        .cte("full_runs")
    )
    count = select(func.count()).select_from(running).where(is_running).scalar_subquery()
    limit = PROJECTS.c.max_running
    room = (
        select(or_(limit.is_(None), limit > count).label("has_room"))
        .where(PROJECTS.c.id == bindparam("project_id"))
        .cte("project_room")
    )
    return and_(select(room.c.has_room).scalar_subquery(), ACTIVATIONS.c.run_id.not_in(select(full.c.run_id)))


@lru_cache(maxsize=64)
def claimable(queue_count: int, *, is_of_run: bool, with_late: bool = False) -> CompiledStatement:
    """Return a query for claimable activations of several queues: ``queue_0``, ``queue_1``, ...

    It reads the best of each queue in index order, then sorts the best of all queues.

    Args:
        queue_count: Number of queues.
        is_of_run: Whether to search one run only.
        with_late: Whether the last column says if there are activations that were not due when returned.
    """
    has_room = _has_room()
    asked = [_claimable(f"queue_{number}", has_room, is_of_run=is_of_run) for number in range(queue_count)]
    if with_late:
        asked = [one.add_columns(_HAS_LATE) for one in asked]
    if len(asked) == 1:
        return CompiledStatement(asked[0])
    together = union_all(*(select(one.subquery(f"of_{number}")) for number, one in enumerate(asked)))
    found = together.subquery("found")
    best = found.c.priority.desc(), found.c.began_at, found.c.run_id, found.c.position
    return CompiledStatement(select(found).order_by(*best).limit(_LIMIT))


def _claimable(queue: str, has_room: ColumnElement[bool], *, is_of_run: bool) -> Select[*tuple[object, ...]]:
    above = ACTIVATIONS.c.priority > bindparam("above", type_=Integer)
    asked = ACTIVATIONS.c.queue == bindparam(queue, type_=ACTIVATIONS.c.queue.type), above, has_room
    if not is_of_run:
        return _dispatchable(_IS_OFFERED, *asked).order_by(*_BEST_FIRST).limit(_LIMIT)
    # Repeated beside the CASE: SQLite finds no index through a CASE, and would read the whole run.
    is_due_now = RUNS.c.superstep == ACTIVATIONS.c.superstep
    query = _dispatchable(of_run(ACTIVATIONS), is_due_now, IS_OPEN, _IS_DUE, *asked)
    return query.order_by(ACTIVATIONS.c.position).limit(_LIMIT)


_KEY = tuple(ACTIVATIONS.primary_key.columns)
_NAME = (ACTIVATIONS.c.run_id, ACTIVATIONS.c.superstep, ACTIVATIONS.c.executor_id, ACTIVATIONS.c.shard)

FIRST_IN_LINE = CompiledStatement(
    select(*_NAME, _HAS_LATE)
    .where(
        of_project(ACTIVATIONS),
        ACTIVATIONS.c.queue == bindparam("queue", type_=ACTIVATIONS.c.queue.type),
        _IS_PENDING,
        ACTIVATIONS.c.is_held == OFFERED,
    )
    .order_by(*_BEST_FIRST)
    .limit(_LIMIT)
)
"""The first of a queue, and whether there is one that was not due when it was returned."""

OFFER_LATE = CompiledStatement(
    update(ACTIVATIONS)
    .where(
        tuple_(*_KEY).in_(
            select(*_KEY)
            .where(_IS_LATE)
            .order_by(ACTIVATIONS.c.not_before)
            .limit(_LIMIT)
            .with_for_update(skip_locked=True)
        )
    )
    .values(is_held=OFFERED)
)
"""Releases activations whose time has come; concurrent callers release different ones."""

_UNTOLD_FIRST = (ACTIVATIONS.c.dispatched_at, *_BEST_FIRST)

UNTOLD = CompiledStatement(
    _dispatchable(_IS_OFFERED, ACTIVATIONS.c.dispatched_at.is_(None)).order_by(*_UNTOLD_FIRST).limit(_LIMIT)
)
"""Undispatched activations, the best first."""

TOLD_LONG_AGO = CompiledStatement(
    _dispatchable(_IS_OFFERED, ACTIVATIONS.c.dispatched_at <= NOW - bindparam("older_than_s", type_=Float))
    .order_by(*_UNTOLD_FIRST)
    .limit(_LIMIT)
)
"""Activations dispatched too long ago, the longest waiting first."""

EXPIRED = CompiledStatement(
    select(*ACTIVATION_COLUMNS)
    .where(
        of_project(ACTIVATIONS),
        ACTIVATIONS.c.status == word(ActivationStatus.RUNNING),
        ACTIVATIONS.c.lease_until <= NOW,
    )
    .order_by(ACTIVATIONS.c.lease_until)
    .limit(_LIMIT)
)
