"""Answers of the fake Reddit that are no things."""

from __future__ import annotations

from agentic.core.types import JSONValue
from agentic.fakes.pages import HTML, Page, document, json_page

BLOCK_PAGE = document("Blocked", "<h1>whoa there, pardner!</h1><p>Your request has been blocked.</p>")


class RefusalError(Exception):
    """Becomes an answer.

    Args:
        page: Which one.
    """

    def __init__(self, page: Page) -> None:
        super().__init__(page.status)
        self.page = page


def refused(status: int, message: str, reason: str | None = None, retry_after_s: int | None = None) -> Page:
    """Return a refusal in JSON."""
    said: dict[str, JSONValue] = {"message": message, "error": status}
    if reason is not None:
        said["reason"] = reason
    page = json_page(said)
    headers = () if retry_after_s is None else (("retry-after", str(retry_after_s)),)
    return Page(page.body, page.content_type, status, headers)


def unauthorized() -> Page:
    """Return what comes when the token is not good: a page of HTML, and a header that says so."""
    challenge = (("www-authenticate", 'Bearer realm="reddit", error="invalid_token"'),)
    return Page(b"<html><body>Unauthorized</body></html>", HTML, 401, challenge)


def blocked() -> Page:
    """Return what clients without a token get in place of JSON."""
    return Page(BLOCK_PAGE.encode(), HTML, 403)


def elsewhere(path: str) -> Page:
    """Return a redirect."""
    return Page(b"", HTML, 302, (("location", path),))
