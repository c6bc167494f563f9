"""What a fake site is: a function from paths to pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Page:
    """What one path answers."""

    body: bytes
    content_type: str


class Site(Protocol):
    """A fake that is all data: the same question always has the same answer."""

    def page(self, path: str, query: str, base: str) -> Page | None:
        """Return what to answer, or None for 404.

        Args:
            path: Below the place the site is mounted at, with a leading slash.
            query: As it stands in the URL, without question mark.
            base: ``scheme://host:port`` and mount path as the client wrote them, for absolute links.
        """
        ...
