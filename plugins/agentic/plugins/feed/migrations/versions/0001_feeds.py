"""Feeds and their entries."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "feeds",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("url_key", sa.String(32), nullable=False),
        sa.Column("title", sa.Text()),
        sa.Column("home_url", sa.Text()),
        sa.Column("language", sa.Text()),
        sa.Column("etag", sa.Text()),
        sa.Column("last_modified", sa.Text()),
        sa.Column("interval_s", sa.BigInteger()),
        sa.Column("polled_at", sa.DateTime(timezone=True)),
        sa.Column("changed_at", sa.DateTime(timezone=True)),
        sa.Column("next_poll_at", sa.DateTime(timezone=True)),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text()),
        sa.Column("disabled_at", sa.DateTime(timezone=True)),
        *_source_columns(),
        _project("feeds"),
        sa.PrimaryKeyConstraint("project_id", "id", name="pk_feeds"),
    )
    op.create_index("ix_feeds_project_id_url_key", "feeds", ["project_id", "url_key"])
    op.create_table(
        "feed_entries",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("feed_id", sa.String(32), nullable=False),
        sa.Column("entry_key", sa.String(255), nullable=False),
        sa.Column("title", sa.Text()),
        sa.Column("link", sa.Text()),
        sa.Column("author", sa.Text()),
        sa.Column("published_at", sa.DateTime(timezone=True)),
        sa.Column("updated_at", sa.DateTime(timezone=True)),
        sa.Column("summary", sa.Text()),
        sa.Column("content", sa.Text()),
        sa.Column("categories", sa.JSON()),
        sa.Column("enclosures", sa.JSON()),
        sa.Column("video_id", sa.Text()),
        sa.Column("views", sa.BigInteger()),
        *_source_columns(),
        _project("feed_entries"),
        sa.PrimaryKeyConstraint("project_id", "feed_id", "entry_key", name="pk_feed_entries"),
    )
    op.create_index("ix_feed_entries_project_id_published_at", "feed_entries", ["project_id", "published_at"])


def downgrade() -> None:
    op.drop_table("feed_entries")
    op.drop_table("feeds")


def _source_columns() -> list[sa.Column[object]]:
    return [
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
    ]


def _project(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_project_id_projects"
    return sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=name, ondelete="CASCADE")
