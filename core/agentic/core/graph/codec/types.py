"""The types that an annotation leads to: types a codec must know, and types that can never be stored."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, UnionType
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from typing_extensions import is_protocol, is_typeddict

from agentic.core.graph.codec.builtins import BUILT_IN
from agentic.core.graph.codec.plans import RefusalError, stored_name
from agentic.core.graph.codec.records import plan_of

_BUILT_IN = frozenset(plan.cls for plan in BUILT_IN)
_BASES = frozenset({BaseModel, Enum})
# Up to Python 3.12 threading.Lock is a function, but annotations use it anyway.
_NAMED = (type, BuiltinFunctionType, FunctionType)


def collect_types(annotations: Iterable[object]) -> set[type]:
    """Return every dataclass, pydantic model, enum and NamedTuple that the annotations lead to.

    Unions, generics, aliases, Literals of enum members and the fields of all types found are followed;
    subclasses are not. A forward reference that cannot be resolved is skipped.
    """
    return {node for node in _walk(annotations) if isinstance(node, type) and _is_record(node)}


def why_never_stored(annotation: object) -> RefusalError | None:
    """Return why no value of a type can be stored, as far as that is certain; else None.

    ``Any``, protocols and abstract classes are not refused, nor a class with a subclass whose values can be
    stored, nor optional parts: items of a list, fields with a default, members of a union.
    """
    try:
        return _why_never(annotation, ())
    except Exception:  # a class can do anything when it is looked at
        return None


def _is_record(cls: type) -> bool:
    if issubclass(cls, tuple):
        return hasattr(cls, "_fields")
    return cls not in _BASES and (issubclass(cls, (Enum, BaseModel)) or dataclasses.is_dataclass(cls))


def _why_never(node: object, around: tuple[object, ...]) -> RefusalError | None:
    if any(node is one for one in around):
        return None  # it is already reported, or depends on nothing else
    around = (*around, node)
    origin, args = get_origin(node), get_args(node)
    if origin in {Union, UnionType}:
        members = [_why_never(member, around) for member in args]
        return None if None in members else members[0]
    if origin is tuple:
        parts = () if Ellipsis in args else args
        return next((why for part in parts if (why := _why_never(part, around))), None)
    if origin is Annotated or isinstance(node, NewType) or type(node).__name__ == "TypeAliasType":
        return next((why for inner in _inside(node) if (why := _why_never(inner, around))), None)
    cls = origin or node
    return _why_not_class(cls, around) if isinstance(cls, _NAMED) else None


def _why_not_class(
    cls: type | BuiltinFunctionType | FunctionType, around: tuple[object, ...]
) -> RefusalError | None:
    if not isinstance(cls, type):
        return RefusalError("it is not a data type; use a dataclass or a pydantic model", stored_name(cls))
    if _is_open(cls):
        return None
    try:
        plan_of(cls)
    except RefusalError as refusal:
        why: RefusalError | None = RefusalError(refusal.reason, stored_name(cls))
    else:
        why = next((odd for name in _fields(cls) if (odd := _why_not_field(cls, name, around))), None)
    heirs: Sequence[type] = () if why is None else type.__subclasses__(cls)
    return None if any(_why_never(heir, around) is None for heir in heirs) else why


def _is_open(cls: type) -> bool:
    """Whether values of other classes can be meant."""
    if cls is Any or is_typeddict(cls) or is_protocol(cls) or inspect.isabstract(cls):
        return True
    # A built-in type itself, or a base of it: Sequence, Hashable, object.
    return any(issubclass(known, cls) for known in _BUILT_IN | _BASES)


def _fields(cls: type) -> Collection[str]:
    if issubclass(cls, BaseModel):
        return cls.model_fields.keys()
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    return getattr(cls, "_fields", ())


def _why_not_field(cls: type, name: str, around: tuple[object, ...]) -> RefusalError | None:
    """Return why a field can never be stored: neither a given value nor a default."""
    annotation: object
    if issubclass(cls, BaseModel):
        annotation = cls.model_fields[name].annotation
    else:
        annotation = next(iter(_hints(cls, {name})), None)
    why = None if annotation is None else _why_never(annotation, around)
    if why is None or any(_why_never(kind, around) is None for kind in _default_kinds(cls, name)):
        return None
    why.steps.append(f".{name}")
    return why


def _default_kinds(cls: type, name: str) -> Iterator[object]:
    """Yield the type of a field's default value; Any if only a function knows it."""
    factory: object = None
    if issubclass(cls, BaseModel):
        default, factory = cls.model_fields[name].default, cls.model_fields[name].default_factory
    elif dataclasses.is_dataclass(cls):
        field = cls.__dataclass_fields__[name]
        default, factory = field.default, field.default_factory
    else:
        default = getattr(cls, "_field_defaults", {}).get(name, dataclasses.MISSING)
    if factory is not None and factory is not dataclasses.MISSING:
        yield factory if isinstance(factory, (type, BuiltinFunctionType)) else Any
    elif default is not dataclasses.MISSING and default is not PydanticUndefined:
        yield type(default)


