"""Values too large for one message: a list of pieces under the key, and the pieces beside it.

A piece is named by its own hash (``KEY.SHA256``). So equal pieces of a value are stored once, a damaged piece
is noticed, and replacing a value does not disturb readers of the earlier one. The pieces of replaced values
are not removed: write to a key once, or give the bucket a time to live.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from hashlib import sha256

from agentic.core.bus.errors import CorruptValueError
from agentic.core.bus.kv import KeyValue

PIECE_BYTES = 256 * 1024
"""Larger values are split into pieces of this size: well below every server's message limit."""

_MARK = b"\x00agentic/pieces/1\n"  # text and JSON never start like this


def packed(key: str, value: bytes) -> dict[str, bytes]:
    """Return the content to write for a value, by key: a small value, or the list and its pieces."""
    if len(value) <= PIECE_BYTES and not value.startswith(_MARK):
        return {key: value}
    pieces = [value[start : start + PIECE_BYTES] for start in range(0, len(value), PIECE_BYTES)]
    names = [sha256(piece).hexdigest() for piece in pieces]
    found = {f"{key}.{name}": piece for name, piece in zip(names, pieces, strict=True)}
    return {**found, key: _MARK + json.dumps(names).encode()}


def piece_keys(key: str, stored: bytes) -> list[str]:
    """Return the keys of the pieces of a stored value, in order; none if it is whole.

    Raises:
        CorruptValueError: It cannot be read.
    """
    if not stored.startswith(_MARK):
        return []
    try:
        return [f"{key}.{name}" for name in json.loads(stored[len(_MARK) :])]
    except (ValueError, TypeError) as exc:
        raise CorruptValueError(key, "its list of pieces cannot be read") from exc


def unpacked(key: str, stored: bytes, pieces: Mapping[str, bytes]) -> bytes:
    """Return a value from its stored content.

    Args:
        key: The key of the value.
        stored: The content of the key.
        pieces: Pieces by key; it may contain others.

    Raises:
        CorruptValueError: A piece is missing or has changed.
    """
    names = piece_keys(key, stored)
    if not names:
        return stored
    missing = sum(name not in pieces for name in names)
    if missing:
        raise CorruptValueError(key, f"{missing} of its {len(names)} pieces are missing")
    for name in names:
        if sha256(pieces[name]).hexdigest() != name.rpartition(".")[2]:
            raise CorruptValueError(key, "a piece of it has changed")
    return b"".join(pieces[name] for name in names)


async def read_large(bucket: KeyValue, keys: Collection[str]) -> dict[str, bytes]:
    """Return the complete values of the ``keys`` that have one.

    Raises:
        CorruptValueError: One of them cannot be read.
        BusUnavailableError: See :class:`KeyValue`.
    """
    stored = {key: entry.value for key, entry in (await bucket.get_many(keys)).items()}
    wanted = [piece for key, value in stored.items() for piece in piece_keys(key, value)]
    found = await bucket.get_many(wanted) if wanted else {}
    pieces = {key: entry.value for key, entry in found.items()}
    return {key: unpacked(key, value, pieces) for key, value in stored.items()}
