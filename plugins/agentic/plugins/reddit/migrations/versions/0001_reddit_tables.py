"""Posts, comments and subreddits of Reddit."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reddit_posts",
        *_keys(),
        sa.Column("subreddit", sa.Text()),
        sa.Column("subreddit_id", sa.Text()),
        sa.Column("author", sa.Text()),
        sa.Column("author_fullname", sa.Text()),
        sa.Column("title", sa.Text()),
        sa.Column("selftext", sa.Text()),
        sa.Column("url", sa.Text()),
        sa.Column("domain", sa.Text()),
        sa.Column("permalink", sa.Text()),
        sa.Column("score", sa.Integer()),
        sa.Column("upvote_ratio", sa.Float()),
        sa.Column("num_comments", sa.Integer()),
        sa.Column("over_18", sa.Boolean()),
        sa.Column("spoiler", sa.Boolean()),
        sa.Column("stickied", sa.Boolean()),
        sa.Column("locked", sa.Boolean()),
        sa.Column("is_self", sa.Boolean()),
        sa.Column("is_video", sa.Boolean()),
        sa.Column("flair", sa.Text()),
        sa.Column("distinguished", sa.Text()),
        sa.Column("removed_by", sa.Text()),
        sa.Column("crosspost_parent", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True)),
        sa.Column("edited_at", sa.DateTime(timezone=True)),
        sa.Column("deleted_at", sa.DateTime(timezone=True)),
        sa.Column("source_mode", sa.String(20)),
        *_seen(),
        *_constraints("reddit_posts"),
    )
    op.create_index(
        "ix_reddit_posts_project_id_subreddit_created_at",
        "reddit_posts",
        ["project_id", "subreddit", "created_at"],
    )
    op.create_index("ix_reddit_posts_project_id_created_at", "reddit_posts", ["project_id", "created_at"])
    op.create_table(
        "reddit_comments",
        *_keys(),
        sa.Column("post_id", sa.Text()),
        sa.Column("parent_id", sa.Text()),
        sa.Column("author", sa.Text()),
        sa.Column("body", sa.Text()),
        sa.Column("score", sa.Integer()),
        sa.Column("score_hidden", sa.Boolean()),
        sa.Column("depth", sa.Integer()),
        sa.Column("is_submitter", sa.Boolean()),
        sa.Column("created_at", sa.DateTime(timezone=True)),
        sa.Column("edited_at", sa.DateTime(timezone=True)),
        sa.Column("deleted_at", sa.DateTime(timezone=True)),
        *_seen(),
        *_constraints("reddit_comments"),
    )
    op.create_index("ix_reddit_comments_project_id_post_id", "reddit_comments", ["project_id", "post_id"])
    op.create_table(
        "reddit_subreddits",
        *_keys(),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text()),
        sa.Column("public_description", sa.Text()),
        sa.Column("description", sa.Text()),
        sa.Column("subscribers", sa.Integer()),
        sa.Column("active_users", sa.Integer()),
        sa.Column("over_18", sa.Boolean()),
        sa.Column("quarantine", sa.Boolean()),
        sa.Column("type", sa.Text()),
        sa.Column("language", sa.Text()),
        sa.Column("url", sa.Text()),
        sa.Column("created_at", sa.DateTime(timezone=True)),
        *_seen(),
        *_constraints("reddit_subreddits"),
    )
    op.create_index("ix_reddit_subreddits_project_id_name", "reddit_subreddits", ["project_id", "name"])


def downgrade() -> None:
    for table in ("reddit_subreddits", "reddit_comments", "reddit_posts"):
        op.drop_table(table)


def _keys() -> list[sa.Column[object]]:
    return [
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("id", sa.String(30), nullable=False),
    ]


def _seen() -> list[sa.Column[object]]:
    return [
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
    ]


def _constraints(table: str) -> list[sa.Constraint]:
    return [
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=f"fk_{table}_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "id", name=f"pk_{table}"),
    ]
