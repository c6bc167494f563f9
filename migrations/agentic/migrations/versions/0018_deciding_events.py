"""Kinds of events in a batch that contain decisions."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

INDEX = "ix_run_events_decided"
DECIDED = sa.text("decided_at IS NOT NULL")
KINDS = (
    "edge.activated",
    "executor.failed",
    "message.undeliverable",
    "request.answered",
    "request.expired",
    "request.raised",
    "run.cancelled",
    "run.failed",
    "run.resumed",
)


def upgrade() -> None:
    op.drop_index(INDEX, "run_events")
    op.add_column("run_events", sa.Column("deciding", sa.Text()))
    events = sa.table("run_events", *map(sa.column, ("text", "decided_at", "deciding")))
    found: sa.ColumnElement[str] = sa.literal(" ", sa.Text())
    for kind in KINDS:
        is_there = events.c.text.like(f'%"kind":"{kind}"%')
        found = found.concat(sa.case((is_there, f"{kind} "), else_=""))
    op.execute(events.update().values(deciding=found).where(events.c.decided_at.is_not(None)))
    _index(["decided_at", "deciding"])


def downgrade() -> None:
    op.drop_index(INDEX, "run_events")
    op.drop_column("run_events", "deciding")
    _index(["decided_at"])


def _index(columns: list[str]) -> None:
    op.create_index(
        INDEX, "run_events", ["project_id", *columns], sqlite_where=DECIDED, postgresql_where=DECIDED
    )
