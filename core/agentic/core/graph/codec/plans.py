"""The plans of the codec: one plan defines how one type is written as JSON, and read back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from types import BuiltinFunctionType, FunctionType
from typing import Any, Protocol, TypeVar

from agentic.core.types import JSONValue

PartT_co = TypeVar("PartT_co", covariant=True)
ContentT = TypeVar("ContentT")

ATOMS = frozenset({str, bool, type(None)})
"""Types whose values are JSON already."""

BIG = 10**600
LEAST = -BIG
"""Integers in this range are JSON numbers; Python can be configured to read none of more than 640 digits."""

_INTS = frozenset({int})
_FLOATS = frozenset({float})

FIELD_STEP = ".{}"
KEY_STEP = "[{!r}]"
"""Shows the name of a field and the key of a dict in a path."""

WIRE_NAME = "__wire_name__"
"""Attribute of a class: the name its values are stored under, independent of its own name and module."""

LEAN = "__stored_lean__"
"""Attribute of a pydantic model: fields that were not set are left out of its stored values.

The defaults of such a model never change: values that were stored before would change with them.
"""

MAIN = "__main__"
"""Module name of a script that was started."""

json_text = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
"""Writes compact JSON in ASCII, so that invalid Unicode survives."""


class RefusalError(Exception):
    """A part of a value cannot be written or read; the codec turns it into one of its public errors."""

    def __init__(self, reason: str, type_name: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.type_name = type_name
        self.steps: list[str] = []

    @property
    def path(self) -> str:
        """Where the part is inside the value: ``.items[3].author``."""
        shown = self.steps[:-9:-1]
        return "".join(shown) + ("..." if len(self.steps) > len(shown) else "")


class Walker(Protocol[PartT_co]):
    """Writes or reads the parts of a value: plans call it for nested values."""

    def part(self, value: object, depth: int) -> PartT_co:
        """Return ``value``, which is ``depth`` levels deep, written or read.

        Raises:
            RefusalError: It cannot be written or read.
        """
        ...


Write = Callable[[Walker[JSONValue], Any, int], JSONValue]
Read = Callable[[Walker[object], dict[str, Any], int], object]


@dataclass(frozen=True, slots=True)
class TypeCodec:
    """How values of one type are written and read.

    Attributes:
        cls: The type. Subclasses have codecs of their own, or none.
        tag: The mark in the JSON.
        write: Turns a value into ``{"$": tag, "v": ...}``.
        read: Turns that into a value; may raise anything for other data.
    """

    cls: type
    tag: str
    write: Write
    read: Read


def walk_items(walker: Walker[Any], values: Iterable[Any], depth: int) -> list[Any]:
    """Return each value, written or read."""
    found: list[Any] = []
    try:
        for value in values:
            kind = type(value)
            if kind in ATOMS or (kind is int and LEAST < value < BIG):
                found.append(value)
            else:
                found.append(walker.part(value, depth))
    except RefusalError as refusal:
        refusal.steps.append(f"[{len(found)}]")
        raise
    return found


def walk_values(
    walker: Walker[Any], pairs: Iterable[tuple[str, Any]], depth: int, step: str = FIELD_STEP
) -> dict[str, Any]:
    """Return the value of each key, written or read; ``step`` is the form of a key in a path."""
    found: dict[str, Any] = {}
    key = ""
    try:
        for key, value in pairs:
            kind = type(value)
            if kind in ATOMS or (kind is int and LEAST < value < BIG):
                found[key] = value
            else:
                found[key] = walker.part(value, depth)
    except RefusalError as refusal:
        refusal.steps.append(step.format(key))
        raise
    return found


def is_plain(values: Collection[Any]) -> bool:
    """Whether many values are all plain JSON: in half the time of a look at each.

    Returns False for some that are, and for few values, because they cost less one by one.
    """
    if len(values) < 10:
        return False
    kinds = set(map(type, values))
    if kinds == _INTS:
        return bool(min(values) > LEAST and max(values) < BIG)
    return kinds <= ATOMS or (kinds == _FLOATS and all(map(isfinite, values)))


def has_plain_keys(value: Mapping[Any, object]) -> bool:
    """Whether ``value`` can be a JSON object that cannot be mistaken for a tagged one."""
    for key in value:  # noqa: SIM110  # all() takes twice as long, and every dict passes here
        if type(key) is not str or ("$" in key and key[0] == "$"):
            return False
    return True


def content(data: dict[str, Any], kind: type[ContentT]) -> ContentT:
    """Return the content of a tagged object.

    Raises:
        RefusalError: Its content is not a ``kind``, or it has more than that.
    """
    held = data.get("v")
    if len(data) != 2 or not isinstance(held, kind):
        raise RefusalError(f"{shown(data['$'])} needs a {kind.__name__} as its 'v', and nothing else")
    return held


def stored_name(cls: type | FunctionType | BuiltinFunctionType) -> str:
    """Return the type's ``__wire_name__``, or else ``module.qualname``; for ``Box[Order]`` the names of both.

    For ``python -m shop.orders``, ``__main__`` becomes ``shop.orders``, as in a process that imports it.
    """
    if (wire_name := getattr(cls, "__dict__", {}).get(WIRE_NAME)) is not None:  # not inherited
        return str(wire_name)
    generic = getattr(cls, "__pydantic_generic_metadata__", None)
    if generic and generic["origin"] is not None:
        arguments = (stored_name(arg) if isinstance(arg, type) else str(arg) for arg in generic["args"])
        return f"{stored_name(generic['origin'])}[{', '.join(arguments)}]"
    return f"{_module_of(cls)}.{cls.__qualname__}"


def _module_of(cls: type | FunctionType | BuiltinFunctionType) -> str:
    name = cls.__module__
    if name not in ("__main__", "__mp_main__"):  # multiprocessing turns the former into the latter
        return name
    main = sys.modules.get(name)
    spec = getattr(main, "__spec__", None)
    # A script has no spec; the spec of a debugger or test runner is not the spec of the code in it.
    is_there = cls.__qualname__.partition(".")[0] in vars(main) if main else False
    return spec.name if spec and is_there else MAIN


def shown(name: object) -> str:
    """Return a name from stored data in a safe form for messages: anyone may have written it."""
    return repr(name[:100]) if isinstance(name, str) else f"a {type(name).__name__}"
