"""Indexes for searches among a million runs, and for batches of events with decisions."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

OUTERMOST = "parent_run_id IS NULL"
ENDED = f"finished_at IS NOT NULL AND {OUTERMOST}"
CRASHED = "crashes > 0"
DECIDED = "decided_at IS NOT NULL"
DECIDING = (
    "executor.failed",
    "message.undeliverable",
    "request.raised",
    "request.answered",
    "request.expired",
    "run.resumed",
    "run.failed",
    "run.cancelled",
)
"""Events that tell of decisions; of edges, those with a rule do."""
FIRST_TIME = {
    "sqlite": "CAST(substr(text, instr(text, '\"time\":') + 7, 24) AS REAL)",
    "postgresql": "CAST(substring(text from '\"time\":([0-9.]+)') AS double precision)",
}
"""Of a batch: the time of its first event."""


def upgrade() -> None:
    op.drop_index("ix_runs_created", "runs")
    _index("ix_runs_created", "runs", ["created_at"], OUTERMOST)
    _index("ix_runs_status", "runs", ["status", "created_at"], OUTERMOST)
    _index("ix_runs_workflow", "runs", ["workflow", "status", "created_at"], OUTERMOST)
    _index("ix_runs_ended", "runs", ["finished_at"], ENDED)
    _index("ix_activations_crashed", "activations", ["status", "queue", "crashes"], CRASHED)
    op.drop_index("ix_executions_agent_id", "executions")
    op.create_index("ix_executions_agent_id_created_at", "executions", ["agent_id", "created_at"])
    op.create_index(
        "ix_executions_agent_id_status_created_at", "executions", ["agent_id", "status", "created_at"]
    )
    op.create_index(
        "ix_executions_project_id_status_created_at", "executions", ["project_id", "status", "created_at"]
    )
    op.drop_index("ix_agent_results_project_id_created_at", "agent_results")
    for column in ("kind", "who", "subject"):
        op.create_index(f"ix_audit_project_id_{column}_time", "audit", ["project_id", column, "time"])
    op.add_column("run_events", sa.Column("decided_at", sa.Float()))
    tells = [f'text LIKE \'%"kind":"{kind}"%\'' for kind in DECIDING]
    tells.append('(text LIKE \'%"kind":"edge.activated"%\' AND text LIKE \'%"rule":%\')')
    first = FIRST_TIME[op.get_bind().dialect.name]
    decided = f"UPDATE run_events SET decided_at = {first} WHERE {' OR '.join(tells)}"  # noqa: S608  # ours alone
    op.execute(sa.text(decided.replace(":", "\\:")))
    _index("ix_run_events_decided", "run_events", ["decided_at"], DECIDED)


def downgrade() -> None:
    op.drop_index("ix_run_events_decided", "run_events")
    op.drop_column("run_events", "decided_at")
    for column in ("kind", "who", "subject"):
        op.drop_index(f"ix_audit_project_id_{column}_time", "audit")
    op.create_index("ix_agent_results_project_id_created_at", "agent_results", ["project_id", "created_at"])
    op.drop_index("ix_executions_project_id_status_created_at", "executions")
    op.drop_index("ix_executions_agent_id_status_created_at", "executions")
    op.drop_index("ix_executions_agent_id_created_at", "executions")
    op.create_index("ix_executions_agent_id", "executions", ["agent_id"])
    op.drop_index("ix_activations_crashed", "activations")
    for name in ("ended", "workflow", "status", "created"):
        op.drop_index(f"ix_runs_{name}", "runs")
    op.create_index("ix_runs_created", "runs", ["project_id", "created_at"])


def _index(name: str, table: str, columns: list[str], where: str) -> None:
    rows = sa.text(where)
    op.create_index(name, table, ["project_id", *columns], sqlite_where=rows, postgresql_where=rows)
