"""Pages and links from Firecrawl."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "firecrawl_pages",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("url_key", sa.String(64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("source_url", sa.Text()),
        sa.Column("status", sa.Integer()),
        sa.Column("title", sa.Text()),
        sa.Column("description", sa.Text()),
        sa.Column("language", sa.String(100)),
        sa.Column("markdown", sa.Text()),
        sa.Column("html", sa.Text()),
        sa.Column("links", sa.JSON()),
        sa.Column("item", sa.JSON()),
        sa.Column("metadata", sa.JSON()),
        sa.Column("scraped_at", sa.DateTime(timezone=True), nullable=False),
        *_seen(),
        _belongs_to_project("firecrawl_pages"),
        sa.PrimaryKeyConstraint("project_id", "url_key", name="pk_firecrawl_pages"),
    )
    op.create_table(
        "firecrawl_links",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("found_by", sa.String(10), nullable=False),
        sa.Column("asked_key", sa.String(64), nullable=False),
        sa.Column("url_key", sa.String(64), nullable=False),
        sa.Column("asked", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("source", sa.String(10)),
        sa.Column("title", sa.Text()),
        sa.Column("description", sa.Text()),
        sa.Column("position", sa.Integer()),
        *_seen(),
        _belongs_to_project("firecrawl_links"),
        sa.PrimaryKeyConstraint("project_id", "found_by", "asked_key", "url_key", name="pk_firecrawl_links"),
    )


def downgrade() -> None:
    op.drop_table("firecrawl_links")
    op.drop_table("firecrawl_pages")


def _seen() -> list[sa.Column[object]]:
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
