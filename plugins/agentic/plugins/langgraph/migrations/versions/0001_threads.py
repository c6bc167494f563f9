"""Threads of LangGraph, and results of its agents."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _in_thread(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["project_id", "thread_id"],
        ["langgraph_threads.project_id", "langgraph_threads.thread_id"],
        name=f"fk_{table}_project_id_thread_id_langgraph_threads",
        ondelete="CASCADE",
    )


def upgrade() -> None:
    op.create_table(
        "langgraph_threads",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("thread_id", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["projects.id"],
            name="fk_langgraph_threads_project_id_projects",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("project_id", "thread_id", name="pk_langgraph_threads"),
    )
    op.create_table(
        "langgraph_checkpoints",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("thread_id", sa.String(200), nullable=False),
        sa.Column("ns", sa.String(1500), nullable=False),
        sa.Column("checkpoint_id", sa.String(200), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.String(200), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        _in_thread("langgraph_checkpoints"),
        sa.PrimaryKeyConstraint(
            "project_id", "thread_id", "ns", "checkpoint_id", name="pk_langgraph_checkpoints"
        ),
        sa.UniqueConstraint(
            "project_id",
            "thread_id",
            "ns",
            "number",
            name="uq_langgraph_checkpoints_project_id_thread_id_ns_number",
        ),
    )
    op.create_index(
        "ix_langgraph_checkpoints_project_id_run_id", "langgraph_checkpoints", ["project_id", "run_id"]
    )
    op.create_table(
        "langgraph_writes",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("thread_id", sa.String(200), nullable=False),
        sa.Column("ns", sa.String(1500), nullable=False),
        sa.Column("checkpoint_id", sa.String(200), nullable=False),
        sa.Column("task_id", sa.String(200), nullable=False),
        sa.Column("slot", sa.BigInteger(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        _in_thread("langgraph_writes"),
        sa.PrimaryKeyConstraint(
            "project_id", "thread_id", "ns", "checkpoint_id", "task_id", "slot", name="pk_langgraph_writes"
        ),
    )
    op.create_table(
        "langgraph_pieces",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("thread_id", sa.String(200), nullable=False),
        sa.Column("name", sa.LargeBinary(16), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        _in_thread("langgraph_pieces"),
        sa.PrimaryKeyConstraint("project_id", "thread_id", "name", name="pk_langgraph_pieces"),
    )
    op.create_table(
        "langgraph_runs",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("thread_id", sa.String(200), nullable=False),
        sa.Column("turn", sa.String(200), nullable=False),
        sa.Column("graph", sa.String(200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("output", sa.JSON()),
        sa.Column("steps", sa.BigInteger(), nullable=False),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_langgraph_runs_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "thread_id", "turn", name="pk_langgraph_runs"),
    )
    op.create_index(
        "ix_langgraph_runs_project_id_first_seen_at", "langgraph_runs", ["project_id", "first_seen_at"]
    )


def downgrade() -> None:
    op.drop_table("langgraph_runs")
    for table in ("pieces", "writes", "checkpoints", "threads"):
        op.drop_table(f"langgraph_{table}")
