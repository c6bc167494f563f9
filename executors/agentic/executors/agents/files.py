"""Files that actors write: in their execution's folder, completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path, PurePosixPath

from agentic.core.actors import ActorError, StoredFile, stored_file
from agentic.core.private import make_private_folder
from agentic.core.threads import in_thread


class FileNameError(ActorError, ValueError):
    """A name leads out of the folder, or is not a valid file name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is not a valid file name; give a relative name without '..' and backslashes, as "
            "'screenshots/front.png'",
            failure_class="error",
        )
        self.name = name


class FolderFiles:
    """Files of one execution. Implements :class:`agentic.core.actors.FileStore`.

    Args:
        folder: Folder for the files of all executions.
        execution_id: Name of the folder within it, which is created with its first file.
    """

    def __init__(self, folder: Path, execution_id: str) -> None:
        self._folder = folder
        self._below = _checked(execution_id)

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
