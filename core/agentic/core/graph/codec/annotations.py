"""The meaning of an annotation without its names, notes and aliases."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache, wraps
from operator import attrgetter
from types import NoneType, SimpleNamespace
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    NotRequired,
    Required,
    TypeVar,
    TypeVarTuple,
    Union,
    cast,
    get_args,
    get_origin,
)

import typing_extensions
from typing_extensions import is_protocol, is_typeddict

Words = TypeVarTuple("Words")
ResultT = TypeVar("ResultT")

_UNIONS = (Union, types.UnionType)
# From 3.12 to 3.13 `type X = ...` makes a class of its own, which typing_extensions does not share.
_ALIASES = tuple({typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", NoneType)} - {NoneType})
_CONTAINERS = frozenset({"builtins", "collections", "collections.abc"})
_IMPLIED: Mapping[object, tuple[object, ...]] = {str: (str,), bytes: (int,)}
NEVER = (typing.Never, typing.NoReturn, typing_extensions.Never, typing_extensions.NoReturn)


def plain(annotation: object) -> object:
    """Return the annotation without ``Annotated``, ``NewType`` and type aliases; Any becomes ``object``."""
    while (inner := _inside(annotation)) is not annotation:
        annotation = inner
    return annotation


def members(annotation: object) -> tuple[object, ...]:
    """Return the plain parts of a union, each once, or the plain annotation alone."""
    if isinstance(annotation, type) and annotation is not Any:
        return (annotation,)  # nearly every annotation is a class
    bare = plain(annotation)
    if get_origin(bare) in _UNIONS:
        return unique(part for arg in get_args(bare) for part in members(arg))
    return (bare,)


def unique(annotations: Iterable[object]) -> tuple[object, ...]:
    """Return each annotation once. Compared, not hashed: notes inside ``Annotated`` may have no hash."""
    found: list[object] = []
    for annotation in annotations:
        if annotation not in found:
            found.append(annotation)
    return tuple(found)


def remembered(decide: Callable[[*Words], ResultT]) -> Callable[[*Words], ResultT]:
    """Cache the results of a function of annotations, if these have a hash."""
    kept = lru_cache(maxsize=4096)(decide)

    @wraps(decide)
    def look_up(*args: *Words) -> ResultT:
        try:
            return kept(*args)
        except TypeError:
            return decide(*args)

    return look_up


def shape(part: object) -> tuple[type | None, tuple[object, ...]]:
    """Return the class of a plain annotation and its parameters; no class if it has none.

    A string counts as a sequence of strings, bytes as a sequence of ints, a ``TypedDict`` as a dict.
    """
    origin = get_origin(part)
    if isinstance(origin, type):
        return origin, get_args(part)
    if not isinstance(part, type):
        return None, ()
    if is_typeddict(part):
        return dict, (str, object)
    return part, _IMPLIED.get(part, ())


def holds_elements(origin: type) -> bool:
    """Whether the parameters of a generic class are the types of its elements."""
    return origin.__module__ in _CONTAINERS and (origin is type or issubclass(origin, Iterable))


def evaluate(annotation: object, globalns: dict[str, Any], localns: Mapping[str, object]) -> object:
    """Return the annotation with the strings in it resolved.

    Raises:
        NameError: A name in it is unknown.
        SyntaxError: A string in it is not an expression.
    """
    holder = SimpleNamespace(__annotations__={"it": annotation})
    return typing_extensions.get_type_hints(holder, globalns, localns, include_extras=True)["it"]


@lru_cache
def fields_of(typed_dict: type) -> Mapping[str, object]:
    """Return the annotations of a ``TypedDict``'s keys."""
    return typing_extensions.get_type_hints(typed_dict)


@lru_cache
def required_of(typed_dict: type) -> frozenset[str]:
    """Return the required keys of a ``TypedDict``; it does not know them if its annotations are strings."""
    said: Collection[str] = getattr(typed_dict, "__required_keys__", ())
    hints = typing_extensions.get_type_hints(typed_dict, include_extras=True)
    origins: dict[str, object] = {key: get_origin(hint) for key, hint in hints.items()}
    return frozenset(
        key
        for key, origin in origins.items()
        if origin is Required or (origin is not NotRequired and key in said)
    )


@remembered
def why_uncheckable(annotation: object) -> str | None:
    """Return why no value can be checked against ``annotation``, or None if it can be."""
    return _why_uncheckable(annotation, ())


def type_name(annotation: object, name_of: Callable[[type | NewType], str] = attrgetter("__name__")) -> str:
    """Return the annotation as a person would write it: ``list[Order | None]``, for an ``Order`` anywhere.

    Args:
        annotation: A type, or an annotation for one.
        name_of: Names the classes in it.
    """

    def named(part: object) -> str:
        return type_name(part, name_of)

    if isinstance(annotation, list):  # the parameters of a Callable
        return f"[{', '.join(map(named, annotation))}]"
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in _UNIONS:
        return " | ".join(map(named, args))
    if origin is Annotated:
        return named(args[0])
    if isinstance(origin, type) and args:
        return f"{name_of(origin)}[{', '.join(map(named, args))}]"
    if isinstance(annotation, (type, NewType)) and origin is None:
        return "None" if annotation is NoneType else name_of(annotation)
    return "..." if annotation is Ellipsis else str(annotation).removeprefix("typing.")


def _inside(annotation: object) -> object:
    if annotation is Any:
        return object
    if annotation is None:
        return NoneType
    if isinstance(annotation, NewType):
        return annotation.__supertype__
    if isinstance(annotation, _ALIASES):
        return _alias_value(annotation)
    return _inside_generic(annotation, get_origin(annotation))


def _inside_generic(annotation: object, origin: object) -> object:
    if origin is Annotated:
        return get_args(annotation)[0]
    if isinstance(origin, _ALIASES):
        generic: Any = _alias_value(origin)
        return generic[get_args(annotation)]
    if origin is not None and (is_typeddict(origin) or not hasattr(annotation, "__args__")):
        return origin  # the parameters of a TypedDict are dropped; typing.List is list
    return annotation


@lru_cache
def _alias_value(alias: typing_extensions.TypeAliasType) -> object:
    return evaluate(alias.__value__, vars(sys.modules[alias.__module__ or ""]), {alias.__name__: alias})


def _why_uncheckable(annotation: object, seen: tuple[object, ...]) -> str | None:
    for part in members(annotation):
        if part in seen:  # an alias that names itself
            continue
        if (reason := _why_not(part)) is not None:
            return reason
        for inner in _looked_into(part):
            if (reason := _why_uncheckable(inner, (*seen, part))) is not None:
                return reason
    return None


def _looked_into(part: object) -> Iterable[object]:
    """Return the annotations for the checks of values inside a value of type ``part``."""
    if is_typeddict(part):
        return fields_of(cast(type, part)).values()
    origin, args = shape(part)
    if origin is None or not holds_elements(origin):
        return ()
    return [arg for arg in args if arg is not Ellipsis]


def _why_not(part: object) -> str | None:
    cls, _ = shape(part)
    reason: str | None = None
    if isinstance(part, TypeVar):
        reason = f"{part.__name__} is a type variable; give the type it stands for"
    elif part in NEVER:
        reason = "Never has no values; declare the type that is sent"
    elif get_origin(part) is not Literal and (cls is None or getattr(part, "__unpacked__", False)):
        reason = f"{type_name(part)} cannot be checked at run time; use classes, unions or Literal"
    elif cls is not None and is_protocol(cls) and not getattr(cls, "_is_runtime_protocol", False):
        reason = f"the protocol {cls.__name__} is not @runtime_checkable; make it so"
    return reason
