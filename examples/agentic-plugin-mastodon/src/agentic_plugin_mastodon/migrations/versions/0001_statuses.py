"""Statuses, and how far timelines were read."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def source_columns() -> list[sa.Column[object]]:
    """Return the columns of SourceColumns, the same in every table of a source."""
    return [
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
    ]


def owned_by_project(table: str) -> sa.ForeignKeyConstraint:
    """Return the constraint by which rows go with their project."""
    name = f"fk_{table}_project_id_projects"
    return sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=name, ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "mastodon_statuses",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("uri", sa.String(700), nullable=False),
        sa.Column("instance", sa.String(260), nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("account", sa.String(400), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("edited_at", sa.DateTime(timezone=True)),
        sa.Column("content", sa.Text()),
        sa.Column("spoiler_text", sa.Text()),
        sa.Column("sensitive", sa.Boolean()),
        sa.Column("language", sa.String(20)),
        sa.Column("visibility", sa.String(20)),
        sa.Column("url", sa.Text()),
        sa.Column("in_reply_to_id", sa.String(64)),
        sa.Column("reblog_of_uri", sa.Text()),
        sa.Column("tags", sa.JSON()),
        sa.Column("replies", sa.Integer()),
        sa.Column("reblogs", sa.Integer()),
        sa.Column("favourites", sa.Integer()),
        *source_columns(),
        owned_by_project("mastodon_statuses"),
        sa.PrimaryKeyConstraint("project_id", "uri", name="pk_mastodon_statuses"),
    )
    op.create_index(
        "ix_mastodon_statuses_project_id_created_at", "mastodon_statuses", ["project_id", "created_at"]
    )
    op.create_table(
        "mastodon_timelines",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("timeline", sa.String(700), nullable=False),
        sa.Column("newest_id", sa.String(64), nullable=False),
        *source_columns(),
        owned_by_project("mastodon_timelines"),
        sa.PrimaryKeyConstraint("project_id", "timeline", name="pk_mastodon_timelines"),
    )


def downgrade() -> None:
    op.drop_table("mastodon_timelines")
    op.drop_table("mastodon_statuses")
