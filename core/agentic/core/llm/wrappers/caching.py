"""Replies kept for equal requests."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

from agentic.core.ids import new_id
from agentic.core.llm.adapter import LLMAdapter, opened_stream, pieces_of
from agentic.core.llm.requests import ModelDelta, ModelReply, ModelRequest, StopReason, canonical
from agentic.core.llm.usage import TokenUsage
from agentic.core.llm.wrappers.wrapping import ModelWrapper
from agentic.core.logging import get_logger
from agentic.core.private import make_private_folder, open_private
from agentic.core.threads import in_thread

log = get_logger(__name__)

MAX_REPLIES = 1_000


class ReplyCache(Protocol):
    """Keeps replies by key; it may forget any of them at any time.

    :class:`MemoryReplyCache` does in one process, :class:`FileReplyCache` in a folder, ``KeyValueReplyCache``
    of ``agentic.core.stores`` in a bucket for all workers.
    """

    async def load(self, key: str) -> str | None:
        """Return the text of ``key``; None if missing."""
        ...

    async def keep(self, key: str, text: str) -> None:
        """Keep a text under ``key``."""
        ...


class MemoryReplyCache:
    """Implements :class:`ReplyCache` in memory; the least recently used reply is forgotten first.

    Args:
        max_replies: How many are kept.
    """

    def __init__(self, max_replies: int = MAX_REPLIES) -> None:
        self._max_replies = max_replies
        self._texts: OrderedDict[str, str] = OrderedDict()

    async def load(self, key: str) -> str | None:
        """See :meth:`ReplyCache.load`."""
        if key in self._texts:
            self._texts.move_to_end(key)
        return self._texts.get(key)

    async def keep(self, key: str, text: str) -> None:
        """See :meth:`ReplyCache.keep`."""
        self._texts[key] = text
        self._texts.move_to_end(key)
        while len(self._texts) > self._max_replies:
            self._texts.popitem(last=False)


class FileReplyCache:
    """Implements :class:`ReplyCache` with a file for each reply, that only its owner can read.

    It grows without a limit; delete files, or the folder, at any time.

    Args:
        folder: Is created at the first reply.
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)

    async def load(self, key: str) -> str | None:
        """See :meth:`ReplyCache.load`."""
        return await in_thread(self._load, key)

    async def keep(self, key: str, text: str) -> None:
        """See :meth:`ReplyCache.keep`."""
        await in_thread(self._keep, key, text)

    def _load(self, key: str) -> str | None:
        try:
            return self._path(key).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def _keep(self, key: str, text: str) -> None:
        make_private_folder(self._folder)
        draft = self._folder / f"{key}.{new_id()}.draft"
        with open(draft, "x", encoding="utf-8", opener=open_private) as file:  # has no opener
            file.write(text)
        draft.replace(self._path(key))

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"


class CacheModel(ModelWrapper):
    """Gives equal requests the same reply: ``is_cached`` is true then, and its usage is empty.

    Only replies to requests with a temperature of 0 or without one are kept, and none that was cut by
    ``max_tokens`` or refused. Requests are equal if the model sees the same (:attr:`ModelRequest.digest`).

    Args:
        model: The model.
        cache: Keeps the replies; 1,000 in memory if omitted. Several models may share one.
        any_temperature: Keep replies of requests with any temperature.
    """

    def __init__(
        self, model: LLMAdapter | str, cache: ReplyCache | None = None, *, any_temperature: bool = False
    ) -> None:
        super().__init__(model)
        self._cache = MemoryReplyCache() if cache is None else cache
        self._any_temperature = any_temperature

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See :meth:`LLMAdapter.complete`."""
        if (kept := await self._kept(request)) is not None:
            return kept
        reply = await self.model.complete(request)
        await self._keep(request, reply)
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta]:
        """See :meth:`LLMAdapter.stream`."""
        if (kept := await self._kept(request)) is not None:
            for delta in pieces_of(kept):
                yield delta
            return
        async with opened_stream(self.model, request) as deltas:
            async for delta in deltas:
                if delta.reply is not None:
                    await self._keep(request, delta.reply)
                yield delta

    async def _kept(self, request: ModelRequest) -> ModelReply | None:
        if not self._is_kept(request):
            return None
        text = await self._cache.load(self._key(request))
        if text is None:
            return None
        try:
            reply = ModelReply.model_validate_json(text)
        except ValueError:  # of another version, or damaged: as if it had been forgotten
            log.warning("model.cache_unreadable", model=self.name)
            return None
        return reply.model_copy(update={"is_cached": True, "usage": TokenUsage()})

    async def _keep(self, request: ModelRequest, reply: ModelReply) -> None:
        is_whole = reply.stop_reason not in (StopReason.LENGTH, StopReason.REFUSED)
        if is_whole and self._is_kept(request):
            await self._cache.keep(self._key(request), canonical(reply.to_json()))

    def _is_kept(self, request: ModelRequest) -> bool:
        return self._any_temperature or not request.settings.temperature

    def _key(self, request: ModelRequest) -> str:
        return hashlib.sha256(f"{self.name}\n{request.digest}".encode()).hexdigest()
