"""Rows and items of a crawl, counted with their pages; outcomes of executions."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

NAMES = ("excluded", "items", "inserted", "updated", "unchanged", "rejected")


def upgrade() -> None:
    for name in NAMES:
        op.add_column("crawls", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    # What the pages of crawls under way gave was not counted: without a guess they would seem to be empty.
    op.execute("UPDATE crawls SET items = done")
    op.add_column("executions", sa.Column("outcome", sa.String(16)))
    op.add_column("executions", sa.Column("reason", sa.Text()))


def downgrade() -> None:
    op.drop_column("executions", "reason")
    op.drop_column("executions", "outcome")
    for name in reversed(NAMES):
        op.drop_column("crawls", name)
