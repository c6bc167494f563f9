"""Cases of evaluations."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "eval_cases",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("run_id", sa.String(32), nullable=False),
        sa.Column("case_id", sa.String(200), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("evaluation", sa.String(200), nullable=False),
        sa.Column("task", sa.String(200), nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("scores", sa.JSON()),
        sa.Column("failure_class", sa.String(200)),
        sa.Column("error", sa.Text()),
        sa.Column("input", sa.JSON()),
        sa.Column("expected", sa.JSON()),
        sa.Column("case_metadata", sa.JSON()),
        sa.Column("answer", sa.JSON()),
        sa.Column("duration_s", sa.Float(), nullable=False),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.Column("tool_calls", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cached_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_usd", sa.Float()),
        sa.Column("judge_tokens", sa.BigInteger(), nullable=False),
        sa.Column("judge_cost_usd", sa.Float()),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_eval_cases_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "run_id", "case_id", "repeat", name="pk_eval_cases"),
    )
    op.create_index(
        "ix_eval_cases_project_id_evaluation_first_seen_at",
        "eval_cases",
        ["project_id", "evaluation", "first_seen_at"],
    )


def downgrade() -> None:
    op.drop_table("eval_cases")
