"""Stored pipelines, dead letters, counts of crawls, and the result of each page."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("frontier", sa.Column("content_hash", sa.String(64)))
    op.add_column("frontier", sa.Column("tries", sa.JSON()))
    op.add_column("frontier", sa.Column("is_letter", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "crawls",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        _belongs_to("crawls", "project_id", "projects"),
        sa.PrimaryKeyConstraint("project_id", "run", name="pk_crawls"),
    )
    op.execute(
        "INSERT INTO crawls (project_id, run, total, done, failed) "
        "SELECT project_id, run, count(*), sum(CASE WHEN state = 'done' THEN 1 ELSE 0 END), "
        "sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) FROM frontier GROUP BY project_id, run"
    )
    op.create_table(
        "dead_letters",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("step", sa.String(200), nullable=False),
        sa.Column("item_key", sa.String(64), nullable=False),
        sa.Column("pipeline", sa.String(100), nullable=False),
        sa.Column("item", sa.JSON()),
        sa.Column("failure_class", sa.String(100), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("tries", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        _belongs_to("dead_letters", "project_id", "projects"),
        _belongs_to("dead_letters", "execution_id", "executions"),
        sa.PrimaryKeyConstraint("project_id", "execution_id", "step", "item_key", name="pk_dead_letters"),
    )
    op.create_index("ix_dead_letters_project_id_created_at", "dead_letters", ["project_id", "created_at"])
    op.create_table(
        "pipelines",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        _belongs_to("pipelines", "project_id", "projects"),
        sa.PrimaryKeyConstraint("project_id", "name", "version", name="pk_pipelines"),
    )


def downgrade() -> None:
    op.drop_table("pipelines")
    op.drop_table("dead_letters")
    op.drop_table("crawls")
    op.drop_column("frontier", "is_letter")
    op.drop_column("frontier", "tries")
    op.drop_column("frontier", "content_hash")


def _belongs_to(table: str, column: str, owner: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}_{owner}"
    return sa.ForeignKeyConstraint([column], [f"{owner}.id"], name=name, ondelete="CASCADE")
