"""The bus over NATS JetStream.

The client library loads aiohttp, which it uses only for WebSockets: 10 MB in each process. Here it does so
for a URL that begins with ``ws://`` or ``wss://``.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_TRANSPORT = "nats.aio.transport"
_WEB = ("aiohttp", "multidict")


def load_websockets() -> None:
    """Load the library for WebSockets into the client library."""
    transport = import_module(_TRANSPORT)
    for name in _WEB:
        setattr(transport, name, import_module(name))


class _LoadedWithoutWeb:
    """A finder that refuses aiohttp to the client library, in the thread that loads it."""

    thread: int | None = None

    @classmethod
    def find_spec(cls, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return how to load the transports of the client; None for any other module."""
        if name in _WEB and cls.thread == threading.get_ident():
            raise ModuleNotFoundError(f"{name} is loaded for a WebSocket", name=name)
        if name != _TRANSPORT:
            return None
        sys.meta_path.remove(cls)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_without(module: ModuleType) -> None:
            cls.thread = threading.get_ident()
            sys.meta_path.insert(0, cls)
            try:
                load(module)
            finally:
                cls.thread = None
                sys.meta_path.remove(cls)

        setattr(spec.loader, "exec_module", load_without)  # noqa: B010 - mypy refuses the assignment
        return spec


if _TRANSPORT not in sys.modules:
    sys.meta_path.insert(0, _LoadedWithoutWeb)
