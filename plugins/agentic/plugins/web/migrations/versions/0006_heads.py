"""What reading a stored page again needs."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("web_contents", sa.Column("fetched_at", sa.DateTime(timezone=True)))
    op.add_column("web_contents", sa.Column("head", sa.JSON()))


def downgrade() -> None:
    op.drop_column("web_contents", "head")
    op.drop_column("web_contents", "fetched_at")
