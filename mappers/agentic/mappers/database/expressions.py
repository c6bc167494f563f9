"""Expressions that SQLAlchemy lacks: a list as one value, and the position of a text in another."""

from __future__ import annotations

from sqlalchemy import Integer, String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class OneOf(FunctionElement[str]):
    """The texts of a JSON list given as one value, as SQL for the right side of IN."""

    type = String()
    inherit_cache = True


@compiles(OneOf, "sqlite")
def _one_of_sqlite(element: OneOf, compiler: SQLCompiler, **kw: object) -> str:
    keys = compiler.process(element.clauses, **kw)
    return f"(SELECT value FROM json_each({keys}))"  # noqa: S608 - a bind parameter


@compiles(OneOf)
def _one_of(element: OneOf, compiler: SQLCompiler, **kw: object) -> str:
    return f"(SELECT json_array_elements_text(CAST({compiler.process(element.clauses, **kw)} AS json)))"


class IndexOf(FunctionElement[int]):
    """Position of the second text in the first, from 1; 0 if it is absent."""

    type = Integer()
    inherit_cache = True


@compiles(IndexOf, "sqlite")
def _index_of_sqlite(element: IndexOf, compiler: SQLCompiler, **kw: object) -> str:
    return f"instr({compiler.process(element.clauses, **kw)})"


@compiles(IndexOf)
def _index_of(element: IndexOf, compiler: SQLCompiler, **kw: object) -> str:
    return f"strpos({compiler.process(element.clauses, **kw)})"
