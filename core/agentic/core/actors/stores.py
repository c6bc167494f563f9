"""The stores of a pipeline that runs without a project: in memory, or missing."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from agentic.core.actors.errors import ActorError, UnknownSecretError
from agentic.core.actors.ports import IncomingFile, StoredFile
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from pydantic import SecretStr

    from agentic.core.http import HttpSession


class NoSecrets:
    """Implements :class:`SecretStore` where none are kept."""

    async def secret(self, name: str) -> SecretStr:
        """Refuse."""
        raise UnknownSecretError(name)


class MemorySessions:
    """Implements :class:`SessionStore` for one process."""

    def __init__(self) -> None:
        self._kept: dict[str, HttpSession] = {}

    async def load(self, name: str) -> HttpSession | None:
        """See :meth:`SessionStore.load`."""
        return self._kept.get(name)

    async def keep(self, session: HttpSession) -> None:
        """See :meth:`SessionStore.keep`."""
        self._kept[session.name] = session


class MemoryOfProcess:
    """Implements :class:`ProjectMemory` for one process."""

    def __init__(self) -> None:
        self._kept: dict[str, JSONValue] = {}

    async def get(self, key: str) -> JSONValue:
        """See :meth:`ProjectMemory.get`."""
        return self._kept.get(key)

    async def put(self, key: str, value: JSONValue) -> None:
        """See :meth:`ProjectMemory.put`."""
        if value is None:
            self._kept.pop(key, None)
        else:
            self._kept[key] = value


class NoFiles:
    """Implements :class:`FileStore` where files cannot be stored."""

    async def write(self, name: str, content: bytes, media_type: str) -> StoredFile:  # noqa: ARG002 - the port's
        """Refuse."""
        raise _no_folder(name)

    def receive(self, folder: str) -> AbstractAsyncContextManager[IncomingFile]:
        """Refuse."""
        raise _no_folder(folder)

    async def has(self, folder: str, path: str) -> bool:  # noqa: ARG002 - the port's
        """Say no."""
        return False


def _no_folder(name: str) -> ActorError:
    message = f"no folder is configured to write {name!r}; give PipelineServices `files`"
    return ActorError(message, failure_class="error")
