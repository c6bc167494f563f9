"""Audit: who decided what, in rows that are never changed or removed."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

CONTENT = "number, project_id, id, time, kind, subject, who, what, reason, details"
REFUSAL = "rows of the audit are never changed or removed"

REFUSE_UPDATE = f"""
CREATE TRIGGER audit_is_kept BEFORE UPDATE OF {CONTENT} ON audit
BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END
"""
REFUSE_DELETE = f"""
CREATE TRIGGER audit_stays BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END
"""
SQLITE = (REFUSE_UPDATE, REFUSE_DELETE)

REFUSE = f"""
CREATE FUNCTION audit_refuses() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION '{REFUSAL}'; END $$
"""
REFUSE_BOTH = f"""
CREATE TRIGGER audit_is_kept BEFORE DELETE OR UPDATE OF {CONTENT} ON audit
FOR EACH ROW EXECUTE FUNCTION audit_refuses()
"""
POSTGRESQL = (REFUSE, REFUSE_BOTH)


def upgrade() -> None:
    op.create_table(
        "audit",
        # Only a plain INTEGER key counts up by itself on SQLite.
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("time", sa.Float(), nullable=False),
        sa.Column("kind", sa.String(64), nullable=False),
        *(
            sa.Column(name, sa.Text(), nullable=False)
            for name in ("subject", "who", "what", "reason", "details")
        ),
        sa.Column("published_at", sa.Float()),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
        sa.UniqueConstraint("project_id", "id", name="uq_audit_project_id_id"),
    )
    op.create_index("ix_audit_project_id_time", "audit", ["project_id", "time"])
    unpublished = sa.text("published_at IS NULL")
    op.create_index(
        "ix_audit_unpublished",
        "audit",
        ["project_id", "number"],
        sqlite_where=unpublished,
        postgresql_where=unpublished,
    )
    for statement in POSTGRESQL if _is_postgresql() else SQLITE:
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("audit")
    if _is_postgresql():
        op.execute("DROP FUNCTION audit_refuses()")


def _is_postgresql() -> bool:
    return op.get_context().dialect.name == "postgresql"
