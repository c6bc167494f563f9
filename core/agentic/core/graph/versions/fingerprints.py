"""Fingerprints of functions and objects: short texts that change when the behaviour changes.

A fingerprint is the same in every process and on every machine: it contains no address, no hash seed and no
line number. Values without such a fingerprint, such as an open connection in a closure, count by their type.
Functions that a function calls by their global name are not followed.
"""

from __future__ import annotations

import dis
import inspect
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import cached_property, partial
from pathlib import PurePath
from re import Pattern
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.workflow import digest
from agentic.core.graph.model.policies import RetryPolicy
from agentic.core.graph.versions.source_trees import source_tree
from agentic.core.types import JSONValue

_ATOMS = frozenset(
    {type(None), bool, int, float, complex, str, bytes, date, datetime, time, timedelta, Decimal, UUID}
)
_ENGINE = "agentic.core.graph."
_FOUNDATIONS = frozenset({"abc", "builtins", "typing", "typing_extensions"})
_OF_SHAPE = frozenset({"id", "kind"})
_OF_PLACE = frozenset({"queue"})
_WHERE = frozenset({"queue"})
_DERIVED = frozenset({"_dispatch", "_is_async", "_returns", "_takes_ctx", "workflow"})
_OPERATORS = frozenset({"BINARY_OP", "CONTAINS_OP", "IS_OP"})
_MAX_DEPTH = 16

_Around = tuple[int, ...]  # ids of the values around a value
_Describe = Callable[[Any, _Around], JSONValue]


def fingerprint(value: object) -> str:
    """Return a fingerprint of a function, of an executor with its class and configuration, or of a value."""
    return digest(_describe(value, ()))


def _describe(value: object, around: _Around) -> JSONValue:
    kind = type(value)
    if kind in _ATOMS:
        return [kind.__name__, repr(value)]
    if id(value) in around:
        return ["within itself", len(around) - around.index(id(value))]
    if len(around) < _MAX_DEPTH:
        within = (*around, id(value))
        for known, describe in _DESCRIBERS:
            if isinstance(value, known):
                return describe(value, within)
        if is_dataclass(value) and not callable(value):
            pairs = [(field.name, getattr(value, field.name, None)) for field in fields(value)]
            return [kind.__qualname__, _pairs(pairs, within)]
        if callable(value):
            return _object(value, within)
    return ["a", kind.__qualname__]


def _function(function: FunctionType, around: _Around) -> JSONValue:
    return [
        "function",
        source_tree(function) or _instructions(function.__code__, around),
        _describe(function.__defaults__, around),
        _describe(function.__kwdefaults__, around),
        _pairs(_closure(function), around),
    ]


