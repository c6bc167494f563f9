"""The stream that has the events of a project: a recreated stream gets them again."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("projects", sa.Column("event_stream", sa.Text()))


def downgrade() -> None:
    op.drop_column("projects", "event_stream")
