"""History of a source's numbers: a row for each change."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "metric_snapshots",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("table_name", sa.String(63), nullable=False),
        sa.Column("natural_key", sa.Text(), nullable=False),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("platform", sa.String(100), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("score", sa.BigInteger()),
        sa.Column("comments", sa.BigInteger()),
        sa.Column("others", sa.JSON()),
        sa.PrimaryKeyConstraint(
            "project_id", "table_name", "natural_key", "observed_at", name="pk_metric_snapshots"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name="fk_metric_snapshots_project_id_projects",
            ondelete="CASCADE",
        ),
    )


def downgrade() -> None:
    op.drop_table("metric_snapshots")
