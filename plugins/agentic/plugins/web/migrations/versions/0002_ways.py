"""How a page was fetched, with all attempts."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("web_pages", sa.Column("fetched_by", sa.String(16), nullable=False, server_default="http"))
    op.add_column("web_pages", sa.Column("attempts", sa.JSON()))
    op.add_column("items", sa.Column("attempts", sa.JSON()))


def downgrade() -> None:
    op.drop_column("items", "attempts")
    op.drop_column("web_pages", "attempts")
    op.drop_column("web_pages", "fetched_by")
