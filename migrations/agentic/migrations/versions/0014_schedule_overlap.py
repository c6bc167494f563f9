"""Overlap of schedules while their last execution is still running.

Schedules that catch up each due time keep to that: they go on as before. The others skip.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("schedules", sa.Column("overlap", sa.String(8), nullable=False, server_default="skip"))
    op.add_column("schedules", sa.Column("waiting_due_at", sa.DateTime(timezone=True)))
    op.add_column("schedules", sa.Column("skipped_count", sa.Integer(), nullable=False, server_default="0"))
    op.execute("UPDATE schedules SET overlap = 'allow' WHERE catch_up = 'all'")


def downgrade() -> None:
    op.drop_column("schedules", "skipped_count")
    op.drop_column("schedules", "waiting_due_at")
    op.drop_column("schedules", "overlap")
