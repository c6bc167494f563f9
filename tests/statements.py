"""Statements that SQLAlchemy compiles once for all databases of a process.

It keeps what it compiled with each engine, and nearly every test has a database of its own.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

MOST = 5_000

_compiled: LRUCache[Any, Any] = LRUCache(MOST)


def compile_once() -> None:
    """Let all engines of this process share what is compiled; keys name the dialect of an engine."""
    for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):
        dialect.__eq__ = _is_alike  # type: ignore[method-assign]
        dialect.__hash__ = _hash  # type: ignore[method-assign]
    Engine._compiled_cache = property(_shared, _keep)  # type: ignore[assignment]


def _shared(_engine: Engine) -> LRUCache[Any, Any]:
    return _compiled


def _keep(_engine: Engine, _own: object) -> None:
    """Stand for an engine that is given a cache of its own."""


def _is_alike(self: object, other: object) -> bool:
    return type(self) is type(other)


def _hash(self: object) -> int:
    return hash(type(self))
