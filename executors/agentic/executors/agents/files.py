"""Files that actors write: in their execution's folder, completely or not at all."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import urlsplit

from agentic.core.actors import ActorError, StoredFile, stored_file
from agentic.core.private import make_private_folder
from agentic.core.remote_files import OBJECT_STORES, exists, is_url, shown, upload
from agentic.core.threads import in_thread

INCOMING = ".incoming"
"""Folder of files that are being received."""

LEFT_AFTER_S = 24 * 3600.0
"""Age of a file there after which no process can be writing it."""


class FileNameError(ActorError, ValueError):
    """A name leads out of the folder, or is not a valid file name."""

    def __init__(
        self,
        name: str,
        wanted: str = "a relative name without '..' and backslashes, as 'screenshots/front.png'",
    ) -> None:
        super().__init__(f"{name!r} is not a valid file name; give {wanted}", failure_class="error")
        self.name = name


class FolderFiles:
    """Files of one execution, and those that all executions of its project share.

    Implements :class:`agentic.core.actors.FileStore`.

    Args:
        folder: Folder for the files of all executions.
        execution_id: Name of the folder within it, which is created with its first file.
        project_id: Name of the folder for received files.
    """

    def __init__(self, folder: Path, execution_id: str, project_id: str = "shared") -> None:
        self._folder = folder
        self._below = _checked(execution_id)
        self._shared = _checked(project_id)

    @asynccontextmanager
    async def receive(self, folder: str) -> AsyncIterator[ReceivedFile]:
        """See :meth:`agentic.core.actors.FileStore.receive`.

        Raises:
            FileNameError: The folder is neither a name below the files nor a URL of an object store.
        """
        keep = self._keeping(folder)
        incoming = self._folder / INCOMING
        _prepare(incoming, self._folder)
        handle, name = tempfile.mkstemp(dir=incoming, suffix=".part")
        path = Path(name)
        try:
            with os.fdopen(handle, "wb", buffering=0) as file:
                yield ReceivedFile(path, file, keep)
        finally:
            await in_thread(partial(path.unlink, missing_ok=True))

    async def has(self, folder: str, path: str) -> bool:
        """See :meth:`agentic.core.actors.FileStore.has`."""
        if is_url(folder):
            return await in_thread(exists, path)
        return (self._folder / _checked(path)).is_file()

    def _keeping(self, folder: str) -> Keep:
        """Return what moves a received file to its place, and returns that."""
        if not is_url(folder):
            below = self._shared / _checked(folder)

            def move(file: Path, name: str) -> str:
                path = below / _checked(name)
                target = self._folder / path
                if not target.parent.resolve().is_relative_to(self._folder.resolve()):
                    raise FileNameError(name)
                make_private_folder(target.parent, below=self._folder)
                if not target.is_file():
                    file.replace(target)
                return str(path)

            return move
        if urlsplit(folder).scheme.lower() not in OBJECT_STORES:
            raise FileNameError(shown(folder), "a URL of an object store, such as s3://bucket/images")

        def send(file: Path, name: str) -> str:
            url = f"{folder.rstrip('/')}/{_checked(name)}"
            if not exists(url):
                upload(file, url)
            return url

        return send

    async def write(self, name: str, content: bytes, media_type: str) -> StoredFile:
        """Write a file completely, or not at all; the same name again replaces it.

        Raises:
            FileNameError: The name leads elsewhere, also through a link, or is invalid.
            OSError: It cannot be written.
        """
        path = self._below / _checked(name)
        await in_thread(self._write, path, content, name)
        return stored_file(str(path), content, media_type)

    def _write(self, path: PurePosixPath, content: bytes, name: str) -> None:
        target = self._folder / path
        is_inside = target.parent.resolve().is_relative_to(self._folder.resolve())
        if not is_inside or target.is_dir():
            raise FileNameError(name)
        make_private_folder(target.parent, below=self._folder)
        replace_file(target, content)


Keep = Callable[[Path, str], str]
"""Moves a received file to its name, unless that exists; returns the path or URL."""


class ReceivedFile:
    """Implements :class:`agentic.core.actors.IncomingFile`.

    Args:
        path: Where its content is written.
        file: That file, opened.
        keep: Moves it to its place.
    """

    def __init__(self, path: Path, file: IO[bytes], keep: Keep) -> None:
        self._path = path
        self._file = file
        self._keep = keep
        self._hash = hashlib.sha256()
        self._size = 0

    @property
    def path(self) -> Path:
        """Where its content is for now."""
        return self._path

    @property
    def size_bytes(self) -> int:
        """Bytes so far."""
        return self._size

    @property
    def sha256(self) -> str:
        """Hash of the content so far, hex."""
        return self._hash.hexdigest()

    def restart(self) -> None:
        """Forget the content so far."""
        self._file.seek(0)
        self._file.truncate()
        self._hash, self._size = hashlib.sha256(), 0

    def write(self, data: bytes) -> None:
        """Take the next piece.

        Raises:
            ActorError: The disk does not take it (``error``).
        """
        try:
            self._file.write(data)
        except OSError as exc:  # a transport would take it for a fault of the network
            message = f"{self._path.parent} cannot be written ({exc.strerror}); make room, then retry"
            raise ActorError(message, failure_class="error") from exc
        self._hash.update(data)
        self._size += len(data)

    async def keep(self, name: str, media_type: str) -> StoredFile:
        """Store it.

        Raises:
            FileNameError: The name leads elsewhere.
            RemoteFileError: It cannot be uploaded.
            OSError: It cannot be written.
        """

        def store() -> str:
            os.fsync(self._file.fileno())
            return self._keep(self._path, name)

        place = await in_thread(store)
        return StoredFile(path=place, media_type=media_type, size_bytes=self._size, sha256=self.sha256)


def _prepare(incoming: Path, below: Path) -> None:
    """Make the folder of files that are being received, without what killed processes left there."""
    make_private_folder(incoming, below=below)
    for left in incoming.iterdir():
        with suppress(OSError):  # another process removes it, too
            if time.time() - left.stat().st_mtime > LEFT_AFTER_S:
                left.unlink()


def replace_file(path: Path, content: bytes) -> None:
    """Replace the content at ``path``; readers see the old or the new content."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _checked(name: str) -> PurePosixPath:
    parts = name.split("/")
    if any(part in {"", ".", ".."} or not part.isprintable() or "\\" in part for part in parts):
        raise FileNameError(name)
    return PurePosixPath(*parts)
