"""Turns of chat agents."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "chat_turns",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("thread_id", sa.String(200), nullable=False),
        sa.Column("turn", sa.String(200), nullable=False),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("user_id", sa.String(200)),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("output", sa.JSON()),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("tool_calls", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_usd", sa.Float()),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_chat_turns_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "thread_id", "turn", name="pk_chat_turns"),
    )
    op.create_index("ix_chat_turns_project_id_first_seen_at", "chat_turns", ["project_id", "first_seen_at"])
    op.create_index("ix_chat_turns_project_id_user_id", "chat_turns", ["project_id", "user_id"])


def downgrade() -> None:
    op.drop_table("chat_turns")
