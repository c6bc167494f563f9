"""Which types an annotation leads to: those a codec has to know, and those that can never be stored."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from enum import Enum
from types import BuiltinFunctionType, FunctionType, UnionType
from typing import Annotated, Any, Literal, NewType, TypeVar, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typing_extensions import is_protocol, is_typeddict

from agentic.core.graph.codec_builtins import BUILT_IN
from agentic.core.graph.codec_plans import RefusalError, stored_name
from agentic.core.graph.codec_records import plan_of

_BUILT_IN = frozenset(plan.cls for plan in BUILT_IN)
_BASES = frozenset({BaseModel, Enum})
# Up to Python 3.12 threading.Lock is a function, and annotations name it all the same.
_NAMED = (type, BuiltinFunctionType, FunctionType)


def collect_types(annotations: Iterable[object]) -> set[type]:
    """Return every dataclass, pydantic model, enum and NamedTuple that the annotations lead to.

    Unions, generics, aliases, Literals of enum members and the fields of all types found are followed;
    subclasses are not. A forward reference that cannot be resolved is passed over.
    """
    return {node for node in _walk(annotations) if isinstance(node, type) and _is_record(node)}


def unencodable_parts(annotation: object) -> list[str]:
    """Return the names of all types inside ``annotation`` that can never be stored, sorted.

    ``Any``, ``object``, protocols and abstract classes are not among them: what is sent decides.
    """
    found = (node for node in _walk([annotation]) if isinstance(node, _NAMED))
    return sorted({stored_name(node) for node in found if not _may_be_stored(node)})


def _is_record(cls: type) -> bool:
    if issubclass(cls, tuple):
        return hasattr(cls, "_fields")
    return cls not in _BASES and (issubclass(cls, (Enum, BaseModel)) or dataclasses.is_dataclass(cls))


def _may_be_stored(cls: object) -> bool:
    if not isinstance(cls, type):
        return False
    if cls is Any or is_typeddict(cls) or is_protocol(cls):
        return True
    if any(issubclass(known, cls) for known in _BUILT_IN | _BASES):
        return True  # a built-in type itself, or what it is a kind of: Sequence, Hashable, object
    if inspect.isabstract(cls) and cls.__module__ != "collections.abc":
        return True
    try:
        return bool(plan_of(cls))
    except RefusalError:
        return False


def _walk(annotations: Iterable[object]) -> Iterator[object]:
    """Yield the annotations and all that is inside them, each once."""
    seen: dict[int, object] = {}  # by id, as annotations need not be hashable; kept, so that ids stay theirs
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
    # By name, as typing and typing_extensions have one each up to Python 3.13.
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
    found: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        for name, annotation in inspect.get_annotations(base).items():
            if name in wanted:
                found[name] = _resolved(annotation, base)
    return found.values()


def _resolved(annotation: object, owner: object) -> object:
    """Return the annotation with forward references resolved as ``owner`` sees them; None if that fails."""
    module = sys.modules.get(getattr(owner, "__module__", None) or "")
    around = {**(vars(owner) if isinstance(owner, type) else {}), **(vars(module) if module else {})}
    holder = type("holder", (), {"__annotations__": {"held": annotation}})
    try:
        return get_type_hints(holder, around, {getattr(owner, "__name__", ""): owner})["held"]
    except Exception:  # evaluating may raise anything
        return None
