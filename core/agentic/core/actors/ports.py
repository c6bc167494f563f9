"""The ports of an actor besides HTTP: secrets, sessions, a memory, a place for files."""

from __future__ import annotations

import hashlib
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import SecretStr

    from agentic.core.http import HttpSession


class SecretStore(Protocol):
    """Secrets of a project by name. They are read when needed, and never part of a run's state."""

    async def secret(self, name: str) -> SecretStr:
        """Return a secret.

        Raises:
            UnknownSecretError: A secret of that name does not exist.
        """
        ...


class SessionStore(Protocol):
    """A project's identity on sites: cookies and headers under a name. Steps pass on the name only."""

    async def load(self, name: str) -> HttpSession | None:
        """Return the session of that name; None if it does not exist. Its cookies may change during use."""
        ...

    async def keep(self, session: HttpSession) -> None:
        """Store a session under its name, in place of an earlier one."""
        ...


class ProjectMemory(Protocol):
    """Small values a project remembers from run to run. A value is written whole before ``put`` returns."""

    async def get(self, key: str) -> JSONValue:
        """Return the value of ``key``, None without one."""
        ...

    async def put(self, key: str, value: JSONValue) -> None:
        """Remember ``value``; None forgets it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file that was written.

    Attributes:
        path: Where it is, below the folder of files.
        media_type: As given to ``write``.
        size_bytes: Of its content.
        sha256: Of its content, hex.
    """

    path: str
    media_type: str
    size_bytes: int
    sha256: str


class IncomingFile(Protocol):
    """A file that arrives piece by piece. It is invisible until it is kept, and otherwise deleted."""

    @property
    def path(self) -> Path:
        """Where its content is for now."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes so far."""
        ...

    @property
    def sha256(self) -> str:
        """Hash of the content so far, hex."""
        ...

    def restart(self) -> None:
        """Forget the content so far."""
        ...

    def write(self, data: bytes, /) -> object:
        """Take the next piece."""
        ...

    async def keep(self, name: str, media_type: str) -> StoredFile:
        """Store it under a name that stands for its content: a file that is there already stays.

        Args:
            name: ``"1f/1f0c9a7e.png"``, below the folder.
            media_type: ``"image/png"``.
        """
        ...


class FileStore(Protocol):
    """Where screenshots, downloads and the like are stored: they are too large for a run's state."""

    def receive(self, folder: str) -> AbstractAsyncContextManager[IncomingFile]:
        """Give a file that arrives piece by piece.

        Args:
            folder: Where to keep it: a name below the project's files, or a URL of an object store.
        """
        ...

    async def has(self, folder: str, path: str) -> bool:
        """Whether a kept file is still there.

        Args:
            folder: As for :meth:`receive`.
            path: Of the stored file.
        """
        ...

    async def write(self, name: str, content: bytes, media_type: str) -> StoredFile:
        """Write a file whole, or not at all; the same name again replaces it.

        Args:
            name: Its name, ``"screenshots/front.png"``; parts that lead elsewhere are refused.
            content: All of it.
            media_type: ``"image/png"``.
        """
        ...


def stored_file(path: str, content: bytes, media_type: str) -> StoredFile:
    """Describe a file of that content."""
    digest = hashlib.sha256(content).hexdigest()
    return StoredFile(path=path, media_type=media_type, size_bytes=len(content), sha256=digest)
