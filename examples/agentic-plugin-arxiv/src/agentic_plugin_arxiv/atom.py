"""Reads what arXiv answers: Atom, with elements of OpenSearch and of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from agentic.core.http import UnexpectedAnswerError
from agentic.core.types import JSONValue
from pydantic import TypeAdapter

from agentic_plugin_arxiv.errors import SearchRefusedError
from agentic_plugin_arxiv.items import Answer, Page

_Entry = Mapping[str, Any]  # of a library that is not typed

_ID = re.compile(r"/abs/(\S+?)(?:v([0-9]{1,6}))?$", re.ASCII)
_ERRORS = "/api/errors"
_TWICE = {"title", "summary", "author"}
_RAW: TypeAdapter[dict[str, JSONValue]] = TypeAdapter(dict[str, JSONValue])


def read_page(body: bytes, url: str) -> Page:
    """Return the papers of an answer; it may take a while, so call it off the event loop.

    Args:
        body: As it came.
        url: Where it came from, for messages.

    Raises:
        SearchRefusedError: It says what is wrong with the search.
        UnexpectedAnswerError: It is something else than arXiv's.
    """
    import feedparser  # takes 0.1 s

    # Of those that come in other encodings than this looks for, feedparser keeps no entity made of entities.
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise UnexpectedAnswerError("arXiv", url, "it declares a document type")
    # Given bytes it would first try to open a file of that name.
    found = feedparser.parse(BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
    total = str(found.feed.get("opensearch_totalresults", ""))
    if found.bozo or found.get("version") != "atom10" or not total.isascii() or not total.isdigit():
        raise UnexpectedAnswerError("arXiv", url, "it is not an Atom feed with a result count")
    for entry in found.entries:
        if _ERRORS in str(entry.get("id")):
            raise SearchRefusedError(_line(entry.get("summary")) or "it does not say why")
    return Page(total=int(total), papers=tuple(map(_paper, found.entries)))


def _paper(entry: _Entry) -> Answer:
    named = _ID.search(str(entry.get("id") or ""))
    return {
        "id": named[1] if named else None,
        "version": int(named[2] or 1) if named else None,
        "title": _line(entry.get("title")),
        "summary": str(entry.get("summary") or "").strip() or None,
        "authors": [name for author in entry.get("authors") or () if (name := _line(author.get("name")))],
        "primary_category": (entry.get("arxiv_primary_category") or {}).get("term"),
        "categories": [tag["term"] for tag in entry.get("tags") or () if tag.get("term")],
        "published": entry.get("published"),
        "updated": entry.get("updated"),
        "doi": _line(entry.get("arxiv_doi")),
        "journal_ref": _line(entry.get("arxiv_journal_ref")),
        "comment": _line(entry.get("arxiv_comment")),
        "pdf_url": next((link.get("href") for link in entry.get("links") or () if _is_pdf(link)), None),
        "raw": _raw(entry),
    }


def _is_pdf(link: _Entry) -> bool:
    return link.get("type") == "application/pdf" or link.get("title") == "pdf"


def _raw(entry: _Entry) -> dict[str, JSONValue]:
    """Return the entry without what is long and kept anyway, and without what the library made of it."""
    kept = {
        name: value
        for name, value in entry.items()
        if name not in _TWICE and not name.endswith(("_parsed", "_detail"))
    }
    return _RAW.validate_python(json.loads(json.dumps(kept, default=str)))


def _line(value: object) -> str | None:
    return " ".join(value.split()) or None if isinstance(value, str) else None
