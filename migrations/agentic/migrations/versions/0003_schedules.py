"""Schedules, and the key that keeps an execution from being made twice."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

KEY_INDEX = "ix_executions_project_id_idempotency_key"


def upgrade() -> None:
    op.add_column("executions", sa.Column("idempotency_key", sa.String(200)))
    op.create_index(KEY_INDEX, "executions", ["project_id", "idempotency_key"], unique=True)
    op.create_table(
        "schedules",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("cron", sa.String(200)),
        sa.Column("every_s", sa.Integer()),
        sa.Column("timezone", sa.String(64), nullable=False),
        sa.Column("jitter_s", sa.Integer(), nullable=False),
        sa.Column("catch_up", sa.String(8), nullable=False),
        sa.Column("anchor", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_due_at", sa.DateTime(timezone=True)),
        sa.Column("paused_at", sa.DateTime(timezone=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        _belongs_to("project_id", "projects"),
        _belongs_to("agent_id", "agents"),
        sa.PrimaryKeyConstraint("id", name="pk_schedules"),
        sa.UniqueConstraint("project_id", "name", name="uq_schedules_project_id_name"),
    )
    op.create_index("ix_schedules_agent_id", "schedules", ["agent_id"])


def downgrade() -> None:
    op.drop_table("schedules")
    op.drop_index(KEY_INDEX, "executions")
    op.drop_column("executions", "idempotency_key")


def _belongs_to(column: str, owner: str) -> sa.ForeignKeyConstraint:
    name = f"fk_schedules_{column}_{owner}"
    return sa.ForeignKeyConstraint([column], [f"{owner}.id"], name=name, ondelete="CASCADE")
