"""What the annotations of a function name, also where they are strings and name local classes."""

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
    """Return a callable object's ``__call__``; functions, methods and partials as they are."""
    if isinstance(function, (FunctionType, MethodType, BuiltinFunctionType, functools.partial)):
        return function
    method: Callable[..., object] = cast(Any, function).__call__
    return method


def enclosing_names(function: Callable[..., object]) -> dict[str, object]:
    """Return the local names that annotations of ``function`` use, as they stand around it now.

    With ``from __future__ import annotations`` a class that is local to a function is no more than a name in
    a string; the frames that the function was written in know it while they run.
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
    """Return what an annotation of ``function`` means.

    Args:
        function: The names of its module are known.
        annotation: As it is written.
        names: Local names; they hide those of the module.

    Raises:
        NameError: It names something unknown.
        SyntaxError: It is a string that is no expression.
    """
    inner = _innermost(function)
    known = {} if inner is None else inner.__globals__
    found = annotation
    if isinstance(annotation, str):
        # Nearly every one is the name of a class; evaluating it would cost five times as much.
        found = names.get(annotation, known.get(annotation, vars(builtins).get(annotation)))
    return found if isinstance(found, type) else evaluate(annotation, known, names)


def _innermost(function: Callable[..., object]) -> FunctionType | None:
    """Return the function that a method, a partial or a decorated one comes down to."""
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
