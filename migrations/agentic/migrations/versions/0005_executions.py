"""Executions are durable runs: no heartbeat of their own, warnings beside the counts."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("executions") as table:
        table.add_column(sa.Column("warnings", sa.JSON(), nullable=False, server_default="[]"))
        table.drop_column("heartbeat_at")
    with op.batch_alter_table("executions") as table:
        table.alter_column("warnings", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("executions") as table:
        table.add_column(sa.Column("heartbeat_at", sa.DateTime(timezone=True)))
        table.drop_column("warnings")
