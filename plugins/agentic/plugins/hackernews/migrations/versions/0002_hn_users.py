"""Hacker News users, and the story that a comment belongs to."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("hn_items", sa.Column("story_id", sa.BigInteger()))
    op.create_index("ix_hn_items_project_id_story_id", "hn_items", ["project_id", "story_id"])
    op.create_table(
        "hn_users",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("id", sa.String(100), nullable=False),
        sa.Column("karma", sa.Integer()),
        sa.Column("created", sa.DateTime(timezone=True)),
        sa.Column("about", sa.Text()),
        sa.Column("submitted_count", sa.Integer()),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_hn_users_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "id", name="pk_hn_users"),
    )


def downgrade() -> None:
    op.drop_table("hn_users")
    op.drop_index("ix_hn_items_project_id_story_id", "hn_items")
    op.drop_column("hn_items", "story_id")
