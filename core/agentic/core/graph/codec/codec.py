"""Values to JSON and back: the one encoder of the engine.

JSON values stay unchanged; everything else becomes ``{"$": tag, "v": ...}``. A tag is a name of this module
(``tuple``, ``datetime``) or the ``module.qualname`` of a type that the workflow declares. Reading never
imports a type by a name in the text: the type is known before, or the text is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import isfinite
from types import MappingProxyType
from typing import Any

from agentic.core.graph.codec.builtins import BUILT_IN, is_url, url_plan
from agentic.core.graph.codec.plans import (
    ATOMS,
    BIG,
    KEY_STEP,
    LEAST,
    MAIN,
    WIRE_NAME,
    Read,
    RefusalError,
    TypeCodec,
    Write,
    has_plain_keys,
    is_plain,
    json_text,
    shown,
    stored_name,
    walk_items,
    walk_values,
)
from agentic.core.graph.codec.records import plan_of
from agentic.core.graph.codec.types import collect_types
from agentic.core.graph.errors import CorruptContentError, UnencodableError
from agentic.core.types import JSONValue

MAX_DEPTH = 100
"""Maximum depth of a value, in containers and records: the same in memory and in stores."""

_MAX_DESCRIBED = 100_000  # parts; objects that refer to each other can have endlessly many paths

_TOO_DEEP = (
    f"it is nested more than {MAX_DEPTH} levels deep, or contains itself; refer to other values by id instead"
)

_ODD_WIRE_NAME = f"its {WIRE_NAME} must be a name with a dot, such as 'shop.Order'"

_WRITES: Mapping[type, Write] = {plan.cls: plan.write for plan in BUILT_IN}
_READS = {plan.tag: plan.read for plan in BUILT_IN}


class Codec:
    """Writes and reads values of the built-in types and of the types a workflow declares.

    If a stored value lacks a field, the field gets its default: so types may get new fields with a default
    while runs are in progress. A type with a ``__wire_name__`` may be renamed and moved.

    Args:
        types: The declared types of the workflow. Types of their fields are found automatically.

    Raises:
        UnencodableError: Two of the types have one name, or a ``__wire_name__`` cannot be one.
    """

    def __init__(self, types: Iterable[type] = ()) -> None:
        found = sorted(collect_types(types), key=stored_name)
        self._names = {stored_name(cls): cls for cls in found}
        for cls in found:
            if self._names[stored_name(cls)] is not cls:
                raise UnencodableError(stored_name(cls), _why_twins(cls, self._names[stored_name(cls)]))
            if not _is_wire_name(vars(cls).get(WIRE_NAME, "a.Name")):
                raise UnencodableError(cls.__qualname__, _ODD_WIRE_NAME)
        self._writer = _Writer(found)
        self._reader = _Reader(found)

    @property
    def names(self) -> Mapping[str, type]:
        """The storable types besides the built-in ones, by their stored names."""
        return MappingProxyType(self._names)

    def encode(self, value: object) -> JSONValue:
        """Return ``value`` as JSON that shares nothing mutable with it.

        Raises:
            UnencodableError: A part of it has a type that is not declared, or cannot be stored at all.
        """
        try:
            return self._writer.part(value, 0)
        except RefusalError as refusal:
            raise UnencodableError(refusal.type_name, refusal.reason, refusal.path) from refusal.__cause__

    def decode(self, data: JSONValue) -> object:
        """Return the value that :meth:`encode` turned into ``data``; pydantic models are validated again.

        Raises:
            CorruptContentError: It is not from :meth:`encode`, or from a codec with other types.
        """
        try:
            return self._reader.part(data, 0)
        except RefusalError as refusal:
            raise CorruptContentError(refusal.reason, refusal.path) from refusal.__cause__


def describe(value: object) -> JSONValue:
    """Return ``value`` as JSON for people: like :meth:`Codec.encode`, but for any value.

    Types need not be declared. ``{"$": "opaque", "v": "module.Type"}`` stands for each part that cannot be
    stored. The text of such a part is not used, because it may hold a secret.
    """
    try:
        return _DESCRIBER.part(value, 0)
    except Exception:  # a class can do anything when it is looked at
        return _PatientDescriber().part(value, 0)


def describe_fields(cls: type, fields: Mapping[str, JSONValue]) -> JSONValue:
    """Return the description of a dataclass ``cls``, like :func:`describe`, from its described fields."""
    return {"$": stored_name(cls), "v": dict(fields)}


def to_text(data: JSONValue) -> str:
    """Return ``data`` as compact JSON in ASCII, so that text with invalid Unicode survives it."""
    return json_text(data)


def from_text(text: str) -> JSONValue:
    """Return the data that :func:`to_text` turned into ``text``.

    Raises:
        CorruptContentError: It is not JSON, or JSON that :func:`to_text` never writes.
    """
    try:
        data: JSONValue = _JSON.decode(text)
    except RefusalError as refusal:
        raise CorruptContentError(refusal.reason) from None
    except RecursionError:
        raise CorruptContentError("it is nested too deeply") from None
    except ValueError as exc:  # JSONDecodeError, and integers with too many digits
        raise CorruptContentError(f"it is not JSON ({exc})") from exc
    return data


def _object(pairs: list[tuple[str, JSONValue]]) -> dict[str, JSONValue]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise RefusalError("an object has a duplicate key")
    return made


def _refuse_constant(name: str) -> None:
    raise RefusalError(f"{name} is not JSON")


_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)


class _Writer:
    """Writes values of built-in types and of ``types``."""

    def __init__(self, types: Iterable[type] = ()) -> None:
        self._writes = dict(_WRITES)
        for cls in types:
            with suppress(RefusalError):  # the reason is reported at the first value of the type
                self._writes[cls] = plan_of(cls).write

    def part(self, value: object, depth: int) -> JSONValue:
        """Return ``value`` as JSON."""
        if type(value) is str or (type(value) is int and LEAST < value < BIG):
            return value
        try:
            write = self._writes.get(type(value)) or self._write_of(type(value))
            if depth > MAX_DEPTH:
                raise RefusalError(_TOO_DEEP, stored_name(type(value)))
            return write(self, value, depth)
        except RefusalError:
            raise
        except Exception as exc:
            raise RefusalError(f"reading it raised {type(exc).__name__}", stored_name(type(value))) from exc

    def _write_of(self, cls: type) -> Write:
        if is_url(cls):
            return plan_of(cls).write
        raise RefusalError(_undeclared(plan_of(cls)), stored_name(cls))


class _Describer(_Writer):
    """Writes values of any types, declared or not."""

    def _write_of(self, cls: type) -> Write:
        return plan_of(cls).write


class _PatientDescriber(_Describer):
    """Writes the writable parts of values that cannot be written as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self._open: set[int] = set()
        self._left = _MAX_DESCRIBED

    def part(self, value: object, depth: int) -> JSONValue:
        """Return ``value`` as JSON, or a mark in its place: also for a value that contains itself."""
        mark = id(value)
        self._left -= 1
        if mark in self._open or self._left < 0:
            return _opaque(type(value))
        self._open.add(mark)
        try:
            return super().part(value, depth)
        except Exception:  # a value can raise anything when it is read
            return _opaque(type(value))
        finally:
            self._open.discard(mark)


