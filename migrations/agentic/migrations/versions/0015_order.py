"""Older runs go first, and work that is not due blocks no other work."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_PENDING = "status = 'pending' AND is_held = 0"
_DELAYED = "status = 'pending' AND is_held = 2"
_OLD_ORDER = ("priority DESC", "not_before", "position")
_NEW_ORDER = ("priority DESC", "began_at", "run_id", "position")


def upgrade() -> None:
    _drop_indexes("offered", "untold")
    for table in ("runs", "activations"):
        # With a default, a process of the release before can still add rows.
        op.add_column(table, sa.Column("began_at", sa.Float(), nullable=False, server_default="0"))
    _set_began_at()
    _index("offered", "queue", *_NEW_ORDER, where=_PENDING)
    _index("untold", "dispatched_at", *_NEW_ORDER, where=_PENDING)
    _index("delayed", "not_before", where=_DELAYED)


def downgrade() -> None:
    _drop_indexes("delayed", "untold", "offered")
    op.execute("UPDATE activations SET is_held = 0 WHERE is_held = 2")
    for table in ("activations", "runs"):
        op.drop_column(table, "began_at")
    _index("offered", "queue", *_OLD_ORDER, "run_id", where=_PENDING)
    _index("untold", "dispatched_at", *_OLD_ORDER, where=_PENDING)


def _set_began_at() -> None:
    """Give runs that are under way the time at which the outermost run around them began."""
    runs = sa.table(
        "runs", *map(sa.column, ("project_id", "run_id", "created_at", "began_at", "finished_at"))
    )
    activations = sa.table(
        "activations", *map(sa.column, ("project_id", "run_id", "began_at", "finished_at"))
    )
    around = runs.alias("around")
    root = sa.select(around.c.created_at).where(
        around.c.project_id == runs.c.project_id, around.c.run_id == _outermost(runs.c.run_id)
    )
    began_at = sa.func.coalesce(root.scalar_subquery(), runs.c.created_at)
    op.execute(
        runs.update().values(
            began_at=sa.case((runs.c.finished_at.is_(None), began_at), else_=runs.c.created_at)
        )
    )
    of_run = sa.select(runs.c.began_at).where(
        runs.c.project_id == activations.c.project_id, runs.c.run_id == activations.c.run_id
    )
    op.execute(
        activations.update()
        .values(began_at=sa.func.coalesce(of_run.scalar_subquery(), 0.0))
        .where(activations.c.finished_at.is_(None))
    )


def _outermost(run_id: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """Return the name of the outermost run around one: all before the first slash."""
    if op.get_bind().dialect.name == "sqlite":
        return sa.func.substr(run_id, 1, sa.func.instr(run_id + "/", "/") - 1)
    return sa.func.split_part(run_id, "/", 1)


def _drop_indexes(*names: str) -> None:
    for name in names:
        op.drop_index(f"ix_activations_{name}", "activations")


def _index(name: str, *columns: str, where: str) -> None:
    keys: list[str | sa.TextClause] = [sa.text(column) if " " in column else column for column in columns]
    rows = sa.text(where)
    op.create_index(
        f"ix_activations_{name}",
        "activations",
        ["project_id", *keys],
        sqlite_where=rows,
        postgresql_where=rows,
    )
