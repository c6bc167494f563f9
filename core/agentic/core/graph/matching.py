"""Whether a message fits a handler's annotation, and which of several fits best."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, Literal, NewType, Union, get_args, get_origin

from agentic.core.graph.errors import HandlerError

_UNIONS = (Union, types.UnionType)


def members(annotation: object) -> tuple[object, ...]:
    """Return the parts of a union, or the annotation alone."""
    if get_origin(annotation) in _UNIONS:
        return tuple(part for arg in get_args(annotation) for part in members(arg))
    return (annotation,)


def matches(annotation: object, value: object) -> bool:
    """Whether ``value`` is of type ``annotation``, elements of list, tuple, set and dict included."""
    while isinstance(annotation, NewType):
        annotation = annotation.__supertype__
    if annotation is Any or annotation is object:
        return True
    if annotation is None:
        return value is None
    origin = get_origin(annotation)
    if origin is None:
        return isinstance(value, annotation) if isinstance(annotation, type) else False
    args = get_args(annotation)
    if origin in _UNIONS:
        return any(matches(arg, value) for arg in args)
    if origin is Literal:
        return value in args
    return isinstance(value, origin) and _elements_match(args, value)


def _elements_match(args: tuple[object, ...], value: object) -> bool:
    if isinstance(value, Mapping) and len(args) == 2:
        return all(matches(args[0], k) and matches(args[1], v) for k, v in value.items())
    if isinstance(value, tuple) and not (len(args) == 2 and args[1] is Ellipsis):
        return len(value) == len(args) and all(map(matches, args, value))
    if isinstance(value, str):
        return matches(args[0], "")  # a string is a sequence of strings
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(matches(args[0], element) for element in value)
    return True  # parameters of other generics leave no trace at run time


def specificity(annotation: object) -> int:
    """Return a rank: a subclass ranks above its bases, ``list[T]`` above ``list``, anything above Any."""
    if annotation is Any:
        return -1
    if isinstance(annotation, NewType):
        return specificity(annotation.__supertype__)
    origin = get_origin(annotation)
    if origin is Literal:
        return 1000
    if isinstance(origin, type):
        return len(origin.__mro__) * 2 + 1 + sum(max(specificity(a), 0) for a in get_args(annotation))
    return len(annotation.__mro__) * 2 if isinstance(annotation, type) else 0


def is_decided_by_class(annotation: object) -> bool:
    """Whether two values of one class always match alike."""
    return get_origin(annotation) is None and not isinstance(annotation, NewType)


def check_annotation(annotation: object, where: str) -> None:
    """Refuse what :func:`matches` cannot judge.

    Raises:
        HandlerError: The annotation is no class, union, Literal, Any or parametrised class.
    """
    for part in members(annotation):
        if not _can_be_checked(part):
            raise HandlerError(
                f"{where}: cannot check messages against {part!r}; use classes, unions or Literal"
            )


def _can_be_checked(part: object) -> bool:
    if part is Any or part is None or get_origin(part) is Literal:
        return True
    if isinstance(part, NewType):
        return _can_be_checked(part.__supertype__)
    base = part if isinstance(part, type) else get_origin(part)
    try:
        return isinstance(base, type) and isinstance(isinstance(None, base), bool)
    except TypeError:  # a TypedDict, or a protocol that is not runtime_checkable
        return False


def type_name(annotation: object) -> str:
    """Return how a person would write the annotation."""
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation.__name__
    return str(annotation).replace("typing.", "")
