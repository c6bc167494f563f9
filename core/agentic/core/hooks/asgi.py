"""Applications of plugins for HTTP servers; the core knows no server, so these are the types of ASGI."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

_Message: TypeAlias = MutableMapping[str, Any]

AsgiApp: TypeAlias = Callable[
    [_Message, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]], Awaitable[None]
]
"""An ASGI application: the same type as Starlette's."""
