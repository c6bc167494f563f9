"""Makes data of a source fit to store, and detects changes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from enum import Enum
from typing import cast

from pydantic_core import from_json

from agentic.core.types import JSONValue

MAX_DEPTH = 100
"""More deeply nested values are removed: JSON readers refuse them long before memory runs out."""

_PLAIN = frozenset({str, int, bool, type(None)})
_TEXT = frozenset({str})
_AS_THEY_ARE = frozenset({str, int, bool, dict, list})

# Created once: json.dumps creates a new encoder for each call with options.
_STRICT = json.JSONEncoder(allow_nan=False)
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=repr)


def clean(value: object) -> tuple[JSONValue, list[str]]:
    """Return ``value`` as JSON, and a sentence for each part that had to be removed.

    Dates become ISO text, enum members their value, tuples lists, keys text. Removed are objects of other
    types, numbers unknown to JSON (NaN, infinity), values that contain themselves, and values nested deeper
    than ``MAX_DEPTH``. If ``value`` itself is removed, the result is None.
    """
    if _is_plain(value):
        return cast(JSONValue, value), []
    text = _dumped(value)
    if text is not None:
        return cast(JSONValue, from_json(text)), []
    cleaner = _Cleaner()
    kept = dict(cleaner.members([("value", value)])).get("value")
    return kept, cleaner.removed


def clean_text(text: str) -> str:
    """Return ``text`` without NUL characters and halves of surrogate pairs, which databases refuse."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def content_hash(data: Mapping[str, object]) -> str:
    """Return a hash of ``data`` that is the same in every process: 64 hex digits.

    The order of keys does not matter, and neither does ``1`` or ``1.0`` for a whole number, or the time zone
    of a time. A key with the value None counts as absent.
    """
    plain = {
        key: value if type(value) in _AS_THEY_ARE else _normal(value)
        for key, value in data.items()
        if value is not None
    }
    return hashlib.sha256(_CANONICAL.encode(plain).encode("ascii")).hexdigest()


def _is_plain(value: object) -> bool:
    """Whether it is an object of ASCII texts, whole numbers and booleans, like most items."""
    if type(value) is not dict or not _PLAIN.issuperset(map(type, value.values())):
        return False
    if not _TEXT.issuperset(map(type, value)):
        return False
    # All at once: checking each value separately takes twice as long.
    texts = "".join([*value, *[one for one in value.values() if type(one) is str]])
    return texts.isascii() and "\0" not in texts


def _dumped(value: object) -> str | None:
    """Return ``value`` as JSON if all of it is plain: the usual case, ten times as fast."""
    try:
        text = _STRICT.encode(value)
    except (TypeError, ValueError, RecursionError):
        return None
    # Brackets are an upper bound of the depth; \ud is half of a pair, or a character above U+D000.
    in_doubt = "\\u0000" in text or "\\ud" in text or text.count("[") + text.count("{") > MAX_DEPTH
    return None if in_doubt else text


class _UnfitError(Exception):
    """JSON cannot represent a value; the message says why."""


class _Cleaner:
    def __init__(self) -> None:
        self.removed: list[str] = []
        self._path: list[str] = []
        self._open: list[int] = []

    def members(self, pairs: Iterable[tuple[str, object]]) -> Iterator[tuple[str, JSONValue]]:
        """Yield the pairs that can be stored, and note the others."""
        for key, member in pairs:
            self._path.append(key)
            try:
                yield key, self._keep(member)
            except _UnfitError as exc:
                self.removed.append(f"{'.'.join(self._path[1:]) or 'the value'} was removed: {exc}")
            finally:
                self._path.pop()

    def _keep(self, value: object) -> JSONValue:
        plain = value.value if isinstance(value, Enum) else value
        if isinstance(plain, str):
            return clean_text(plain)
        if plain is None or isinstance(plain, int) or (isinstance(plain, float) and math.isfinite(plain)):
            return plain
        if isinstance(plain, date):
            return plain.isoformat()
        if isinstance(plain, Mapping | list | tuple):
            return self._keep_members(plain)
        what = repr(plain) if isinstance(plain, float) else f"a {type(plain).__name__}"
        raise _UnfitError(f"{what} is not JSON")

    def _keep_members(self, value: Mapping[object, object] | list[object] | tuple[object, ...]) -> JSONValue:
        if id(value) in self._open:
            raise _UnfitError("it contains itself")
        if len(self._open) >= MAX_DEPTH:
            raise _UnfitError(f"it is nested deeper than {MAX_DEPTH}")
        self._open.append(id(value))
        try:
            if isinstance(value, Mapping):
                return dict(self.members((clean_text(str(k)), v) for k, v in value.items()))
            return [kept for _, kept in self.members((str(i), v) for i, v in enumerate(value))]
        finally:
            self._open.pop()


def _normal(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).isoformat()
    return value.value if isinstance(value, Enum) else value
