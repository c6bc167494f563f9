"""The codec's plans for types of the standard library, and for pydantic's URLs."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from agentic.core.graph.codec.plans import (
    BIG,
    KEY_STEP,
    LEAST,
    RefusalError,
    TypeCodec,
    Walker,
    content,
    has_plain_keys,
    is_plain,
    json_text,
    walk_items,
    walk_values,
)
from agentic.core.types import JSONValue

MomentT = TypeVar("MomentT", datetime, time)

_ZONE = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*")


def _write_int(_: Walker[JSONValue], value: int, __: int) -> JSONValue:
    return value if LEAST < value < BIG else {"$": "int", "v": hex(value)}


def _write_float(_: Walker[JSONValue], value: float, __: int) -> JSONValue:
    return value if value - value == 0 else {"$": "float", "v": repr(value)}  # it is NaN for NaN, inf, -inf


def _write_list(writer: Walker[JSONValue], value: list[Any], depth: int) -> JSONValue:
    return value.copy() if is_plain(value) else walk_items(writer, value, depth + 1)


def _write_dict(writer: Walker[JSONValue], value: dict[Any, object], depth: int) -> JSONValue:
    if has_plain_keys(value):
        return walk_values(writer, value.items(), depth + 1, KEY_STEP)
    keys = walk_items(writer, value, depth + 1)
    values = walk_items(writer, value.values(), depth + 1)
    return {"$": "dict", "v": [list(pair) for pair in zip(keys, values, strict=True)]}


def _read_dict(reader: Walker[object], data: dict[str, Any], depth: int) -> object:
    pairs = content(data, list)
    keys = walk_items(reader, [key for key, _ in pairs], depth + 1)
    made = dict(zip(keys, walk_items(reader, [value for _, value in pairs], depth + 1), strict=True))
    if len(made) != len(pairs):
        raise RefusalError("a dict has a duplicate key")
    return made


def _write_tuple(writer: Walker[JSONValue], value: tuple[object, ...], depth: int) -> JSONValue:
    return {"$": "tuple", "v": walk_items(writer, value, depth + 1)}


def _read_tuple(reader: Walker[object], data: dict[str, Any], depth: int) -> object:
    return tuple(walk_items(reader, content(data, list), depth + 1))


def _write_set(writer: Walker[JSONValue], value: set[object] | frozenset[object], depth: int) -> JSONValue:
    return {"$": type(value).__name__, "v": sorted(walk_items(writer, value, depth + 1), key=json_text)}


def _read_set(
    cls: type[set[object] | frozenset[object]],
    reader: Walker[object],
    data: dict[str, Any],
    depth: int,
) -> object:
    elements = content(data, list)
    made = cls(walk_items(reader, elements, depth + 1))
    if len(made) != len(elements):
        raise RefusalError("a set has a duplicate element")
    return made


def _text(cls: type, tag: str, write: Callable[[Any], str], read: Callable[[str], object]) -> TypeCodec:
    """Return the plan for a type whose values are written as one text."""
    return TypeCodec(
        cls,
        tag,
        lambda _, value, __: {"$": tag, "v": write(value)},
        lambda _, data, __: read(content(data, str)),
    )


def _moment(cls: type[MomentT]) -> TypeCodec:
    """Return the plan for ``datetime`` or ``time``; it also keeps the fold and the name of the zone."""
    tag = cls.__name__

    def write(_: Walker[JSONValue], value: MomentT, __: int) -> JSONValue:
        zone = _zone_name(value)
        text = (value.replace(tzinfo=None) if zone else value).isoformat()
        return {"$": tag, "v": [text, value.fold, zone]}

    def read(_: Walker[object], data: dict[str, Any], __: int) -> object:
        text, fold, zone = content(data, list)
        value = cls.fromisoformat(text).replace(fold=fold)
        return value if zone is None else value.replace(tzinfo=_zone(zone))

    return TypeCodec(cls, tag, write, read)


def _zone_name(value: datetime | time) -> str | None:
    """Return the name of a zone that can be looked up again; for other zones the offset is kept."""
    zone = value.tzinfo
    name = zone.key if type(zone) is ZoneInfo else None
    return name if name and _ZONE.fullmatch(name) else None


def _zone(name: str) -> ZoneInfo:
    # ZoneInfo looks names up below a package: a name with dots could point at another one.
    if not _ZONE.fullmatch(name):
        raise RefusalError("the name of a time zone has invalid characters")
    return ZoneInfo(name)


def _write_timedelta(_: Walker[JSONValue], value: timedelta, __: int) -> JSONValue:
    return {"$": "timedelta", "v": [value.days, value.seconds, value.microseconds]}


def _read_timedelta(_: Walker[object], data: dict[str, Any], __: int) -> object:
    days, seconds, microseconds = content(data, list)
    return timedelta(days, seconds, microseconds)


def _base64(value: bytes | bytearray) -> str:
    return b64encode(value).decode("ascii")


def _unread(_: Walker[object], __: dict[str, Any], ___: int) -> object:
    raise RefusalError("plain JSON needs no tag")


_URLS = frozenset({
    "AnyUrl", "AnyHttpUrl", "HttpUrl", "AnyWebsocketUrl", "WebsocketUrl", "FileUrl", "FtpUrl", "PostgresDsn",
    "CockroachDsn", "AmqpDsn", "RedisDsn", "MongoDsn", "KafkaDsn", "NatsDsn", "MySQLDsn", "MariaDBDsn",
    "ClickHouseDsn", "SnowflakeDsn",
})  # fmt: skip


def is_url(cls: type) -> bool:
    """Return whether ``cls`` is one of pydantic's URLs, without importing them."""
    return cls.__module__ == "pydantic.networks" and cls.__name__ in _URLS


