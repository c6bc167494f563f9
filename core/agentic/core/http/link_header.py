"""The header ``Link`` of an answer (RFC 8288)."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.linear import LinearPattern

_LINK = LinearPattern(r"<([^<>]*)>([^<]*)")
_RELATION = LinearPattern(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", ignore_case=True)


def next_link(headers: Mapping[str, str]) -> str | None:
    """Return the address with ``rel=next`` as it is written; None without one."""
    header = headers.get("link")
    for link in _LINK.finditer(header) if header else ():
        address, parameters = link.groups
        relation = _RELATION.search(parameters or "")
        if relation is not None and "next" in " ".join(filter(None, relation.groups)).lower().split():
            return address
    return None
