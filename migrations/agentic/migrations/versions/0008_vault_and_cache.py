"""Data a project keeps between runs: secrets, sessions, memory of actors, cached answers."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "secrets",
        _project(),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        *_sealed(),
        *_keys("secrets", "name"),
    )
    op.create_table(
        "sessions",
        _project(),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("revision", sa.String(32), nullable=False),
        *_sealed(),
        *_keys("sessions", "name"),
    )
    op.create_table(
        "actor_memory",
        _project(),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        *_keys("actor_memory", "key"),
    )
    op.create_table(
        "http_cache",
        _project(),
        sa.Column("key", sa.String(32), nullable=False),
        sa.Column("kept_at", sa.Float(53), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("headers", sa.JSON(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        *_keys("http_cache", "key"),
    )
    op.create_index("ix_http_cache_kept", "http_cache", ["project_id", "kept_at"])


def downgrade() -> None:
    for table in ("http_cache", "actor_memory", "sessions", "secrets"):
        op.drop_table(table)


def _project() -> sa.Column[str]:
    return sa.Column("project_id", sa.String(32), nullable=False)


def _sealed() -> list[sa.Column[Any]]:
    return [
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
    ]


def _keys(table: str, key: str) -> list[sa.Constraint]:
    owner = sa.ForeignKeyConstraint(
        ["project_id"], ["projects.id"], name=f"fk_{table}_project_id_projects", ondelete="CASCADE"
    )
    return [owner, sa.PrimaryKeyConstraint("project_id", key, name=f"pk_{table}")]
