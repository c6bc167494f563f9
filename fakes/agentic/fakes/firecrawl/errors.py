"""What the Firecrawl API refuses, and how it says so."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.core.types import JSONValue
from agentic.fakes.errors import FakesError

RETRY_AFTER_S = 1


class RefusalError(FakesError):
    """The API does not do what it was asked; becomes an answer at its border."""

    def __init__(
        self, status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})

    @property
    def answer(self) -> dict[str, JSONValue]:
        """The body of the answer."""
        coded: dict[str, JSONValue] = {"code": self.code} if self.code else {}
        return {"success": False, **coded, "error": str(self)}


# Hosts under a name that exists nowhere (RFC 2606) and what asking for a page of theirs is answered with.
RESERVED: dict[str, tuple[int, str, str | None, dict[str, str]]] = {
    "unsupported.example": (403, "We do not support this site.", "UNSUPPORTED_SITE", {}),
    "unpaid.example": (402, "Insufficient credits to perform this request.", None, {}),
    "slow.example": (408, "The scrape operation timed out.", "SCRAPE_TIMEOUT", {}),
    "busy.example": (429, "Rate limit exceeded.", None, {"retry-after": str(RETRY_AFTER_S)}),
    "tls.example": (500, "A secure connection could not be established.", "SCRAPE_SSL_ERROR", {}),
    "broken.example": (500, "An unexpected error occurred.", "UNKNOWN_ERROR", {}),
}


def unreachable(host: str) -> RefusalError:
    """Return what a page of a host that is not one of the fakes is answered with.

    A name that does not resolve is status 200 with ``success: false``: so does the real one.
    """
    if host in RESERVED:
        return RefusalError(*RESERVED[host])
    return RefusalError(200, f"DNS resolution failed for hostname: {host}", "SCRAPE_DNS_RESOLUTION_ERROR")
