"""A page of a crawl belongs to a slice, so it needs no lease."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_column("frontier", "lease")
    # Holders used to be stores, whose crawls no longer run.
    op.execute("UPDATE frontier SET state = 'new', holder = NULL WHERE state = 'taken'")


def downgrade() -> None:
    op.add_column("frontier", sa.Column("lease", sa.DateTime(timezone=True), nullable=True))
    op.execute("UPDATE frontier SET state = 'new', holder = NULL WHERE state = 'taken'")
