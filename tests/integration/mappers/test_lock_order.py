"""Writers of one table on PostgreSQL, in batches cut differently: none waits for who waits for it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import cast

import pytest
from sqlalchemy import Table, select
from sqlalchemy.orm import Mapped, mapped_column
from tests.databases import only_postgresql
from tests.postgres import PostgresServer

from agentic.core.types import SaveCounts
from agentic.mappers import AgentModel, Base, Database, SourceColumns, add_agent, add_project, upsert
from agentic.mappers.database.driver import CompiledStatement, DriverCursor, Values

pytestmark = [pytest.mark.integration, only_postgresql]

Eventually = Callable[[Callable[[], bool]], Awaitable[None]]


class NumberedModel(SourceColumns, Base):
    __tablename__ = "lock_order_numbers"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    title: Mapped[str]


class NamedModel(SourceColumns, Base):
    __tablename__ = "lock_order_names"

    # As a language sorts it, and not by the codes of letters.
    id: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str]


class Pause:
    """Stops whoever is the first to write rows, once they are written, until it may go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()
        run_each = DriverCursor.run_each

        def paused(cursor: DriverCursor, statement: CompiledStatement, rows: Sequence[Values]) -> int:
            count = run_each(cursor, statement, rows)
            if not self.reached.is_set():
                self.reached.set()
                self.go_on.wait(30)
            return count

        monkeypatch.setattr(DriverCursor, "run_each", paused)


@pytest.fixture
def database(migrated_database: Database) -> Database:
    Base.metadata.create_all(migrated_database.engine)
    return migrated_database


@pytest.fixture
def agent(database: Database) -> AgentModel:
    with database.writing() as session:
        return add_agent(session, add_project(session, "ours"), "watcher", "test")


@pytest.mark.parametrize(
    ("model", "stored", "first", "second"),
    [
        (NumberedModel, (9, 10, 11), (9, 10, 11), (9, 10)),
        (NamedModel, ("B", "a", "b"), ("B", "a", "b"), ("B", "a")),
        (NamedModel, ("c",), ("a", "b", "c"), ("b", "c")),
        (NamedModel, ("c",), ("a", "b", "c", "refused"), ("b", "c", "refused")),
    ],
    ids=["numbers", "names", "new and stored", "refused"],
)
async def test_writers_whose_batches_are_cut_differently_do_not_lock_each_other_out(
    database: Database,
    agent: AgentModel,
    postgres: PostgresServer,
    eventually: Eventually,
    monkeypatch: pytest.MonkeyPatch,
    *,
    model: type[NumberedModel | NamedModel],
    stored: Iterable[object],
    first: Sequence[object],
    second: Sequence[object],
) -> None:
    owner = {"project_id": agent.project_id, "agent_id": agent.id, "execution_id": "e"}

    def write(keys: Iterable[object], title: str) -> SaveCounts:
        rows = [{**owner, "id": key, "title": None if key == "refused" else title} for key in keys]
        with database.writing() as session:
            return upsert(session, model, rows, key=("project_id", "id"), warn=warnings.append)

    warnings: list[str] = []
    write(stored, "old")
    monkeypatch.setattr(sys.modules[upsert.__module__], "BATCH_SIZE", 2)
    pause = Pause(monkeypatch)
    one = asyncio.create_task(asyncio.to_thread(write, first, "one"))
    await asyncio.to_thread(pause.reached.wait, 30)
    two = asyncio.create_task(asyncio.to_thread(write, second, "two"))
    await eventually(postgres.is_in_a_queue)
    pause.go_on.set()
    counts = [await one, await two]
    good = [[key for key in keys if key != "refused"] for keys in (first, second)]
    assert [each.inserted + each.updated for each in counts] == [len(keys) for keys in good]
    assert [each.rejected for each in counts] == [len(first) - len(good[0]), len(second) - len(good[1])]
    assert len(warnings) == sum(each.rejected for each in counts)
    with database.reading() as session:
        titles = {row.id: row.title for row in session.execute(select(cast("Table", model.__table__)))}
    assert titles.keys() == set(good[0])
    assert len({titles[key] for key in good[1]}) == 1, "of two writers, one is the last for all rows"
