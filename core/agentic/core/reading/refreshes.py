"""The value of ``Refresh``, in a field of an answer or in a ``<meta>``: seconds, and an address."""

from __future__ import annotations

import re
from typing import NamedTuple

LONG_S = 10**9
_VALUE = re.compile(r"\s*(?:([0-9]{1,10})|(?=\.))[0-9.]*+(?=[;,\s]|\Z)\s*[;,]?\s*(.*)", re.ASCII | re.DOTALL)
_NAMED = re.compile(r"url\s*=\s*(.*)", re.IGNORECASE | re.DOTALL)


class Refresh(NamedTuple):
    """A refresh that leads somewhere: after ``seconds``, to ``address`` as it is written there."""

    seconds: int
    address: str


def read_refresh(value: str) -> Refresh | None:
    """Return the refresh of a value; None if it only reloads the page, or is not valid.

    The rules are the HTML standard's, its shared declarative refresh steps: ``0;url=x``, ``5, URL='x'``.
    """
    found = _VALUE.match(value)
    if found is None:
        return None
    named = _NAMED.match(found[2])
    address = named[1] if named else found[2]
    if address[:1] in ("'", '"') and address:
        address = address[1:].partition(address[0])[0]
    digits = (found[1] or "0").lstrip("0")
    seconds = int(digits or 0) if len(digits) < 10 else LONG_S
    return Refresh(seconds, address.strip()) if address.strip() else None
