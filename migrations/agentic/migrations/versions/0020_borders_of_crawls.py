"""Pages and links outside of a crawl, and the hosts that its start pages led to."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

COUNTS = ("beyond", "outside")


def upgrade() -> None:
    for name in COUNTS:
        op.add_column("crawls", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    op.add_column("crawls", sa.Column("moves", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("crawls", "moves")
    for name in reversed(COUNTS):
        op.drop_column("crawls", name)
