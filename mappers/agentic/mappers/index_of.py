"""Where a text is found in another."""

from __future__ import annotations

from sqlalchemy import Integer
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class IndexOf(FunctionElement[int]):
    """Where in the first text the second one is, from 1; 0 if it is not there."""

    type = Integer()
    inherit_cache = True


@compiles(IndexOf, "sqlite")
def _index_of_sqlite(element: IndexOf, compiler: SQLCompiler, **kw: object) -> str:
    return f"instr({compiler.process(element.clauses, **kw)})"


@compiles(IndexOf)
def _index_of(element: IndexOf, compiler: SQLCompiler, **kw: object) -> str:
    return f"strpos({compiler.process(element.clauses, **kw)})"
