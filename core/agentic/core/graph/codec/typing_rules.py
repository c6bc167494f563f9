"""Relations of types: which types fit on an edge, and which handler is more specific."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args, get_origin

from typing_extensions import get_protocol_members, is_protocol, is_typeddict

from agentic.core.graph.codec.annotations import (
    fields_of,
    holds_elements,
    members,
    remembered,
    required_of,
    shape,
)

# PEP 484, "The numeric tower": type checkers accept an int as a float.
_PROMOTED: Mapping[type, tuple[type, ...]] = {float: (float, int), complex: (complex, float, int)}
_MAX_DEPTH = 6
_Shape = tuple[type, tuple[object, ...]]


@remembered
def can_fit(sent: object, accepted: object) -> bool:
    """Whether some value of type ``sent`` could be of type ``accepted``.

    In doubt the answer is yes. Any, ``object`` and unknown annotations fit all types; a class fits its bases
    and its subclasses; two protocols or abstract classes fit each other. Two unrelated concrete classes do
    not. Parameters are compared one by one, so ``list[int]`` does not fit ``list[str]``.
    """
    return _Relation(surely=False).holds(sent, accepted)


@remembered
def is_narrower(one: object, other: object) -> bool:
    """Whether every value that counts as ``one`` at run time also counts as ``other``.

    A partial order of types: for each pair one, both or neither may be narrower.
    """
    return _Relation(surely=True).holds(one, other)


def with_promoted(cls: type) -> tuple[type, ...]:
    """Return the class, and for ``float`` and ``complex`` also the numbers that count as them."""
    return _PROMOTED.get(cls, (cls,))


@dataclass(frozen=True, slots=True)
class _Relation:
    """``surely``: every value of the first type has the second one. Otherwise: some value may have it."""

    surely: bool

    def holds(self, one: object, other: object, depth: int = 0) -> bool:
        if one == other:
            return True
        if depth > _MAX_DEPTH:
            return not self.surely  # an alias that names itself has no end
        every = all if self.surely else any
        return every(any(self._part(a, b, depth) for b in members(other)) for a in members(one))

    def _part(self, one: object, other: object, depth: int) -> bool:
        if other is object or one is object:
            return other is object or not self.surely
        if get_origin(one) is Literal or get_origin(other) is Literal:
            return self._literal(one, other)
        if is_typeddict(other):
            return self._typed_dict(one, cast(type, other), depth)
        (cls, args), (base, wanted) = shape(one), shape(other)
        if cls is None or base is None:
            return not self.surely
        return self._classes(cls, base) and self._arguments((cls, args), (base, wanted), depth)

    def _literal(self, one: object, other: object) -> bool:
        if get_origin(one) is Literal:
            every = all if self.surely else any
            return every(_takes_literal(other, value) for value in get_args(one))
        return not self.surely and any(_takes_literal(one, value) for value in get_args(other))

    def _typed_dict(self, one: object, other: type, depth: int) -> bool:
        if not self.surely:
            cls = shape(one)[0]
            return cls is None or self._classes(cls, dict)
        if not is_typeddict(one):
            return False
        has, wants = fields_of(cast(type, one)), fields_of(other)
        return required_of(other) <= required_of(cast(type, one)) and all(
            self.holds(has[key], wants[key], depth + 1) for key in required_of(other)
        )

    def _classes(self, cls: type, base: type) -> bool:
        if self.surely:
            return _is_subclass(cls, base) is True
        return (
            _is_subclass(cls, base) is not False
            or _is_subclass(base, cls) is not False
            or (_is_abstract(cls) and _is_abstract(base))
        )

    def _arguments(self, one: _Shape, other: _Shape, depth: int) -> bool:
        (cls, args), (base, wanted) = one, other
        if not (holds_elements(cls) and holds_elements(base)) and (self.surely or cls is not base):
            return True  # parameters of other classes leave no trace, or mean something else in a subclass
        if not wanted or not args:
            return not self.surely or all(want is object for want in wanted)
        if cls is tuple and base is tuple:
            return self._tuples(args, wanted, depth)
        given, wants = _without_dots(args), _without_dots(wanted)
        if tuple in {cls, base}:
            return all(self.holds(arg, want, depth + 1) for arg in given for want in wants)
        # A mapping as a collection holds its keys: the shorter list decides.
        return all(self.holds(arg, want, depth + 1) for arg, want in zip(given, wants, strict=False))

    def _tuples(self, args: tuple[object, ...], wanted: tuple[object, ...], depth: int) -> bool:
        given, wants = _without_dots(args), _without_dots(wanted)
        if len(wants) < len(wanted):
            wants *= len(given)
        elif len(given) < len(args) and not self.surely:
            given *= len(wants)
        return len(given) == len(wants) and all(
            self.holds(arg, want, depth + 1) for arg, want in zip(given, wants, strict=True)
        )


def _without_dots(args: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(arg for arg in args if arg is not Ellipsis)


def _takes_literal(part: object, value: object) -> bool:
    if get_origin(part) is Literal:
        return any(type(value) is type(known) and value == known for known in get_args(part))
    return is_narrower(type(value), part)


def _is_subclass(cls: type, base: type) -> bool | None:
    """Return whether a class is a subclass; None if only an instance can show that."""
    try:
        return issubclass(cls, with_promoted(base))
    except TypeError:  # a protocol with data members, or one that is not runtime_checkable
        shown = {name for each in cls.__mro__ for name in (*vars(each), *inspect.get_annotations(each))}
        return True if get_protocol_members(base) <= shown else None


def _is_abstract(cls: type) -> bool:
    return is_protocol(cls) or inspect.isabstract(cls)
