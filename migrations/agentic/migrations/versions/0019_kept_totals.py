"""Totals of past weeks, as long as no row of the week changes."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

WEEK_S = 604_800
EVENTS = ("INSERT", "UPDATE", "DELETE")


def upgrade() -> None:
    op.create_table(
        "kept_totals",
        sa.Column("project_id", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("week", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("totals", sa.JSON()),
        sa.PrimaryKeyConstraint("project_id", "kind", "week", name="pk_kept_totals"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_kept_totals_project_id_projects", ondelete="CASCADE"
        ),
    )
    for table in ("runs", "executions"):
        for statement in _postgresql(table) if _is_postgresql() else _sqlite(table):
            op.execute(statement)


def downgrade() -> None:
    for table in ("runs", "executions"):
        for event in EVENTS:
            where = f" ON {table}" if _is_postgresql() else ""
            op.execute(f"DROP TRIGGER {_name(table, event)}{where}")
        if _is_postgresql():
            op.execute(f"DROP FUNCTION {table}_forget_totals()")
    op.drop_table("kept_totals")


def _sqlite(table: str) -> list[str]:
    """Return triggers that forget the totals of a week when one of its rows comes, changes or goes.

    Of this week there are none, and to ask for the time would take longer than to find that out.
    """
    found = []
    for event in EVENTS:
        rows = [row for row, other in (("OLD", "INSERT"), ("NEW", "DELETE")) if event != other]
        projects = ", ".join(f"{row}.project_id" for row in rows)
        weeks = ", ".join(_week(table, f"{row}.created_at") for row in rows)
        forget = (
            f"DELETE FROM kept_totals WHERE project_id IN ({projects}) AND kind = '{table}' "  # noqa: S608 - constants
            f"AND week IN ({weeks})"
        )
        when = f"WHEN {change} " if (change := _change(table, event)) else ""
        found.append(
            f"CREATE TRIGGER {_name(table, event)} AFTER {_of(table, event)} ON {table} {when}"
            f"BEGIN {forget}; END"
        )
    return found


def _postgresql(table: str) -> list[str]:
    """Return such triggers; the rows of this week cost a comparison, and call no function."""
    old, new = (_week(table, f"{row}.created_at") for row in ("OLD", "NEW"))
    forget = f"DELETE FROM kept_totals WHERE kind = '{table}' AND project_id"  # noqa: S608 - constants
    function = (
        f"CREATE FUNCTION {table}_forget_totals() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF TG_OP <> 'INSERT' THEN {forget} = OLD.project_id AND week = {old}; END IF; "
        f"IF TG_OP <> 'DELETE' THEN {forget} = NEW.project_id AND week = {new}; END IF; "
        "RETURN NULL; END $$"
    )
    found = [function]
    for event in EVENTS:
        weeks = [week for week, other in ((old, "INSERT"), (new, "DELETE")) if event != other]
        past = " OR ".join(f"{week} < {_week('executions', 'now()')}" for week in weeks)
        when = f"({change}) AND ({past})" if (change := _change(table, event)) else past
        found.append(
            f"CREATE TRIGGER {_name(table, event)} AFTER {_of(table, event)} ON {table} "
            f"FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION {table}_forget_totals()"
        )
    return found


def _name(table: str, event: str) -> str:
    return f"{table}_{event.lower()}_forgets_totals"


def _of(table: str, event: str) -> str:
    # The totals of runs say where they stand, and nothing else of them.
    return f"{event} OF status, created_at" if (table, event) == ("runs", "UPDATE") else event


def _change(table: str, event: str) -> str:
    """Return what makes an update one of the totals, as SQL: each step states again where its run stands."""
    if (table, event) != ("runs", "UPDATE"):
        return ""
    differ = "IS DISTINCT FROM" if _is_postgresql() else "IS NOT"
    return f"OLD.status {differ} NEW.status OR OLD.created_at {differ} NEW.created_at"


def _week(table: str, moment: str) -> str:
    """Return the number of the week of a moment, as SQL; runs have seconds since the epoch."""
    if _is_postgresql():
        seconds = moment if table == "runs" else f"extract(epoch FROM {moment})"
        return f"floor({seconds} / {WEEK_S})::integer"
    seconds = moment if table == "runs" else f"strftime('%s', {moment})"
    return f"(CAST({seconds} AS INTEGER) / {WEEK_S})"


def _is_postgresql() -> bool:
    return op.get_context().dialect.name == "postgresql"
