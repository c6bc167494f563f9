"""Wrappers of fields: what crawls learn about their fields beside the selectors."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("crawls", sa.Column("wrappers", sa.Text()))
    op.create_table(
        "field_wrappers",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("pipeline", sa.String(100), nullable=False),
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("wrapper", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "pipeline", "key", name="pk_field_wrappers"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_field_wrappers_project_id_projects", ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    op.drop_table("field_wrappers")
    op.drop_column("crawls", "wrappers")
