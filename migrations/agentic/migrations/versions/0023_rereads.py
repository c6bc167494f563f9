"""Pages that are read again from storage."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

COUNTS = ("to_reread", "reread", "unstored")


def upgrade() -> None:
    op.add_column("frontier", sa.Column("page_key", sa.String(64)))
    op.add_column("frontier", sa.Column("item_count", sa.Integer()))
    for name in COUNTS:
        op.add_column("crawls", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    op.add_column("crawls", sa.Column("is_offline", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("crawls", "is_offline")
    for name in reversed(COUNTS):
        op.drop_column("crawls", name)
    op.drop_column("frontier", "item_count")
    op.drop_column("frontier", "page_key")
