"""Atom, with an archive behind it (RFC 4287, RFC 5005)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape

from agentic.fakes.feeds.entries import TITLE, Entry

PER_PAGE = 20
ATOM = "http://www.w3.org/2005/Atom"
HISTORY = "http://purl.org/syndication/history/1.0"


def atom(entries: Sequence[Entry], base: str, page: int) -> str | None:
    """Return the newest entries for page 0, else a page of the archive; None if there is no such page.

    Archive pages count from 1 for the oldest entries and never change once they are full, as RFC 5005 wants.
    """
    oldest_first = entries[::-1]
    full = max(len(entries) - 1, 0) // PER_PAGE
    if page > full:
        return None
    start = (page - 1 if page else full) * PER_PAGE
    shown = oldest_first[start : start + PER_PAGE][::-1]
    return _feed(shown, base, page, earlier=page - 1 if page else full)


def last_updated(entries: Sequence[Entry], otherwise: datetime) -> datetime:
    """Return when any of ``entries`` changed last."""
    return max((entry.updated for entry in entries), default=otherwise)


def _feed(entries: Sequence[Entry], base: str, page: int, earlier: int) -> str:
    url = f"{base}/atom.xml"
    history = f'<link rel="self" href="{url}{f"?page={page}" if page else ""}"/>'
    if page:
        history += f'<fh:archive/><link rel="current" href="{url}"/>'
    if earlier:
        history += f'<link rel="prev-archive" href="{url}?page={earlier}"/>'
    newest = f"<updated>{max(entry.updated for entry in entries).isoformat()}</updated>" if entries else ""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><feed xmlns="{ATOM}" xmlns:fh="{HISTORY}" xml:lang="en">'
        f'<id>{base}/</id><title>{TITLE}</title><link rel="alternate" href="{base}/"/>{history}{newest}'
        f"{''.join(_entry(entry, base) for entry in entries)}</feed>"
    )


def _entry(entry: Entry, base: str) -> str:
    return (
        f"<entry><id>tag:workshop.example,2026:{entry.number}</id><title>{escape(entry.title)}</title>"
        f'<link rel="alternate" type="text/html" href="{base}/entry/{entry.number}"/>'
        f"<author><name>{entry.author}</name></author>"
        f'<category term="{entry.topic}"/><published>{entry.published.isoformat()}</published>'
        f"<updated>{entry.updated.isoformat()}</updated><summary>{escape(entry.summary)}</summary>"
        f'<content type="html">{escape(entry.content)}</content></entry>'
    )
