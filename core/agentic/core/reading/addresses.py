"""Addresses in documents."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from agentic.core.http import HttpError, canonical_url

# Most links of most pages need no resolving: joining one the long way takes 15 us.
_FROM_ROOT = re.compile(r"(?:/[a-z0-9_-][\w.~%=&?+,-]*)+/?", re.ASCII | re.IGNORECASE)
_ORIGIN = re.compile(r"https?://[\w.:-]+(?=[/?#]|\Z)", re.ASCII)


def absolute(base: str, address: str) -> str | None:
    """Return an address on a page as an absolute canonical URL; None if it is not a page: ``mailto:`` etc."""
    address = address.strip()
    origin = _ORIGIN.match(base) if _FROM_ROOT.fullmatch(address) else None
    try:
        return canonical_url(origin[0] + address if origin else urljoin(base, address))
    except (HttpError, ValueError):
        return None
