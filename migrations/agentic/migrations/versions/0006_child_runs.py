"""Unfinished child runs are found by their parent run."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_UNFINISHED = sa.text("finished_at IS NULL AND parent_run_id IS NOT NULL")


def upgrade() -> None:
    op.create_index(
        "ix_runs_children",
        "runs",
        ["project_id", "parent_run_id"],
        sqlite_where=_UNFINISHED,
        postgresql_where=_UNFINISHED,
    )


def downgrade() -> None:
    op.drop_index("ix_runs_children", "runs")
