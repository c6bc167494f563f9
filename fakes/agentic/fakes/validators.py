"""ETag, Last-Modified and 304 (RFC 9110, 13): from a page and what was asked to status, headers and body."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import lru_cache
from hashlib import blake2b

from agentic.fakes.pages import Page

KEPT_TAGS = 4_096

Fields = list[tuple[bytes, bytes]]


def answer(page: Page, asked: Mapping[bytes, bytes]) -> tuple[int, Fields, bytes]:
    """Return what to send for ``page`` to a request with the headers ``asked``, names in lower case."""
    fields = [
        (b"content-type", page.content_type.encode("latin-1")),
        *((name.encode("latin-1"), value.encode("latin-1")) for name, value in page.headers),
    ]
    if page.modified is not None and page.status == 200:
        tag = etag(page.body)
        fields += [(b"etag", tag), (b"last-modified", http_date(page.modified))]
        if is_unchanged(tag, page.modified, asked):
            return 304, fields, b""
    fields.append((b"content-length", b"%d" % len(page.body)))
    return page.status, fields, page.body


@lru_cache(maxsize=KEPT_TAGS)  # sites keep their pages, so the key's own hash is cached with the bytes
def etag(body: bytes) -> bytes:
    """Return the strong ETag of ``body``, quotes included."""
    return b'"%s"' % blake2b(body, digest_size=12).hexdigest().encode()


@lru_cache(maxsize=KEPT_TAGS)
def http_date(moment: datetime) -> bytes:
    """Return ``moment`` as headers write it; it has to be in UTC."""
    return format_datetime(moment, usegmt=True).encode()


def is_unchanged(tag: bytes, modified: datetime, asked: Mapping[bytes, bytes]) -> bool:
    """Tell whether the client has the page already; If-None-Match goes before If-Modified-Since."""
    tags = asked.get(b"if-none-match")
    if tags is not None:
        return tags.strip() == b"*" or tag in {one.strip().removeprefix(b"W/") for one in tags.split(b",")}
    since = asked.get(b"if-modified-since")
    return since is not None and _is_not_after(modified, since)


def _is_not_after(modified: datetime, since: bytes) -> bool:
    try:
        return modified.replace(microsecond=0) <= parsedate_to_datetime(since.decode("latin-1"))
    except (TypeError, ValueError):  # no date, or one without a zone: as if it were not there
        return False
