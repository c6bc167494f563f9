"""Notifications: rules, an outbox, and notes about new and changed rows."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "notification_rules",
        _id("id"),
        _id("project_id"),
        _id("agent_id", nullable=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("events", sa.Text(), nullable=False),
        sa.Column("row_filter", sa.Text()),
        sa.Column("table_name", sa.String(63)),
        sa.Column("channel", sa.String(16), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("credential", sa.Text()),
        sa.Column("digest_s", sa.Integer(), nullable=False),
        sa.Column("max_per_hour", sa.Integer(), nullable=False),
        sa.Column("may_be_private", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_notification_rules"),
        sa.UniqueConstraint("project_id", "name", name="uq_notification_rules_project_id_name"),
        _of("notification_rules", "project_id", "projects"),
        _of("notification_rules", "agent_id", "agents"),
    )
    op.create_index("ix_notification_rules_agent_id", "notification_rules", ["agent_id"])
    op.create_table(
        "notifications",
        _number("id"),
        _id("project_id"),
        _id("rule_id"),
        _id("execution_id"),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("event", sa.String(16), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        _id("message_id", nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True)),
        sa.Column("lease_until", sa.DateTime(timezone=True)),
        sa.Column("reason", sa.Text()),
        sa.PrimaryKeyConstraint("id", name="pk_notifications"),
        sa.UniqueConstraint(
            "rule_id",
            "execution_id",
            "attempt",
            "event",
            name="uq_notifications_rule_id_execution_id_attempt_event",
        ),
        _of("notifications", "project_id", "projects"),
        _of("notifications", "rule_id", "notification_rules"),
        _of("notifications", "execution_id", "executions"),
    )
    for columns in (
        ["state", "due_at"],
        ["project_id", "id"],
        ["rule_id", "claimed_at"],
        ["execution_id"],
        ["message_id"],
    ):
        op.create_index(f"ix_notifications_{'_'.join(columns)}", "notifications", columns)
    op.create_table(
        "row_notes",
        _number("id"),
        _id("project_id"),
        _id("rule_id"),
        _id("execution_id"),
        sa.Column("table_name", sa.String(63), nullable=False),
        sa.Column("new_count", sa.Integer(), nullable=False),
        sa.Column("changed_count", sa.Integer(), nullable=False),
        sa.Column("samples", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_row_notes"),
        _of("row_notes", "project_id", "projects"),
        _of("row_notes", "execution_id", "executions"),
    )
    op.create_index("ix_row_notes_project_id_execution_id", "row_notes", ["project_id", "execution_id"])
    op.create_index("ix_row_notes_execution_id", "row_notes", ["execution_id"])


def downgrade() -> None:
    op.drop_table("row_notes")
    op.drop_table("notifications")
    op.drop_table("notification_rules")


def _id(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(32), nullable=nullable)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False)


def _of(table: str, column: str, other: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{other}.id"], name=f"fk_{table}_{column}_{other}", ondelete="CASCADE"
    )
