"""Sessions to read, to write, and to write together with code that commits itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Self, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.orm.session import JoinTransactionMode

from agentic.core.errors import StoreUnavailableError, name_of
from agentic.core.logging import get_logger
from agentic.core.settings import Settings, safe_url
from agentic.mappers.database.away import went_away
from agentic.mappers.database.driver import DriverCursor
from agentic.mappers.database.engine import (
    BeginMode,
    Synchronous,
    begun,
    make_engine,
    parse_url,
    reason_of,
    sqlite_path,
)
from agentic.mappers.database.postgresql import hide_detail
from agentic.mappers.database.savepoints import JoinedSession
from agentic.mappers.errors import DatabaseUnavailableError

log = get_logger(__name__)

SessionT = TypeVar("SessionT", bound=Session)


class Database:
    """A database, by URL; cheap to create, connects at first use.

    Threads share one object. It may be created before a fork: each process gets its own engine, and a child
    neither uses nor closes the connections of its parent.

    Objects stay usable after their session, with their last values.
    """

    def __init__(self, url: str, *, synchronous: Synchronous = "normal") -> None:
        """Remember the URL.

        Args:
            url: As SQLAlchemy reads it.
            synchronous: When SQLite waits for the disk: at each commit, or (``normal``) only now and then: a
                power failure may then lose the newest commits. PostgreSQL has its own setting.

        Raises:
            DatabaseUrlError: The URL names no database this project can use.
        """
        self._parsed = parse_url(url)
        self._synchronous: Synchronous = synchronous
        self._path = sqlite_path(self._parsed)
        self._engines: dict[int, Engine] = {}
        self.url = safe_url(url)

    @classmethod
    def configured(cls, settings: Settings) -> Self:
        """Return the database that the settings name.

        Raises:
            DatabaseUrlError: The URL names no database this project can use.
        """
        return cls(settings.database, synchronous=settings.sqlite_synchronous)

    @property
    def engine(self) -> Engine:
        """The engine of this process."""
        pid = os.getpid()
        if engine := self._engines.get(pid):
            return engine
        # A parent's engine stays in the dict: dropping it would close connections that the parent uses.
        return self._engines.setdefault(pid, make_engine(self._parsed, synchronous=self._synchronous))

    @property
    def is_missing(self) -> bool:
        """Whether this is a SQLite file that does not exist yet."""
        # Called before each transaction; a Path takes five times as long.
        return self._path is not None and not os.path.exists(self._path)  # noqa: PTH110

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Open a session that sees one state of the database; its changes are not kept.

        Raises:
            DatabaseUnavailableError: The database cannot be opened.
        """
        with self._begun("DEFERRED") as connection, _told(_session(connection, "rollback_only")) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Open a session whose changes are kept at the end, or not at all if the block raises.

        Writers on SQLite take turns from the start of the block, so keep it short. On PostgreSQL they only
        conflict on the same rows: to read rows and then change them, lock them ``with_for_update()``.

        Raises:
            DatabaseUnavailableError: The database cannot be opened, or another writer does not end.
        """
        with self._begun("IMMEDIATE") as connection, _told(_session(connection, "control_fully")) as session:
            yield session
            session.commit()

    @contextmanager
    def joined(self, *, starts_hot: bool = False) -> Iterator[Session]:
        """Open a session for code that itself commits and rolls back, inside one transaction.

        ``session.commit()`` ends a part and ``session.rollback()`` undoes the changes since the last end;
        neither does more. The transaction, with the last open part, is committed at the end of the block, or
        rolled back whole if the block raises. Call ``session.commit()`` before you pass the session to
        foreign code, so that it cannot undo your own part.

        Args:
            starts_hot: Whether compiled statements begin its parts and should create the savepoints: see
                :class:`~agentic.mappers.database.savepoints.JoinedSession` and its limits.

        Raises:
            DatabaseUnavailableError: The database cannot be opened, or another writer does not end.
        """
        with self._begun("IMMEDIATE") as connection:
            made = JoinedSession(connection) if starts_hot else _session(connection, "create_savepoint")
            with _told(made) as session:
                yield session
                session.commit()
                connection.commit()

    def dispose(self) -> None:
        """Close the connections of this process; using the database again opens new ones."""
        if engine := self._engines.pop(os.getpid(), None):
            engine.dispose()

    @contextmanager
    def _begun(self, mode: BeginMode) -> Iterator[Connection]:
        if self.is_missing:  # connecting would create an empty file
            raise DatabaseUnavailableError(self.url, "the file does not exist")
        with begun(self.engine, mode) as connection:
            yield connection


def _session(connection: Connection, mode: JoinTransactionMode) -> Session:
    return Session(connection, join_transaction_mode=mode, expire_on_commit=False)


@contextmanager
def _told(session: SessionT) -> Iterator[SessionT]:
    """Close the session at the end, and log refusals of the database."""
    with session:
        try:
            yield session
        except StoreUnavailableError:
            raise
        except (
            Exception
        ) as exc:  # a hot statement raises the driver's own errors, and foreign code wraps them
            is_away = went_away(exc)
            if is_away or isinstance(exc, SQLAlchemyError):
                log.warning("transaction.rolled_back", error=name_of(exc), reason=reason_of(exc))
            if is_away:
                url = safe_url(str(session.get_bind().engine.url))
                raise DatabaseUnavailableError(url, reason_of(exc)) from exc
            raise


@contextmanager
def hot_transaction(database: Database) -> Iterator[DriverCursor]:
    """Open a transaction that is committed at the end, or rolled back if the block raises.

    Without session, events and result objects it costs 40 us instead of 220 for :meth:`Database.writing`;
    the rows of a small step cost 100 (on SQLite).

    Raises:
        DatabaseUnavailableError: The file does not exist.
        DBAPIError: The database refuses; a subclass of SQLAlchemy's.
    """
    if database.is_missing:  # connecting would create an empty file
        raise DatabaseUnavailableError(database.url, "the file does not exist")
    engine = database.engine
    dialect = engine.dialect
    driver_error = dialect.loaded_dbapi.Error
    try:
        with closing(engine.raw_connection()) as connection:
            try:
                cursor = connection.cursor()
                if dialect.name == "sqlite":
                    cursor.execute("BEGIN IMMEDIATE")
                yield DriverCursor(dialect, cursor)
                connection.commit()
            finally:
                if getattr(connection.driver_connection, "closed", False):
                    connection.invalidate()  # returning it would roll back, and that fails
    except driver_error as exc:
        hide_detail(exc)
        raise DBAPIError.instance(None, None, exc, driver_error, dialect=dialect) from exc
