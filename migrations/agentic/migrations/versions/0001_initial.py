"""Projects, agents, executions, their results and the frontier of crawls."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "projects",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_projects"),
        sa.UniqueConstraint("name", name="uq_projects_name"),
    )
    op.create_table(
        "agents",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("agent_name", sa.String(200), nullable=False),
        sa.Column("agent_platform", sa.String(100), nullable=False),
        sa.Column("goals", sa.Text()),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        _belongs_to("agents", "project_id", "projects"),
        sa.PrimaryKeyConstraint("id", name="pk_agents"),
        sa.UniqueConstraint("project_id", "agent_name", name="uq_agents_project_id_agent_name"),
    )
    _create_executions()
    _create_agent_results()
    _create_frontier()


def downgrade() -> None:
    for table in ("frontier", "agent_results", "executions", "agents", "projects"):
        op.drop_table(table)


def _create_executions() -> None:
    op.create_table(
        "executions",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("heartbeat_at", sa.DateTime(timezone=True)),
        sa.Column("worker", sa.String(200)),
        sa.Column("error", sa.Text()),
        sa.Column("superstep_count", sa.Integer(), nullable=False),
        sa.Column("event_count", sa.Integer(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        _belongs_to("executions", "project_id", "projects"),
        _belongs_to("executions", "agent_id", "agents"),
        sa.PrimaryKeyConstraint("id", name="pk_executions"),
    )
    op.create_index("ix_executions_project_id_created_at", "executions", ["project_id", "created_at"])
    op.create_index("ix_executions_agent_id", "executions", ["agent_id"])


def _create_agent_results() -> None:
    op.create_table(
        "agent_results",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        _belongs_to("agent_results", "project_id", "projects"),
        _belongs_to("agent_results", "agent_id", "agents"),
        _belongs_to("agent_results", "execution_id", "executions"),
        sa.PrimaryKeyConstraint("id", name="pk_agent_results"),
        sa.UniqueConstraint("execution_id", name="uq_agent_results_execution_id"),
    )
    op.create_index("ix_agent_results_project_id_created_at", "agent_results", ["project_id", "created_at"])
    op.create_index("ix_agent_results_agent_id", "agent_results", ["agent_id"])


def _create_frontier() -> None:
    op.create_table(
        "frontier",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("url_key", sa.String(64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("lease", sa.DateTime(timezone=True)),
        sa.Column("holder", sa.String(32)),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failure_class", sa.String(100)),
        sa.Column("message", sa.Text()),
        _belongs_to("frontier", "project_id", "projects"),
        sa.PrimaryKeyConstraint("id", name="pk_frontier"),
        sa.UniqueConstraint("project_id", "run", "url_key", name="uq_frontier_project_id_run_url_key"),
    )
    op.create_index("ix_frontier_project_id_run_state_id", "frontier", ["project_id", "run", "state", "id"])


def _belongs_to(table: str, column: str, owner: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}_{owner}"
    return sa.ForeignKeyConstraint([column], [f"{owner}.id"], name=name, ondelete="CASCADE")
