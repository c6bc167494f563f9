"""Files that crawls download."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "web_files",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("url_key", sa.String(64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("page_url", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer()),
        sa.Column("height", sa.Integer()),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_web_files_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "url_key", name="pk_web_files"),
    )


def downgrade() -> None:
    op.drop_table("web_files")
