"""Threads: conversations of agents, as logs of entries."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "threads",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("agent", sa.String(64), nullable=False),
        sa.Column("user_id", sa.String(200)),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "id", name="pk_threads"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_threads_project_id_projects", ondelete="CASCADE"
        ),
    )
    op.create_index(
        "ix_threads_project_id_user_id_created_at", "threads", ["project_id", "user_id", "created_at"]
    )
    op.create_index("ix_threads_project_id_created_at", "threads", ["project_id", "created_at"])
    op.create_table(
        "thread_entries",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("thread_id", sa.String(200), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "thread_id", "number", name="pk_thread_entries"),
        sa.ForeignKeyConstraint(
            ["project_id", "thread_id"],
            ["threads.project_id", "threads.id"],
            name="fk_thread_entries_project_id_threads",
            ondelete="CASCADE",
        ),
    )


def downgrade() -> None:
    op.drop_table("thread_entries")
    op.drop_table("threads")
