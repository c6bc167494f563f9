"""The ledger: runs, activations, effects and events; how much of a project may run at a time."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

PENDING = "status = 'pending' AND is_held = 0"


def upgrade() -> None:
    op.add_column("projects", sa.Column("max_running", sa.Integer()))
    _create_runs()
    _create_activations()
    op.create_table(
        "effects",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        _belongs_to_project("effects"),
        sa.PrimaryKeyConstraint("project_id", "run_id", "origin", "key", name="pk_effects"),
    )
    op.create_table(
        "run_events",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("last", sa.Integer(), nullable=False),
        sa.Column("first", sa.Integer(), nullable=False),
        sa.Column("published_at", sa.Float()),
        sa.Column("text", sa.Text(), nullable=False),
        _belongs_to_project("run_events"),
        sa.PrimaryKeyConstraint("project_id", "run_id", "last", name="pk_run_events"),
    )
    _index("run_events", "unpublished", "run_id", "last", where="published_at IS NULL")


def downgrade() -> None:
    for table in ("run_events", "effects", "activations", "runs"):
        op.drop_table(table)
    op.drop_column("projects", "max_running")


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("superstep", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("is_paused", sa.Boolean(), nullable=False),
        sa.Column("max_parallel", sa.Integer()),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("updated_at", sa.Float(), nullable=False),
        sa.Column("finished_at", sa.Float()),
        sa.Column("deadline", sa.Float()),
        sa.Column("wake_at", sa.Float()),
        sa.Column("cancel_at", sa.Float()),
        sa.Column("decide_at", sa.Float()),
        sa.Column("workflow", sa.Text(), nullable=False),
        sa.Column("parent_run_id", sa.Text()),
        sa.Column("parent_superstep", sa.Integer()),
        sa.Column("parent_executor_id", sa.Text()),
        sa.Column("parent_shard", sa.Integer()),
        sa.Column("idempotency_key", sa.Text()),
        sa.Column("cancel_reason", sa.Text()),
        sa.Column("note", sa.Text()),
        sa.Column("error", sa.Text()),
        _belongs_to_project("runs"),
        sa.PrimaryKeyConstraint("project_id", "run_id", name="pk_runs"),
        sa.UniqueConstraint("project_id", "idempotency_key", name="uq_runs_project_id_idempotency_key"),
    )
    op.create_index("ix_runs_created", "runs", ["project_id", "created_at"])
    _index("runs", "to_decide", "decide_at", where="finished_at IS NULL AND decide_at IS NOT NULL")


def _create_activations() -> None:
    key = ("project_id", "run_id", "superstep", "executor_id", "shard")
    op.create_table(
        "activations",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("superstep", sa.Integer(), nullable=False),
        sa.Column("executor_id", sa.Text(), nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("is_held", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("lanes", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("crashes", sa.Integer(), nullable=False),
        sa.Column("max_crashes", sa.Integer(), nullable=False),
        sa.Column("not_before", sa.Float(), nullable=False),
        sa.Column("lease_until", sa.Float()),
        sa.Column("dispatched_at", sa.Float()),
        sa.Column("started_at", sa.Float()),
        sa.Column("finished_at", sa.Float()),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("on_crash", sa.Text(), nullable=False),
        sa.Column("worker", sa.Text()),
        sa.Column("waits_for", sa.Text()),
        sa.Column("note", sa.Text()),
        sa.Column("progress", sa.Text()),
        sa.Column("result", sa.Text()),
        _belongs_to_project("activations"),
        sa.PrimaryKeyConstraint(*key, name="pk_activations"),
    )
    best = ("priority DESC", "not_before", "position")
    in_run = ("run_id", "superstep")
    _index("activations", "offered", "queue", *best, "run_id", where=PENDING)
    _index("activations", "untold", "dispatched_at", *best, where=PENDING)
    _index("activations", "open", *in_run, "status", *best[1:], where="finished_at IS NULL")
    _index("activations", "blocked", *in_run, "executor_id", "position", where="status = 'blocked'")
    _index("activations", "leases", "lease_until", where="status = 'running'")


def _index(table: str, name: str, *columns: str, where: str) -> None:
    """Index those rows of a project for which ``where`` holds."""
    keys = [sa.text(column) if " " in column else column for column in columns]
    rows = sa.text(where)
    op.create_index(
        f"ix_{table}_{name}", table, ["project_id", *keys], sqlite_where=rows, postgresql_where=rows
    )


def _belongs_to_project(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_project_id_projects"
    return sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=name, ondelete="CASCADE")
