"""Lists of hosts: ``host`` for any port, or ``host:port``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address


class HostSet:
    """Hosts, compared regardless of case and spelling.

    Args:
        entries: ``host`` (any port) or ``host:port`` as written in URLs; IPv6 as ``::1`` or ``[::1]:80``.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self._entries = frozenset(_split_entry(entry) for entry in entries)

    def names(self, host: str, port: int) -> bool:
        """Whether an entry names ``host`` at ``port``."""
        known = _normal_host(host)
        return (known, None) in self._entries or (known, port) in self._entries


def _split_entry(entry: str) -> tuple[str, int | None]:
    host, colon, port = entry.rpartition(":")
    if colon and port.isascii() and port.isdigit() and (":" not in host or host.endswith("]")):
        return _normal_host(host), int(port)
    return _normal_host(entry), None


@lru_cache(maxsize=1_024)  # called for each request
def _normal_host(host: str) -> str:
    bare = host.lower().removeprefix("[").removesuffix("]").removesuffix(".")
    try:
        return str(ip_address(bare))
    except ValueError:
        return bare
