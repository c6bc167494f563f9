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
"""How long a bucket keeps the deletion of a key: watchers see it until then."""

MAX_WRITES = 1_000
"""Maximum number of keys per write."""

# What NATS takes as a key, less the dots that its client lets pass and the server refuses: a..b
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
    """A key was written or deleted (``value`` is None); ``revision`` is the place to go on watching after."""

    key: str
    value: bytes | None
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyWrite:
    """What is to become of a key.

    Attributes:
        key: Words of ``A-Z a-z 0-9 - _ = /`` with dots between them.
        value: Its new value; None deletes it.
        revision: What the key has to stand at, 0 for not being there; None writes over anything.
        ttl_s: Whole seconds, at least 1, after which it is gone by itself; None for never.
    """

    key: str
    value: bytes | None
    revision: int | None = None
    ttl_s: int | None = None


class KeyValue(Protocol):
    """A bucket.

    A write whose answer is lost is not done twice: it is looked for, and sent again if it is not there.
    All methods raise :class:`BusUnavailableError` when the server cannot be used, and
    :class:`IllegalKeyError` for what is no key.
    """

    async def get(self, key: str) -> KeyEntry | None:
        """Return a key's newest value, None if it has none."""
        ...

    async def get_many(self, keys: Collection[str]) -> Mapping[str, KeyEntry]:
        """Return the newest values of several keys, without those that have none: a request for each 500."""
        ...

    async def put(
        self, key: str, value: bytes, *, revision: int | None = None, ttl_s: int | None = None
    ) -> int:
        """Write one key; see :class:`KeyWrite`. Returns its new revision.

        Raises:
            KeyConflictError: It does not stand at ``revision``.
            MessageTooLargeError: The bucket takes no value of that size.
        """
        ...

    async def delete(self, key: str, *, revision: int | None = None) -> None:
        """Take a key's value away; nothing happens where there is none.

        Raises:
            KeyConflictError: It does not stand at ``revision``.
        """
        ...

    async def write(self, changes: Sequence[KeyWrite]) -> None:
        """Write several keys, each once, all or none; up to 1,000.

        Raises:
            KeyConflictError: One of them does not stand at its ``revision``; nothing was written.
            MessageTooLargeError: One of them is too large; nothing was written.
        """
        ...

    async def keys(self, pattern: str = EVERY_KEY) -> Mapping[str, int]:
        """Return the keys that fit, with their revisions and without their values, in the order written.

        Args:
            pattern: Words between dots; ``*`` is any one word, ``>`` at the end any further ones.
        """
        ...

    def watch(self, pattern: str = EVERY_KEY, *, after: int = 0) -> AsyncGenerator[KeyChange, None]:
        """Iterate over what stands above revision ``after``, and then over what is written, for ever.

        A key that was written several times while nobody looked is told once, with its newest value. That a
        key expired is not told. Goes on by itself when the server was away.
        """
        ...


def checked_key(key: str) -> str:
    """Return ``key`` if it is one: words of ``A-Z a-z 0-9 - _ = /`` with dots between them.

    Raises:
        IllegalKeyError: It is not; :func:`token` makes a legal word of any text.
    """
    if not _KEY.fullmatch(key):
        raise IllegalKeyError(key)
    return key


def checked_pattern(pattern: str) -> str:
    """Return ``pattern`` if keys can be looked for by it.

    Raises:
        IllegalKeyError: It is none.
    """
    if not _PATTERN.fullmatch(pattern):
        raise IllegalKeyError(pattern)
    return pattern


def checked_writes(changes: Sequence[KeyWrite]) -> Sequence[KeyWrite]:
    """Return ``changes`` if a bucket can take them together.

    Raises:
        IllegalKeyError: A key is none.
        ValueError: One key is there twice, there are too many, or a time to live is no whole second.
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
    """Whether a key, or a subject, is one of those a pattern stands for."""
    words, wanted = key.split("."), pattern.split(".")
    if wanted[-1] == EVERY_KEY:
        wanted.pop()
        if len(words) <= len(wanted):
            return False
        words = words[: len(wanted)]
    return len(words) == len(wanted) and all(
        part in ("*", word) for part, word in zip(wanted, words, strict=True)
    )
