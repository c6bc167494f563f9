"""Stored text, markup and links of pages."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "web_contents",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("url_key", sa.String(64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("canonical_url", sa.Text()),
        sa.Column("language", sa.String(100)),
        sa.Column("text", sa.Text()),
        sa.Column("markdown", sa.Text()),
        sa.Column("html", sa.Text()),
        *_source_columns(),
        _belongs_to_project("web_contents"),
        sa.PrimaryKeyConstraint("project_id", "url_key", name="pk_web_contents"),
    )
    op.create_table(
        "web_links",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("from_key", sa.String(64), nullable=False),
        sa.Column("to_key", sa.String(64), nullable=False),
        sa.Column("from_url", sa.Text(), nullable=False),
        sa.Column("to_url", sa.Text(), nullable=False),
        sa.Column("rel", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("is_followed", sa.Boolean(), nullable=False),
        *_source_columns(),
        _belongs_to_project("web_links"),
        sa.PrimaryKeyConstraint("project_id", "from_key", "to_key", name="pk_web_links"),
    )
    op.create_index("ix_web_links_project_id_to_key", "web_links", ["project_id", "to_key"])


def downgrade() -> None:
    op.drop_table("web_links")
    op.drop_table("web_contents")


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