def _closure(function: FunctionType) -> Iterator[tuple[str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # a variable that has no value yet
            yield name, cell.cell_contents


def _instructions(code: CodeType, around: _Around) -> JSONValue:
    """Return the names, constants and comparisons of a function without source; all else varies by Python."""
    found: list[JSONValue] = [list(code.co_varnames), list(code.co_freevars)]
    for step in dis.get_instructions(code):
        if isinstance(step.argval, CodeType):
            found.append(_instructions(step.argval, around))
        elif step.opcode in dis.hasconst or step.opname == "LOAD_SMALL_INT":
            found.append(_describe(step.argval, around))
        elif step.opcode in dis.hasname or step.opcode in dis.hascompare:
            found.append(str(step.argval))
        elif step.opname in _OPERATORS:
            found.append(f"{step.opname} {step.argrepr or step.argval}")
    return found


def _method(method: MethodType, around: _Around) -> JSONValue:
    owner = method.__self__
    held = _class_name(owner, around) if isinstance(owner, type) else _object(owner, around)
    return ["method", _describe(method.__func__, around), held]


def _partial(call: partial[object], around: _Around) -> JSONValue:
    return ["partial", *(_describe(part, around) for part in (call.func, call.args, call.keywords))]


def _builtin(function: BuiltinFunctionType, around: _Around) -> JSONValue:
    owner = function.__self__
    held = None if owner is None or isinstance(owner, ModuleType) else _describe(owner, around)
    return ["built-in", function.__module__, function.__qualname__, held]


def _class_name(cls: type, _: _Around) -> JSONValue:
    return ["class", cls.__qualname__]


def _object(value: object, around: _Around) -> JSONValue:
    """Return the content of an object: the methods of its class and bases, and its own attributes."""
    return [type(value).__qualname__, _class_members(type(value), around), _pairs(_attributes(value), around)]


def _class_members(cls: type, around: _Around) -> JSONValue:
    return [
        [base.__qualname__, _pairs(_members(base), around)]
        for base in cls.__mro__
        if base.__module__ not in _FOUNDATIONS and not base.__module__.startswith(_ENGINE)
    ]


def _members(cls: type) -> Iterator[tuple[str, object]]:
    for name, member in vars(cls).copy().items():  # another thread may give the class more at its first use
        for part, inner in enumerate(_functions_in(member)):
            yield f"{name}.{part}", inner
        is_own = name.startswith("__") or _is_engine_part(member)
        if not is_own and not inspect.isroutine(member) and not inspect.isdatadescriptor(member):
            yield name, member


def _functions_in(member: object) -> Iterable[object]:
    match member:
        case FunctionType():
            return (member,)
        case staticmethod() | classmethod():
            return (member.__func__,)
        case property():
            return (member.fget, member.fset, member.fdel)
        case cached_property():
            return (member.func,)
        case _:
            return ()


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    """Yield the configuration of an object, without its caches and without unset attributes."""
    names = {*getattr(value, "__dict__", ()), *_slots(type(value))}
    skipped = _OF_SHAPE | _OF_PLACE | _DERIVED if isinstance(value, Executor) else frozenset[str]()
    for name in names - skipped:
        held = inspect.getattr_static(type(value), name, None)
        content = None if isinstance(held, cached_property) else getattr(value, name, None)
        if content is not None and not _is_engine_part(content):
            yield name, content


def _slots(cls: type) -> Iterator[str]:
    for base in cls.__mro__:
        slots = vars(base).get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


def _is_engine_part(value: object) -> bool:
    if isinstance(value, (Executor, RetryPolicy)):
        return False
    return type(value).__module__.startswith(_ENGINE)


def _pairs(pairs: Iterable[tuple[str, object]], around: _Around) -> JSONValue:
    return [[name, _describe(value, around)] for name, value in sorted(pairs, key=operator.itemgetter(0))]


def _sorted(values: Iterable[object], around: _Around) -> list[JSONValue]:
    return sorted((_describe(value, around) for value in values), key=json.dumps)


def _model(model: BaseModel, around: _Around) -> JSONValue:
    names = type(model).model_fields
    return [type(model).__qualname__, _pairs(((name, getattr(model, name)) for name in names), around)]


_DESCRIBERS: tuple[tuple[type | tuple[type, ...], _Describe], ...] = (
    (Enum, lambda value, _: [type(value).__qualname__, value.name]),
    ((list, tuple), lambda value, around: ["list", *(_describe(part, around) for part in value)]),
    ((set, frozenset), lambda value, around: ["set", *_sorted(value, around)]),
    (Mapping, lambda value, around: ["mapping", *_sorted(value.items(), around)]),
    (PurePath, lambda value, _: ["path", value.as_posix()]),
    (Pattern, lambda value, around: ["pattern", _describe(value.pattern, around), value.flags]),
    (FunctionType, _function),
    (MethodType, _method),
    (partial, _partial),
    (BuiltinFunctionType, _builtin),
    (
        (operator.attrgetter, operator.itemgetter, operator.methodcaller),
        lambda value, around: [type(value).__name__, _describe(value.__reduce__(), around)],
    ),
    (ModuleType, lambda value, _: ["module", value.__name__]),
    (type, _class_name),
    (Executor, _object),
    (BaseModel, _model),
)
