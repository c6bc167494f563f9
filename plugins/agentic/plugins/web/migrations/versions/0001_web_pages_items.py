"""Web pages and their items."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "web_pages",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("url_key", sa.String(64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("content_type", sa.String(200)),
        sa.Column("title", sa.Text()),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=False),
        *_source_columns(),
        _belongs_to_project("web_pages"),
        sa.PrimaryKeyConstraint("project_id", "url_key", name="pk_web_pages"),
    )
    op.create_table(
        "items",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("pipeline", sa.String(100), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        *_source_columns(),
        _belongs_to_project("items"),
        sa.PrimaryKeyConstraint("project_id", "pipeline", "key", name="pk_items"),
    )


def downgrade() -> None:
    op.drop_table("items")
    op.drop_table("web_pages")


def _source_columns() -> list[sa.Column[object]]:
    return [
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
    ]


def _belongs_to_project(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_project_id_projects"
    return sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=name, ondelete="CASCADE")
