"""Memories of agents."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agent_memories",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("agent", sa.String(200), nullable=False),
        sa.Column("user_id", sa.String(200), nullable=False),
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "agent", "user_id", "id", name="pk_agent_memories"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_agent_memories_project_id_projects", ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    op.drop_table("agent_memories")
