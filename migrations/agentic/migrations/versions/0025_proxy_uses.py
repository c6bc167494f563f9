"""Requests through each of several proxies."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

TABLES = ("executions", "crawls")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column("proxies", sa.Text()))


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_column(table, "proxies")
