"""Checkpoints of runs: what each step changed."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_checkpoints",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("superstep", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("workflow_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Text()),
        sa.Column("schema_version", sa.Integer(), nullable=False),
        sa.Column("saved_at", sa.Float(), nullable=False),
        sa.Column("forked_from", sa.Text()),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.Text(), nullable=False),
        _belongs_to_project("run_checkpoints"),
        sa.PrimaryKeyConstraint("project_id", "run_id", "revision", name="pk_run_checkpoints"),
    )
    op.create_table(
        "run_parts",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("part", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text()),
        _belongs_to_project("run_parts"),
        sa.PrimaryKeyConstraint("project_id", "run_id", "part", "revision", name="pk_run_parts"),
    )
    op.create_index(
        "ix_run_parts_project_id_run_id_revision", "run_parts", ["project_id", "run_id", "revision"]
    )


def downgrade() -> None:
    for table in ("run_parts", "run_checkpoints"):
        op.drop_table(table)


def _belongs_to_project(table: str) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_project_id_projects"
    return sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=name, ondelete="CASCADE")
