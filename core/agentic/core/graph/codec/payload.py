"""A value on its way through a run, with its JSON for events and checkpoints."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Protocol, TypeVar, cast
from uuid import UUID

from pydantic import BaseModel

from agentic.core.errors import name_of, text_of
from agentic.core.graph.codec.codec import Codec, describe, from_text, to_text
from agentic.core.graph.errors import MessageCopyError
from agentic.core.types import JSONValue

ValueT = TypeVar("ValueT")

_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
_ATOMS = (
    str, int, float, complex, bytes, type(None), Enum, date, time, timedelta, Decimal, PurePath, UUID,
)  # fmt: skip


class JSONText:
    """A JSON value as its text: ``ctx.once`` stores it as it is, and returns the value later.

    Attributes:
        text: As :func:`~agentic.core.graph.codec.codec.to_text` writes it.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Payload:
    """A value that cannot change unnoticed during the run.

    A mutable value that an executor sends is copied, and its JSON is made at once. An immutable value is kept
    without a copy, and its JSON is made at the first access.

    Attributes:
        value: The value. Its receiver may change it, unless ``is_immutable``; the JSON stays as sent.
        is_immutable: Whether the value can be shared.
        is_exact: Whether the JSON can be turned back into the value.
        is_small: Whether an event holds its JSON itself; None until that was measured.
    """

    __slots__ = ("_data", "_make_data", "is_exact", "is_immutable", "is_small", "value")

    def __init__(
        self,
        value: object,
        data: JSONValue = None,
        *,
        make_data: Callable[[object], JSONValue] | None = None,
        is_immutable: bool = False,
        is_exact: bool = False,
    ) -> None:
        self.value = value
        self.is_immutable = is_immutable
        self.is_exact = is_exact
        self.is_small: bool | None = None
        self._make_data = make_data
        self._data = data

    @property
    def data(self) -> JSONValue:
        """The value as JSON, at the time it was sent."""
        if self._make_data is not None:
            self._data = self._make_data(self.value)
            self._make_data = None
        return self._data

    def stored_text(self, codec: Codec) -> str:
        """Return the text of :meth:`stored`. Raises as it does."""
        return self.value.text if type(self.value) is JSONText else to_text(self.stored(codec))

    def stored(self, codec: Codec) -> JSONValue:
        """Return the JSON from which :meth:`Codec.decode` makes the value.

        Raises:
            UnencodableError: The value cannot be stored.
        """
        return self.data if self.is_exact else codec.encode(self.value)

    def copy_value(self) -> object:
        """Return the value itself if it is immutable, else a new copy."""
        if type(self.value) is JSONText:
            return from_text(self.value.text)
        return self.value if self.is_immutable else _copied(self.value)

    def for_next_receiver(self) -> Payload:
        """Return a payload for one more receiver, which shares no mutable part with this one."""
        return self if self.is_immutable else self.with_value(_copied(self.value))

    def with_value(self, value: object) -> Payload:
        """Return a payload with this one's JSON around an equal ``value``."""
        return Payload(value, make_data=lambda _: self.data, is_exact=self.is_exact)


class PayloadPacker(Protocol):
    """Makes payloads: :func:`pack`, or a stricter one for stored runs."""

    def __call__(self, value: object, /) -> Payload:
        """Return ``value`` as a payload."""
        ...


def pack_text(text: JSONText) -> Payload:
    """Return a text as the payload of its value."""
    return Payload(text, make_data=lambda _: from_text(text.text), is_immutable=True, is_exact=True)


def pack(value: object) -> Payload:
    """Return ``value`` as a payload that shares nothing mutable with it.

    Raises:
        MessageCopyError: It is mutable and cannot be copied, or is nested too deeply to check.
    """
    if type(value) in _PLAIN or is_immutable(value):
        return Payload(value, make_data=describe, is_immutable=True)
    data = describe(value)
    return Payload(_copied(value), data)


def make_storable_packer(codec: Codec) -> PayloadPacker:
    """Return a packer that refuses values that cannot be stored.

    Its payloads are exact. It raises :class:`UnencodableError` besides the errors of :func:`pack`.
    """

    def pack_exactly(value: object) -> Payload:
        data = codec.encode(value)
        if type(value) in _PLAIN or is_immutable(value):
            return Payload(value, data, is_immutable=True, is_exact=True)
        return Payload(_copied(value), data, is_exact=True)

    return pack_exactly


def unpack(codec: Codec, data: JSONValue) -> Payload:
    """Return the payload whose :meth:`Payload.stored` is ``data``.

    Raises:
        CorruptContentError: It is not stored data of a payload.
    """
    value = codec.decode(data)
    return Payload(value, data, is_immutable=is_immutable(value), is_exact=True)


def list_payload(payloads: Sequence[Payload]) -> Payload:
    """Return one payload with the list of the values of several; it takes the values over."""
    return Payload(
        [payload.value for payload in payloads],
        make_data=lambda _: [payload.data for payload in payloads],
        is_exact=all(payload.is_exact for payload in payloads),
    )


def is_immutable(value: object) -> bool:
    """Whether ``value`` is immutable, with all its parts.

    Raises:
        MessageCopyError: It is nested too deeply to check.
    """
    try:
        return _is_immutable(value)
    except RecursionError as exc:
        raise MessageCopyError(value, "it is nested too deeply") from exc


def _is_immutable(value: object) -> bool:
    if isinstance(value, _ATOMS):
        return True
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_immutable, value))
    if isinstance(value, BaseModel):
        return bool(value.model_config.get("frozen")) and all(map(_is_immutable, vars(value).values()))
    if is_dataclass(value) and not isinstance(value, type):
        params = getattr(value, "__dataclass_params__", None)
        return bool(getattr(params, "frozen", False)) and all(
            _is_immutable(getattr(value, f.name)) for f in fields(value)
        )
    return False


def _copied(value: ValueT) -> ValueT:
    try:
        return cast(ValueT, _copy(value, {}))
    except Exception as exc:
        raise MessageCopyError(value, text_of(exc) or name_of(exc)) from exc


def _copy(value: object, memo: dict[int, object]) -> object:
    """Do as ``copy.deepcopy`` does, but in a third of the time for JSON, alone and in pydantic models.

    It shares its memory of copied parts with ``deepcopy``: a part that occurs twice in a value occurs twice
    in the copy.
    """
    kind = type(value)
    if kind is dict or kind is list:
        known = memo.get(id(value))
        return _copy_json(value, memo) if known is None else known  # type: ignore[arg-type]
    if isinstance(value, BaseModel) and kind.__deepcopy__ is BaseModel.__deepcopy__:  # type: ignore[attr-defined]
        _copy(vars(value), memo)  # which it would copy first
    return copy.deepcopy(value, memo)


def _copy_json(value: dict[object, object] | list[object], memo: dict[int, object]) -> object:
    if isinstance(value, list):
        parts: list[object] = []
        memo[id(value)] = parts
        parts.extend(part if type(part) in _PLAIN else _copy(part, memo) for part in value)
        return parts
    held: dict[object, object] = {}
    memo[id(value)] = held
    for key, part in value.items():
        name = key if type(key) in _PLAIN else copy.deepcopy(key, memo)
        held[name] = part if type(part) in _PLAIN else _copy(part, memo)
    return held
