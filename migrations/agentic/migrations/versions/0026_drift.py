"""Held pages of crawls, and profiles of healthy pages."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("crawls", sa.Column("held", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("crawls", sa.Column("holds", sa.Text(), nullable=False, server_default=""))
    op.add_column("crawls", sa.Column("watch", sa.Text()))
    op.create_table(
        "crawl_profiles",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "agent_id", "kind", name="pk_crawl_profiles"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_crawl_profiles_project_id_projects", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agents.id"], name="fk_crawl_profiles_agent_id_agents", ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    op.drop_table("crawl_profiles")
    op.execute("UPDATE frontier SET state = 'new' WHERE state = 'held'")
    for column in ("watch", "holds", "held"):
        op.drop_column("crawls", column)
