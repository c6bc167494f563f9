"""The tables of the ledger.

Times are seconds since the epoch by the clock of the database, because their statements are hot. Large texts
come last, so that SQLite reads the other columns without them. Most indexes contain only the rows that are
queried, so that they stay small as finished work accumulates.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Float, Index, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.records import ActivationStatus
from agentic.mappers.tables.columns import Base, index_of
from agentic.mappers.tables.core import names, owner

_OUTERMOST = "parent_run_id IS NULL"
_PENDING = "status = 'pending' AND is_held = 0"
_DELAYED = "status = 'pending' AND is_held = 2"


def _some(name: str, *columns: str | ColumnElement[int], where: str) -> Index:
    """Return an index of the rows of a project that match ``where``."""
    return index_of(text(where), name, "project_id", *columns)


class RunModel(Base):
    """A run; see :class:`agentic.core.ledger.RunRow`.

    ``decide_at`` is when to check whether the run needs a decision; it may be early.
    """

    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("project_id", "idempotency_key"),
        _some("ix_runs_created", "created_at", where=_OUTERMOST),
        _some("ix_runs_status", "status", "created_at", where=_OUTERMOST),
        _some("ix_runs_workflow", "workflow", "status", "created_at", where=_OUTERMOST),
        _some("ix_runs_ended", "finished_at", where=f"finished_at IS NOT NULL AND {_OUTERMOST}"),
        _some("ix_runs_children", "parent_run_id", where="finished_at IS NULL AND parent_run_id IS NOT NULL"),
        _some("ix_runs_to_decide", "decide_at", where="finished_at IS NULL AND decide_at IS NOT NULL"),
    )

    project_id: Mapped[str] = owner()
    run_id: Mapped[str] = mapped_column(Text, primary_key=True)
    status: Mapped[RunStatus] = mapped_column(names(RunStatus, 16))
    superstep: Mapped[int]
    revision: Mapped[int]
    priority: Mapped[int]
    is_paused: Mapped[bool]
    max_parallel: Mapped[int | None]
    created_at: Mapped[float] = mapped_column(Float)
    began_at: Mapped[float] = mapped_column(Float, server_default=text("0"))
    updated_at: Mapped[float] = mapped_column(Float)
    finished_at: Mapped[float | None] = mapped_column(Float)
    deadline: Mapped[float | None] = mapped_column(Float)
    wake_at: Mapped[float | None] = mapped_column(Float)
    cancel_at: Mapped[float | None] = mapped_column(Float)
    decide_at: Mapped[float | None] = mapped_column(Float)
    workflow: Mapped[str] = mapped_column(Text)
    parent_run_id: Mapped[str | None] = mapped_column(Text)
    parent_superstep: Mapped[int | None]
    parent_executor_id: Mapped[str | None] = mapped_column(Text)
    parent_shard: Mapped[int | None]
    idempotency_key: Mapped[str | None] = mapped_column(Text)
    cancel_reason: Mapped[str | None] = mapped_column(Text)
    note: Mapped[str | None] = mapped_column(Text)
    error: Mapped[str | None] = mapped_column(Text)


class ActivationModel(Base):
    """An activation; see :class:`agentic.core.ledger.ActivationRow`.

    ``is_held`` excludes one from the indexes of runnable ones. It is 1 while its run is paused or being
    cancelled, so that queries need not look up the run of each of thousands of activations. It is 2 until the
    time of its next attempt, so that thousands of waiting activations do not slow queries.
    """

    __tablename__ = "activations"

    project_id: Mapped[str] = owner()
    run_id: Mapped[str] = mapped_column(Text, primary_key=True)
    superstep: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    executor_id: Mapped[str] = mapped_column(Text, primary_key=True)
    shard: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    status: Mapped[ActivationStatus] = mapped_column(names(ActivationStatus, 16))
    is_held: Mapped[int]
    position: Mapped[int]
    lanes: Mapped[int]
    priority: Mapped[int] = mapped_column()
    began_at: Mapped[float] = mapped_column(Float, server_default=text("0"))
    fence: Mapped[int]
    crashes: Mapped[int]
    max_crashes: Mapped[int]
    not_before: Mapped[float] = mapped_column(Float)
    lease_until: Mapped[float | None] = mapped_column(Float)
    dispatched_at: Mapped[float | None] = mapped_column(Float)
    started_at: Mapped[float | None] = mapped_column(Float)
    finished_at: Mapped[float | None] = mapped_column(Float)
    queue: Mapped[str] = mapped_column(Text)
    on_crash: Mapped[str] = mapped_column(Text)
    worker: Mapped[str | None] = mapped_column(Text)
    waits_for: Mapped[str | None] = mapped_column(Text)
    note: Mapped[str | None] = mapped_column(Text)
    progress: Mapped[str | None] = mapped_column(Text)
    result: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (
        _some(
            "ix_activations_offered",
            "queue",
            priority.desc(),
            "began_at",
            "run_id",
            "position",
            where=_PENDING,
        ),
        _some(
            "ix_activations_untold",
            "dispatched_at",
            priority.desc(),
            "began_at",
            "run_id",
            "position",
            where=_PENDING,
        ),
        _some("ix_activations_delayed", "not_before", where=_DELAYED),
        _some(
            "ix_activations_open",
            "run_id",
            "superstep",
            "status",
            "not_before",
            "position",
            where="finished_at IS NULL",
        ),
        _some(
            "ix_activations_blocked",
            "run_id",
            "superstep",
            "executor_id",
            "position",
            where="status = 'blocked'",
        ),
        _some("ix_activations_leases", "lease_until", where="status = 'running'"),
        _some("ix_activations_crashed", "status", "queue", "crashes", where="crashes > 0"),
    )


class EffectModel(Base):
    """The result of a call that must not be repeated, as JSON."""

    __tablename__ = "effects"

    project_id: Mapped[str] = owner()
    run_id: Mapped[str] = mapped_column(Text, primary_key=True)
    origin: Mapped[str] = mapped_column(Text, primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    text: Mapped[str] = mapped_column(Text)


class RunEventModel(Base):
    """A batch of durable events; see :class:`agentic.core.ledger.EventBatch`.

    ``decided_at`` is the time of its newest decision; None: it contains no decision. ``deciding`` lists the
    kinds of its events that report decisions, with a space before and after each.
    """

    __tablename__ = "run_events"
    __table_args__ = (
        _some("ix_run_events_unpublished", "run_id", "last", where="published_at IS NULL"),
        _some("ix_run_events_decided", "decided_at", "deciding", where="decided_at IS NOT NULL"),
    )

    project_id: Mapped[str] = owner()
    run_id: Mapped[str] = mapped_column(Text, primary_key=True)
    last: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    first: Mapped[int]
    published_at: Mapped[float | None] = mapped_column(Float)
    decided_at: Mapped[float | None] = mapped_column(Float)
    deciding: Mapped[str | None] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)
