"""Lessons: which change mended an error before, by its fingerprint, for all programs of a project."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

from pydantic import Field, ValidationError

from agentic.core.bus import Bus, KeyConflictError, KeyEntry, KeyValue
from agentic.core.bus.subjects import token
from agentic.core.coding.executors.generator import fenced
from agentic.core.coding.messages import CodingMessage

KEPT_S = 90 * 86_400.0
"""A lesson is forgotten this long after it was confirmed last."""
MAX_LESSONS = 500
"""For each language; beyond it the lessons that were confirmed longest ago are forgotten."""
MAX_OFFERED = 5
_NEWEST = 50
_MAX_KNOWN = 20
_TRIES = 5


class Lesson(CodingMessage):
    """A change that mended an error.

    Attributes:
        language: Name of the language.
        cause: Fingerprint of the error.
        error: The newest error, in the words of the tool.
        change: The change that mended it last, as a unified diff; without secrets that this process knows.
        count: How often changes mended it.
        known_from: The newest steps that taught it.
    """

    __wire_name__ = "agentic.coding.Lesson"

    language: str
    cause: str
    error: str = Field(max_length=500)
    change: str = Field(max_length=2_000)
    count: int = Field(default=1, ge=1)
    known_from: tuple[str, ...] = Field(default=(), max_length=_MAX_KNOWN)

    def __str__(self) -> str:
        return f"- {self.error}\n{fenced(self.change, 'diff')}"


class LessonStore(Protocol):
    """Keeps lessons. Several processes can use one at a time."""

    async def find(self, language: str, causes: Collection[str]) -> Sequence[Lesson]:
        """Return the lessons about these errors, five at most, the most frequent first.

        Without errors it returns the most frequent ones of those that were confirmed lately.
        """
        ...

    async def keep(self, lessons: Iterable[Lesson], source: str) -> None:
        """Keep lessons; known ones count once more, and have the newest change.

        Args:
            lessons: Of one language or several.
            source: Names the step that taught them: a lesson of the same source counts once.
        """
        ...

    async def forget(self, language: str, causes: Collection[str] | None = None) -> None:
        """Forget the lessons about these errors, or all of a language."""
        ...


class KvLessons:
    """Implements :class:`LessonStore` in a bucket: on NATS, or in memory with a ``MemoryBus``.

    Args:
        bucket: The bucket; :func:`lesson_bucket` returns the bucket of a project.
    """

    def __init__(self, bucket: KeyValue) -> None:
        self._bucket = bucket

    async def find(self, language: str, causes: Collection[str]) -> Sequence[Lesson]:
        """See :meth:`LessonStore.find`."""
        if causes:
            keys = [_key(language, cause) for cause in sorted(causes)[:_NEWEST]]
        else:
            keys = list(await self._bucket.keys(_all_of(language)))[-_NEWEST:]
        found = (await self._bucket.get_many(keys)).values() if keys else ()
        lessons = [lesson for entry in found if (lesson := _read(entry)) is not None]
        return sorted(lessons, key=lambda one: (-one.count, one.cause))[:MAX_OFFERED]

    async def keep(self, lessons: Iterable[Lesson], source: str) -> None:
        """See :meth:`LessonStore.keep`."""
        for lesson in lessons:
            for _ in range(_TRIES):
                with suppress(KeyConflictError):  # of another process: it is read again
                    await self._keep(lesson, source)
                    break

    async def forget(self, language: str, causes: Collection[str] | None = None) -> None:
        """See :meth:`LessonStore.forget`."""
        if causes is None:
            keys: Iterable[str] = await self._bucket.keys(_all_of(language))
        else:
            keys = {_key(language, cause) for cause in causes}
        for key in keys:
            await self._bucket.delete(key)

    async def _keep(self, lesson: Lesson, source: str) -> None:
        key = _key(lesson.language, lesson.cause)
        entry = await self._bucket.get(key)
        before = None if entry is None else _read(entry)
        if before is not None and source in before.known_from:
            return
        known = (*(before.known_from if before else ()), source)[-_MAX_KNOWN:]
        count = before.count + 1 if before else 1
        kept = lesson.model_copy(update={"count": count, "known_from": known})
        revision = 0 if entry is None else entry.revision
        await self._bucket.put(key, kept.model_dump_json().encode(), revision=revision)
        if entry is None:
            await self._remove_oldest(lesson.language)

    async def _remove_oldest(self, language: str) -> None:
        keys = list(await self._bucket.keys(_all_of(language)))
        for key in keys[:-MAX_LESSONS]:
            await self._bucket.delete(key)


def lesson_bucket(bus: Bus, project: str) -> KeyValue:
    """Return the bucket ``AGENTIC_LESSONS`` of a project: lessons, for 90 days after they were confirmed."""
    return bus.bucket("AGENTIC_LESSONS", project=project, ttl_s=KEPT_S)


def _key(language: str, cause: str) -> str:
    digest = hashlib.blake2b(cause.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return f"{token(language)}.{digest}"


def _all_of(language: str) -> str:
    return f"{token(language)}.*"


def _read(entry: KeyEntry) -> Lesson | None:
    """Return a stored lesson; None if another version wrote it in a form that this one does not know."""
    try:
        return Lesson.model_validate_json(entry.value)
    except ValidationError:
        return None
