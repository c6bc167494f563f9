"""A joined session with compiled statements acts like one with savepoints of SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Literal, cast, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, bindparam, delete, func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from agentic.mappers import Database, ProjectModel
from agentic.mappers.database.driver import CompiledStatement, DriverCursor
from agentic.mappers.database.engine import begun
from agentic.mappers.database.savepoints import JoinedSession, hot_savepoint

Act = Literal["hot", "refused", "orm", "look", "nested", "undone", "commit", "rollback", "close", "reset"]
Open = Callable[[Connection], Session]

ADD = CompiledStatement(
    insert(ProjectModel).values(id=bindparam("name"), name=bindparam("name"), created_at=func.now())
)


def add(cursor: DriverCursor, name: str) -> None:
    cursor.run(ADD, {"name": name})


def add_twice(session: Session, name: str) -> None:
    with hot_savepoint(session) as cursor:
        add(cursor, name)
        add(cursor, name)


def fail_whole(database: Database) -> None:
    with database.joined(starts_hot=True) as session:
        with hot_savepoint(session) as cursor:
            add(cursor, "a")
        cast(Connection, session.get_bind()).connection.rollback()  # as SQLite does when the disk is full
        raise RuntimeError("first")


def do(session: Session, act: Act, name: str) -> None:
    match act:
        case "hot":
            with hot_savepoint(session) as cursor:
                add(cursor, name)
        case "refused":
            with pytest.raises(IntegrityError):
                add_twice(session, name)
        case "orm":
            session.add(ProjectModel(id=name, name=name))
        case "look":
            session.scalars(select(ProjectModel.name)).all()
        case "nested" | "undone":
            with session.begin_nested() as savepoint:
                session.add(ProjectModel(id=name, name=name))
                with hot_savepoint(session) as cursor:
                    add(cursor, f"{name}-hot")
                if act == "undone":
                    savepoint.rollback()
        case _:
            getattr(session, act)()


def kept(database: Database, open_session: Open, acts: Sequence[Act], *, ends: bool) -> list[str]:
    """Return what is there after these acts in a joined session, and another one that begins."""
    with database.writing() as session:
        session.execute(delete(ProjectModel))
    with begun(database.engine, "IMMEDIATE") as connection, closing(open_session(connection)) as session:
        for number, act in enumerate(acts):
            do(session, act, f"{number}")
        if ends:
            session.commit()
        connection.commit()
    with database.reading() as session:
        return list(session.scalars(select(ProjectModel.name).order_by(ProjectModel.name)))


def by_sqlalchemy(connection: Connection) -> Session:
    return Session(connection, join_transaction_mode="create_savepoint", expire_on_commit=False)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(get_args(Act)), max_size=8))
def test_a_part_keeps_and_undoes_the_same_whoever_began_it(database: Database, acts: list[Act]) -> None:
    ours = kept(database, JoinedSession, acts, ends=True)
    assert ours == kept(database, by_sqlalchemy, acts, ends=True)


def test_what_hot_statements_wrote_is_undone_alone(database: Database) -> None:
    assert kept(database, JoinedSession, ["hot", "commit", "hot", "orm", "rollback", "hot"], ends=True) == [
        "0",
        "5",
    ]


def test_a_part_is_told_of_as_begun_whoever_began_it(database: Database) -> None:
    with database.joined(starts_hot=True) as session:
        assert not session.in_transaction()
        with hot_savepoint(session) as cursor:
            add(cursor, "a")
        assert session.in_transaction()
        session.commit()
        assert not session.in_transaction()


def test_a_transaction_that_failed_is_closed_without_another_error(database: Database) -> None:
    with pytest.raises(RuntimeError, match="first"):
        fail_whole(database)
    with database.reading() as session:
        assert session.scalars(select(ProjectModel.name)).all() == []
