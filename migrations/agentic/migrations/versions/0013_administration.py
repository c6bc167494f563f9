"""Descriptions of projects, and disabled agents."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("projects", sa.Column("description", sa.Text()))
    op.add_column("agents", sa.Column("disabled_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("agents", "disabled_at")
    op.drop_column("projects", "description")
