"""Whether a value has a type.

Types count as at run time: a ``NewType`` counts as its base type. The elements of lists, tuples, sets, dicts
and the like are checked; the parameters of other generic classes leave no trace in their instances. An int
is a float, as for type checkers.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast, get_args, get_origin

from pydantic import BaseModel
from typing_extensions import is_protocol, is_typeddict

from agentic.core.graph.codec.annotations import (
    fields_of,
    holds_elements,
    members,
    remembered,
    required_of,
    shape,
)
from agentic.core.graph.codec.typing_rules import with_promoted

CheckPart = Callable[[Any], bool]
"""Checks the parts of a value whose class fits."""

_CLASS_DECIDES = frozenset(
    {type.__instancecheck__, ABCMeta.__instancecheck__, type(BaseModel).__instancecheck__}
)


@dataclass(frozen=True, slots=True)
class TypeCheck:
    """A check of a value's type: by its class, and, if that is not enough, by a look at the value."""

    classes: tuple[type, ...]
    look: CheckPart | None = None


def check_of(part: object) -> TypeCheck:
    """Return the check for a plain annotation that is not a union."""
    if get_origin(part) is Literal:
        values = get_args(part)
        return TypeCheck(tuple({type(value) for value in values}), partial(_is_one_of, values))
    if is_typeddict(part):
        return TypeCheck((dict,), partial(_has_fields, cast(type, part)))
    origin, args = shape(part)
    if origin is None:
        return TypeCheck(())
    if part is not origin:
        return TypeCheck(with_promoted(origin), _look_inside(origin, args))
    if is_protocol(origin) or type(origin).__instancecheck__ not in _CLASS_DECIDES:
        return TypeCheck((object,), partial(_is_instance, origin))
    return TypeCheck(with_promoted(origin))


@remembered
def checks_of(annotation: object) -> tuple[TypeCheck, ...]:
    """Return the checks for the parts of an annotation; a value need pass only one."""
    return tuple(map(check_of, members(annotation)))


def matches(annotation: object, value: object) -> bool:
    """Whether ``value`` has the type ``annotation``, including elements of list, tuple, set and dict."""
    return all_match(annotation, (value,))


def all_match(annotation: object, values: Collection[object]) -> bool:
    """Whether all ``values`` have the type ``annotation``; checks each class only once if possible."""
    checks = checks_of(annotation)
    for kind in set(map(type, values)):
        looks = [check.look for check in checks if issubclass(kind, check.classes)]
        if None in looks:
            continue
        if not all(_passes(looks, value) for value in values if type(value) is kind):
            return False
    return True


def _passes(looks: Collection[CheckPart | None], value: object) -> bool:
    return any(look is None or look(value) for look in looks)


def _look_inside(origin: type, args: tuple[object, ...]) -> CheckPart | None:
    if origin is tuple:
        return partial(_is_tuple, args)
    if origin is type:
        return partial(_is_class, args[0])
    if not holds_elements(origin):
        return None
    if len(args) == 2 and issubclass(origin, Mapping):
        return partial(_is_mapping, *args)
    return partial(_is_collection, args[0]) if len(args) == 1 else None


def _is_one_of(known: tuple[object, ...], value: object) -> bool:
    return any(type(value) is type(one) and value == one for one in known)


def _is_instance(cls: type, value: object) -> bool:
    return isinstance(value, cls)


def _is_class(annotation: object, value: type) -> bool:
    return any(issubclass(value, check.classes) for check in checks_of(annotation))


def _is_tuple(args: tuple[object, ...], value: tuple[object, ...]) -> bool:
    if len(args) == 2 and args[1] is Ellipsis:
        return all_match(args[0], value)
    return len(value) == len(args) and all(map(matches, args, value))


def _is_mapping(keys: object, values: object, value: Mapping[object, object]) -> bool:
    return all_match(keys, value.keys()) and all_match(values, value.values())


def _is_collection(elements: object, value: object) -> bool:
    if isinstance(value, (str, bytes)):
        value = value[:1]  # one character is enough
    # An iterator must not be used up here.
    return not isinstance(value, Collection) or all_match(elements, value)


def _has_fields(cls: type, value: Mapping[str, object]) -> bool:
    return required_of(cls) <= value.keys() and all(
        matches(annotation, value[key]) for key, annotation in fields_of(cls).items() if key in value
    )
