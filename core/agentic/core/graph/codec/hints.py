"""The types in the annotations of a function, also for strings and local classes."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType
from typing import Any, cast

from agentic.core.graph.codec.annotations import evaluate

_WORD = re.compile(r"[^\W\d]\w*")


def as_function(function: Callable[..., object]) -> Callable[..., object]:
    """Return a callable object's ``__call__``; functions, methods and partials unchanged."""
    if isinstance(function, (FunctionType, MethodType, BuiltinFunctionType, functools.partial)):
        return function
    method: Callable[..., object] = cast(Any, function).__call__
    return method


def enclosing_names(function: Callable[..., object]) -> dict[str, object]:
    """Return the local names that annotations of ``function`` use, with their current values.

    With ``from __future__ import annotations`` a class that is local to a function is only a name in a
    string; the frames around the function's definition know it while they run.
    """
    inner = _innermost(function)
    if inner is None or "<locals>" not in inner.__qualname__:
        return {}
    wanted = {word for raw in inner.__annotations__.values() for word in _WORD.findall(str(raw))}
    found: dict[str, object] = {}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals is inner.__globals__ and _is_around(frame.f_code.co_qualname, inner):
            around = frame.f_locals
            found = {name: around[name] for name in wanted & set(around)} | found
        frame = frame.f_back
    return found | _closure(inner)


def read_hint(function: Callable[..., object], annotation: object, names: Mapping[str, object]) -> object:
    """Return the meaning of an annotation of ``function``.

    Args:
        function: The names of its module are known.
        annotation: As written.
        names: Local names; they hide the names of the module.

    Raises:
        NameError: It uses an unknown name.
        SyntaxError: It is a string that is not an expression.
    """
    inner = _innermost(function)
    known = {} if inner is None else inner.__globals__
    found = annotation
    if isinstance(annotation, str):
        # Nearly every annotation is the name of a class; evaluating it would cost five times as much.
        found = names.get(annotation, known.get(annotation, vars(builtins).get(annotation)))
    return found if isinstance(found, type) else evaluate(annotation, known, names)


def _innermost(function: Callable[..., object]) -> FunctionType | None:
    """Return the function inside a method, a partial or a decorated function."""
    found: object = function
    while isinstance(found, (MethodType, functools.partial)):
        found = found.__func__ if isinstance(found, MethodType) else found.func
    found = inspect.unwrap(cast("Callable[..., object]", found))
    return found if isinstance(found, FunctionType) else None


def _is_around(qualname: str, inner: FunctionType) -> bool:
    return inner.__qualname__.startswith(f"{qualname}.")


def _closure(inner: FunctionType) -> dict[str, object]:
    found = {}
    for name, cell in zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not assigned yet
            found[name] = cell.cell_contents
    return found
