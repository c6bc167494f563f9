"""Repairs of pipelines, and the versions that accepted ones make."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pipeline_repairs",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("run", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True)),
        sa.Column("decided_by", sa.String(200)),
        sa.PrimaryKeyConstraint("project_id", "id", name="pk_pipeline_repairs"),
        *_owners("pipeline_repairs"),
    )
    op.create_index(
        "ix_pipeline_repairs_project_id_agent_id_created_at",
        "pipeline_repairs",
        ["project_id", "agent_id", "created_at"],
    )
    op.create_table(
        "repair_versions",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("changes", sa.Text(), nullable=False),
        sa.Column("repair_id", sa.String(32)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_by", sa.String(200), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "agent_id", "version", name="pk_repair_versions"),
        *_owners("repair_versions"),
    )


def downgrade() -> None:
    op.drop_table("repair_versions")
    op.drop_table("pipeline_repairs")


def _owners(table: str) -> list[sa.ForeignKeyConstraint]:
    return [
        sa.ForeignKeyConstraint(
            [f"{one}_id"], [f"{one}s.id"], name=f"fk_{table}_{one}_id_{one}s", ondelete="CASCADE"
        )
        for one in ("project", "agent")
    ]
