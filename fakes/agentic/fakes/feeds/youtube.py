"""The feed of a channel, as YouTube writes it: the newest videos, with how often they were seen."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from agentic.fakes.feeds.entries import TITLE, Entry

SHOWN = 15
NAMESPACES = (
    'xmlns:yt="http://www.youtube.com/xml/schemas/2015" xmlns:media="http://search.yahoo.com/mrss/" '
    'xmlns="http://www.w3.org/2005/Atom"'
)


def youtube(entries: Sequence[Entry], base: str, more_views: int = 0) -> str:
    """Return the feed of a channel whose videos are ``entries``.

    Args:
        entries: The newest first.
        base: Where the feeds are mounted.
        more_views: Added to the views of each.
    """
    videos = "".join(
        _video(entry, base, entry.audio_bytes // 1_000 + more_views) for entry in entries[:SHOWN]
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><feed {NAMESPACES}>'
        f'<link rel="self" href="{base}/youtube.xml"/><id>yt:channel:workshop</id>'
        f'<yt:channelId>workshop</yt:channelId><title>{TITLE}</title><link rel="alternate" href="{base}/"/>'
        f"{videos}</feed>"
    )


def _video(entry: Entry, base: str, views: int) -> str:
    video_id, title = f"video-{entry.number:04}", escape(entry.title)
    return (
        f"<entry><id>yt:video:{video_id}</id><yt:videoId>{video_id}</yt:videoId>"
        f"<yt:channelId>workshop</yt:channelId><title>{title}</title>"
        f'<link rel="alternate" href="{base}/entry/{entry.number}"/>'
        f"<author><name>{entry.author}</name></author><published>{entry.published.isoformat()}</published>"
        f"<updated>{entry.updated.isoformat()}</updated><media:group><media:title>{title}</media:title>"
        f"<media:description>{escape(entry.summary)}</media:description><media:community>"
        f'<media:statistics views="{views}"/></media:community></media:group></entry>'
    )
