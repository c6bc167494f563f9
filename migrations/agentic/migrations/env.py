"""Run by Alembic for each command; the connection and the version table come from the caller."""

from __future__ import annotations

from alembic import context

given = context.config.attributes
context.configure(
    connection=given["connection"],
    version_table=given["version_table"],
    on_version_apply=given.get("on_version_apply"),
    # Always: a column change written for one database must also run on SQLite, which copies the table.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
