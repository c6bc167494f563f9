"""Papers."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "arxiv_papers",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("id", sa.String(100), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text()),
        sa.Column("authors", sa.JSON()),
        sa.Column("primary_category", sa.String(100)),
        sa.Column("categories", sa.JSON()),
        sa.Column("published", sa.DateTime(timezone=True)),
        sa.Column("updated", sa.DateTime(timezone=True)),
        sa.Column("doi", sa.Text()),
        sa.Column("journal_ref", sa.Text()),
        sa.Column("comment", sa.Text()),
        sa.Column("pdf_url", sa.Text()),
        # The columns of SourceColumns, the same in every table of a source.
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("execution_id", sa.String(32), nullable=False),
        sa.Column("agent_id", sa.String(32), nullable=False),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("raw", sa.JSON()),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_arxiv_papers_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("project_id", "id", name="pk_arxiv_papers"),
    )
    op.create_index("ix_arxiv_papers_project_id_published", "arxiv_papers", ["project_id", "published"])


def downgrade() -> None:
    op.drop_table("arxiv_papers")
