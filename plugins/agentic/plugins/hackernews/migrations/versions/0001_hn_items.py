"""Hacker News items."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hn_items",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("rank", sa.Integer()),
        sa.Column("title", sa.Text()),
        sa.Column("score", sa.Integer()),
        sa.Column("by", sa.String(100)),
        sa.Column("time", sa.DateTime(timezone=True)),
        sa.Column("type", sa.String(20)),
        sa.Column("url", sa.Text()),
        sa.Column("text", sa.Text()),
        sa.Column("descendants", sa.Integer()),
        sa.Column("parent_id", sa.BigInteger()),
        sa.Column("poll_id", sa.BigInteger()),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("dead", sa.Boolean(), nullable=False),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_hn_items_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "id", name="pk_hn_items"),
    )
    op.create_index("ix_hn_items_project_id_time", "hn_items", ["project_id", "time"])


def downgrade() -> None:
    op.drop_table("hn_items")
