"""The use of each model in a turn of several."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("chat_turns", sa.Column("by_model", sa.JSON()))


def downgrade() -> None:
    op.drop_column("chat_turns", "by_model")
