"""Models that are opened once, and used by many calls."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple
from weakref import ReferenceType, ref

from agentic.core.types import JSONValue

if TYPE_CHECKING:  # most actors use no model, and a check of a pipeline runs none of them
    import asyncio

    from agentic.core.llm.adapter import LLMAdapter

MAX_OPEN = 32
"""Models with their options that stay open; the least recently used one is dropped first."""


class _Opened(NamedTuple):
    loop: ReferenceType[asyncio.AbstractEventLoop]
    model: LLMAdapter


class OpenModels:
    """Opens models by name, each with its options once for an event loop: their connections are shared.

    Args:
        known: Models by ``provider:name`` that replace installed ones, for any options. For tests.
    """

    def __init__(self, known: Mapping[str, LLMAdapter] | None = None) -> None:
        self._known = dict(known or {})
        self._opened: OrderedDict[str, _Opened] = OrderedDict()

    def open(self, name: str, options: Mapping[str, JSONValue] | None = None) -> LLMAdapter:
        """Return a model.

        Args:
            name: ``provider:name``.
            options: Of the provider's adapter.

        Raises:
            UnknownProviderError: No plugin provides models under that name.
            MissingSdkError: The provider's library is not installed.
            MissingKeyError: The provider needs a key.
            TypeError: The provider does not know an option.
        """
        if (known := self._known.get(name)) is not None:
            return known
        import asyncio

        loop = asyncio.get_running_loop()
        # A digest, because options may hold a key.
        key = hashlib.sha256(json.dumps([name, dict(options or {})], sort_keys=True).encode()).hexdigest()
        found = self._opened.pop(key, None)
        if found is None or found.loop() is not loop:
            # By name, because plugins offer actors, and each actor gets these models.
            llm = import_module("agentic.core.llm.registry").llm
            found = _Opened(ref(loop), llm(name, **dict(options or {})))
        self._opened[key] = found
        if len(self._opened) > MAX_OPEN:
            self._opened.popitem(last=False)
        return found.model

    async def aclose(self) -> None:
        """Close the opened models of this event loop, even if one fails to close."""
        import asyncio

        loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            for found in self._opened.values():
                if found.loop() is loop:
                    stack.push_async_callback(found.model.aclose)
            self._opened.clear()
