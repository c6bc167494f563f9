"""The time at which a page was found to be gone."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("web_pages", sa.Column("gone_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    op.drop_column("web_pages", "gone_at")