_DESCRIBER = _Describer()


class _Reader:
    """Reads values of built-in types and of ``types``."""

    def __init__(self, types: Iterable[type]) -> None:
        self._reads = dict(_READS)
        for cls in types:
            with suppress(RefusalError):
                self._reads[stored_name(cls)] = plan_of(cls).read

    def part(self, value: object, depth: int) -> object:
        """Return the value that the JSON ``value`` was made from."""
        kind = type(value)
        if kind in ATOMS or kind is int or (isinstance(value, float) and isfinite(value)):
            return value
        if depth > MAX_DEPTH:
            raise RefusalError(_TOO_DEEP)
        if isinstance(value, list):
            return value.copy() if is_plain(value) else walk_items(self, value, depth + 1)
        if isinstance(value, dict):
            return self._object(value, depth)
        raise RefusalError(f"this {kind.__name__} is not JSON")

    def _object(self, data: dict[str, Any], depth: int) -> object:
        if has_plain_keys(data):
            return walk_values(self, data.items(), depth + 1, KEY_STEP)
        tag = data.get("$")
        read = self._read_of(tag) if isinstance(tag, str) else None
        if read is None:
            raise RefusalError(_unknown(tag, self._reads))
        try:
            return read(self, data, depth)
        except RefusalError:
            raise
        except Exception as exc:
            raise RefusalError(f"it cannot be read as {shown(tag)}: {type(exc).__name__}") from exc

    def _read_of(self, tag: str) -> Read | None:
        read = self._reads.get(tag)
        if read is None and (plan := url_plan(tag)):
            read = self._reads[tag] = plan.read
        return read


def _opaque(cls: type) -> JSONValue:
    try:
        return {"$": "opaque", "v": stored_name(cls)}
    except Exception:  # a metaclass can do anything
        return {"$": "opaque", "v": "?"}


def _undeclared(plan: TypeCodec) -> str:
    return (
        f"the workflow does not declare it; name {plan.cls.__name__} in an annotation of a handler "
        "(subclasses need their own annotation)"
    )


def _why_twins(one: type, other: type) -> str:
    if one.__module__ == other.__module__ or WIRE_NAME in {*vars(one), *vars(other)}:
        return "another declared type has this name; rename one"
    return (
        "its module was both started and imported, so it exists twice; define it in one that is only imported"
    )


def _is_wire_name(name: object) -> bool:
    if not isinstance(name, str):
        return False
    parts = name.split(".")
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


def _unknown(tag: object, known: Iterable[str]) -> str:
    if tag == "opaque":
        return "only a description was stored, because the value cannot be stored"
    if not isinstance(tag, str) or "." not in tag:
        return f"its tag {shown(tag)} is not a known type"
    ending = tag[tag.rindex(".") :]
    twin = next((name for name in known if name.endswith(ending)), "")
    if not any(name.startswith(f"{MAIN}.") for name in (tag, twin)):
        return f"the workflow declares no type {shown(tag)}; was it renamed, moved or removed?"
    return (
        f"the workflow declares no type {shown(tag)}{f', only {shown(twin)}' if twin else ''}: types of a "
        "script have other names when the script is imported; define it in a module that every process "
        "imports"
    )