def _walk(annotations: Iterable[object]) -> Iterator[object]:
    """Yield the annotations and all that is inside them, each once."""
    seen: dict[int, object] = {}  # by id: not all annotations have a hash; kept, so that ids stay unique
    waiting = list(annotations)
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            yield node
            waiting.extend(_inside(node))


def _inside(node: object) -> Iterable[object]:
    origin = get_origin(node)
    if origin is Annotated:
        return get_args(node)[:1]
    if origin is Literal:
        return [type(value) for value in get_args(node)]
    if origin is UnionType:
        return get_args(node)
    if origin is not None:
        return origin, *get_args(node)
    if isinstance(node, type):
        return () if node in _BASES else _field_types(node)
    return _behind_name(node)


def _behind_name(node: object) -> Iterable[object]:
    if isinstance(node, NewType):
        return (node.__supertype__,)
    if isinstance(node, TypeVar):
        return [_resolved(part, node) for part in (node.__bound__, *node.__constraints__)]
    # By name: up to Python 3.13 typing and typing_extensions each have their own.
    if type(node).__name__ == "TypeAliasType":
        with suppress(NameError):
            return (_resolved(getattr(node, "__value__", None), node),)
    return node if isinstance(node, list) else ()  # the parameters of a Callable


def _field_types(cls: type) -> Iterable[object]:
    if issubclass(cls, BaseModel):
        cls.model_rebuild(raise_errors=False)
        fields = [field.annotation for field in cls.model_fields.values()]
        return [*fields, *_hints(cls, {*cls.__private_attributes__, "__pydantic_extra__"})]
    if dataclasses.is_dataclass(cls):
        return _hints(cls, {field.name for field in dataclasses.fields(cls)})
    if is_typeddict(cls):
        return _hints(cls, cls.__annotations__.keys())
    return _hints(cls, getattr(cls, "_fields", ())) if issubclass(cls, tuple) else ()


def _hints(cls: type, wanted: Collection[str]) -> Iterable[object]:
    """Return the annotations of these attributes of a class and its bases."""
    if any(base.__module__ == "__main__" for base in cls.__mro__):
        return _resolved_hints(cls, wanted)  # in a notebook a name may get another class at any time
    try:
        return _kept_hints(cls, frozenset(wanted))
    except _UnresolvedError as exc:
        return exc.found


class _UnresolvedError(Exception):
    """A name in an annotation has no value yet, so that the next look may find more."""

    def __init__(self, found: Sequence[object]) -> None:
        super().__init__(found)
        self.found = found


@lru_cache(maxsize=1024)
def _kept_hints(cls: type, wanted: frozenset[str]) -> Sequence[object]:
    found = _resolved_hints(cls, wanted)
    if any(annotation is None for annotation in found):
        raise _UnresolvedError(found)
    return found


def _resolved_hints(cls: type, wanted: Collection[str]) -> Sequence[object]:
    found: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        for name, annotation in inspect.get_annotations(base).items():
            if name in wanted:
                found[name] = _resolved(annotation, base)
    return tuple(found.values())


def _resolved(annotation: object, owner: object) -> object:
    """Return the annotation with forward references resolved as ``owner`` sees them; None if that fails."""
    module = sys.modules.get(getattr(owner, "__module__", None) or "")
    around = {**(vars(owner) if isinstance(owner, type) else {}), **(vars(module) if module else {})}
    holder = type("holder", (), {"__annotations__": {"held": annotation}})
    try:
        return get_type_hints(holder, around, {getattr(owner, "__name__", ""): owner})["held"]
    except Exception:  # evaluating may raise anything
        return None
