"""What a crawl keeps of pages besides their rows: ``web_contents``, ``web_links`` and ``web_files``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from sqlalchemy import String, Table, bindparam, delete, inspect, select
from sqlalchemy.orm import Session

from agentic.core.http import canonical_url, url_key
from agentic.core.pipeline import CrawledPage, PageContents
from agentic.mappers import CLEARED
from agentic.mappers.database.expressions import OneOf
from agentic.plugins.web.models import WebFileModel, WebLinkModel
from agentic.plugins.web.storage import head_columns

Kept = Mapping[str, tuple[str, PageContents]]
"""Key of a page -> its URL and its stored content."""

Links = dict[tuple[str, str], dict[str, object]]
"""Keys of the linking page and of its target -> the columns of the link."""


def kept_of(pages: Iterable[CrawledPage]) -> Kept:
    """Return what is to be kept of pages; of those that lead to one place, what the last one gave."""
    return {
        url_key(page.final_url): (page.final_url, page.contents)
        for page in pages
        if page.contents is not None
    }


def content_rows(kept: Kept) -> Iterator[dict[str, object]]:
    """Yield the columns of ``web_contents``, for pages of which more than links are kept."""
    for key, (url, contents) in kept.items():
        read = contents.read
        if (read.text, read.markdown, read.html) != (None, None, None):
            yield {
                "url_key": key,
                "url": url,
                "canonical_url": read.canonical_url or CLEARED,
                "language": read.language or CLEARED,
                "text": read.text,
                "markdown": read.markdown,
                "html": read.html,
                **head_columns(contents),
            }


def links_in(kept: Kept) -> Links:
    """Return the links of the pages whose links are kept."""
    return {
        (key, to_key): {
            "from_key": key,
            "to_key": to_key,
            "from_url": url,
            "to_url": link.url,
            "rel": link.rel,
            "text": link.text,
            "is_followed": canonical_url(link.url) in contents.followed,
        }
        for key, (url, contents) in kept.items()
        for link in contents.read.links or ()
        for to_key in [url_key(link.url)]
    }


def file_rows(pages: Iterable[CrawledPage]) -> dict[str, dict[str, object]]:
    """Return the columns of ``web_files``, by key; of a file on several pages, the first page counts."""
    found: dict[str, dict[str, object]] = {}
    for page in pages:
        for file in page.files:
            url = str(file["url"])
            found.setdefault(
                url_key(url),
                {
                    "url_key": url_key(url),
                    "url": url,
                    "page_url": page.final_url,
                    **{name: file[name] for name in ("path", "sha256", "size_bytes", "media_type")},
                    **{name: file.get(name, CLEARED) for name in ("width", "height")},
                },
            )
    return found


def unsaved_files(
    session: Session, project_id: str, execution_id: str, rows: Mapping[str, Mapping[str, object]]
) -> Iterator[Mapping[str, object]]:
    """Yield the rows that this execution has not written yet: it counts a logo once, not for each page."""
    table = cast("Table", inspect(WebFileModel).local_table)
    among = OneOf(bindparam("files", json.dumps([*rows]), type_=String))
    mine = (table.c.project_id == project_id, table.c.execution_id == execution_id)
    query = select(table.c.url_key, table.c.sha256, table.c.path).where(
        *mine, table.c.url_key.bool_op("IN")(among)
    )
    saved = {key: (sha256, path) for key, sha256, path in session.execute(query)}
    for key, row in rows.items():
        if saved.get(key) != (row["sha256"], row["path"]):
            yield row


def drop_gone_links(session: Session, project_id: str, kept: Kept, links: Links) -> None:
    """Delete the stored links that pages no longer have; of pages whose links are not kept, none.

    Two crawls that see one page at once wait for each other at its row of ``web_pages``, which is written
    before.
    """
    table = cast("Table", inspect(WebLinkModel).local_table)
    pages = [key for key, (_, contents) in kept.items() if contents.read.links is not None]
    among = OneOf(bindparam("pages", json.dumps(pages), type_=String))
    mine = table.c.project_id == project_id
    stored = select(table.c.from_key, table.c.to_key).where(mine, table.c.from_key.bool_op("IN")(among))
    gone = [
        {"gone_from": from_key, "gone_to": to_key}
        for from_key, to_key in session.execute(stored)
        if (from_key, to_key) not in links
    ]
    if gone:
        this = (table.c.from_key == bindparam("gone_from"), table.c.to_key == bindparam("gone_to"))
        session.execute(delete(table).where(mine, *this), gone)
