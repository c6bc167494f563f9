"""Which version of a repaired pipeline read an item."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("items", sa.Column("pipeline_version", sa.Integer()))


def downgrade() -> None:
    op.drop_column("items", "pipeline_version")
