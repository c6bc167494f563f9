"""The interface of every bucket: the newest value of each key, with compare-and-set."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agentic.core.bus.errors import IllegalKeyError

NOT_THERE = 0
"""The revision of a key without a value: never written, deleted, or expired."""

MARKER_KEPT_S = 3_600
"""How long a bucket keeps the deletion of a key for watchers."""

MAX_WRITES = 1_000
"""Maximum number of keys per write."""

# The keys that NATS accepts. Not those with two dots (a..b): its client accepts them, the server does not.
_KEY = re.compile(r"[-/_=A-Za-z0-9]+(?:\.[-/_=A-Za-z0-9]+)*")
_PATTERN = re.compile(r"(?:(?:[-/_=A-Za-z0-9]+|\*)\.)*(?:[-/_=A-Za-z0-9]+|\*|>)")
EVERY_KEY = ">"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEntry:
    """A key and its newest value; ``revision`` grows with every write to the bucket."""

    key: str
    value: bytes
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChange:
    """A key was written or deleted (``value`` is None); watching can resume after ``revision``."""

    key: str
    value: bytes | None
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyWrite:
    """A write to one key.

    Attributes:
        key: Words of ``A-Z a-z 0-9 - _ = /`` with dots between them.
        value: Its new value; None deletes it.
        revision: The revision the key must have, 0 if it must not exist; None overwrites any value.
        ttl_s: Whole seconds, at least 1, after which it expires; None for never.
    """

    key: str
    value: bytes | None
    revision: int | None = None
    ttl_s: int | None = None


class KeyValue(Protocol):
    """A bucket.

    A write whose answer is lost is not done twice: it is sent again only if the key does not have it.
    All methods raise :class:`BusUnavailableError` when the server cannot be used, and
    :class:`IllegalKeyError` for an invalid key.
    """

    async def get(self, key: str) -> KeyEntry | None:
        """Return a key's newest value, None if it has none."""
        ...

    async def get_many(self, keys: Collection[str]) -> Mapping[str, KeyEntry]:
        """Return the newest values of several keys, without keys that have none: one request per 500 keys."""
        ...

    async def put(
        self, key: str, value: bytes, *, revision: int | None = None, ttl_s: int | None = None
    ) -> int:
        """Write one key; see :class:`KeyWrite`. Returns its new revision.

        Raises:
            KeyConflictError: It does not have ``revision``.
            MessageTooLargeError: The value is too large for the bucket.
        """
        ...

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        """Delete a key's value, if it has one.

        Raises:
            KeyConflictError: It does not have ``revision``.
        """
        ...

    async def write(self, changes: Sequence[KeyWrite]) -> None:
        """Write several keys, each once, all or none; up to 1,000.

        Raises:
            KeyConflictError: One of them does not have its ``revision``; nothing was written.
            MessageTooLargeError: One of them is too large; nothing was written.
        """
        ...

    async def keys(self, pattern: str = EVERY_KEY) -> Mapping[str, int]:
        """Return the keys that match, with their revisions and without their values, in the order written.

        Args:
            pattern: Words between dots; ``*`` is any one word, ``>`` at the end any further words.
        """
        ...

    def watch(self, pattern: str = EVERY_KEY, *, after: int = 0) -> AsyncGenerator[KeyChange, None]:
        """Iterate over the values above revision ``after``, and then over new changes, for ever.

        A key that was written several times in between is reported once, with its newest value. Expired keys
        are not reported. Continues by itself after the server was away.
        """
        ...


def checked_key(key: str) -> str:
    """Return ``key`` if it is valid: words of ``A-Z a-z 0-9 - _ = /`` with dots between them.

    Raises:
        IllegalKeyError: It is not; :func:`token` turns any text into a legal word.
    """
    if not _KEY.fullmatch(key):
        raise IllegalKeyError(key)
    return key


def checked_pattern(pattern: str) -> str:
    """Return ``pattern`` if it is valid.

    Raises:
        IllegalKeyError: It is not.
    """
    if not _PATTERN.fullmatch(pattern):
        raise IllegalKeyError(pattern)
    return pattern


def checked_writes(changes: Sequence[KeyWrite]) -> Sequence[KeyWrite]:
    """Return ``changes`` if a bucket can write them together.

    Raises:
        IllegalKeyError: A key is not valid.
        ValueError: A key occurs twice, there are too many, or a time to live is below one second.
    """
    keys = [checked_key(change.key) for change in changes]
    if len(keys) > MAX_WRITES:
        raise ValueError(
            f"{len(keys)} keys cannot be written together, the limit is {MAX_WRITES}; write them in parts"
        )
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} is written twice at once; write its final value only")
    for change in changes:
        if change.ttl_s is not None and change.ttl_s < 1:
            raise ValueError(
                f"{change.key!r} cannot live for {change.ttl_s} s; give whole seconds, at least 1"
            )
    return changes


def fits(key: str, pattern: str) -> bool:
    """Whether a key or a subject matches a pattern."""
    words, wanted = key.split("."), pattern.split(".")
    if wanted[-1] == EVERY_KEY:
        wanted.pop()
        if len(words) <= len(wanted):
            return False
        words = words[: len(wanted)]
    return len(words) == len(wanted) and all(
        part in ("*", word) for part, word in zip(wanted, words, strict=True)
    )