def url_plan(name: object) -> TypeCodec | None:
    """Return the plan for pydantic's URL of this name, if there is one.

    Their module costs as much as a third of the engine's import, so it is imported at the first use.
    """
    if name not in _URLS:
        return None
    from pydantic import networks

    cls = getattr(networks, str(name))
    return _text(cls, str(name), str, cls)


BUILT_IN: tuple[TypeCodec, ...] = (
    TypeCodec(str, "str", lambda _, value, __: value, _unread),
    TypeCodec(bool, "bool", lambda _, value, __: value, _unread),
    TypeCodec(type(None), "None", lambda _, value, __: value, _unread),
    TypeCodec(int, "int", _write_int, lambda _, data, __: int(content(data, str), 16)),
    TypeCodec(float, "float", _write_float, lambda _, data, __: float(content(data, str))),
    TypeCodec(list, "list", _write_list, _unread),
    TypeCodec(dict, "dict", _write_dict, _read_dict),
    TypeCodec(tuple, "tuple", _write_tuple, _read_tuple),
    TypeCodec(set, "set", _write_set, partial(_read_set, set)),
    TypeCodec(frozenset, "frozenset", _write_set, partial(_read_set, frozenset)),
    TypeCodec(timedelta, "timedelta", _write_timedelta, _read_timedelta),
    _moment(datetime),
    _moment(time),
    _text(date, "date", date.isoformat, date.fromisoformat),
    _text(bytes, "bytes", _base64, partial(b64decode, validate=True)),
    _text(bytearray, "bytearray", _base64, lambda text: bytearray(b64decode(text, validate=True))),
    _text(complex, "complex", repr, complex),
    _text(Decimal, "Decimal", str, Decimal),
    _text(UUID, "UUID", str, UUID),
    _text(type(Path()), "Path", str, Path),
    _text(PurePosixPath, "PurePosixPath", str, PurePosixPath),
    _text(PureWindowsPath, "PureWindowsPath", str, PureWindowsPath),
)
"""The types of the standard library that need no declaration: ``datetime`` before ``date``, its base."""
