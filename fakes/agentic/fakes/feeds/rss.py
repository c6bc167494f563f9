"""RSS 2.0, RSS 1.0 and podcasts, sound and broken."""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import format_datetime
from html import escape

from agentic.fakes.feeds.entries import TITLE, Entry

ITUNES = "http://www.itunes.com/dtds/podcast-1.0.dtd"
CONTENT = "http://purl.org/rss/1.0/modules/content/"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
ATOM = "http://www.w3.org/2005/Atom"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RSS_1 = "http://purl.org/rss/1.0/"


def rss(entries: Sequence[Entry], base: str, *, name: str = "rss.xml") -> str:
    """Return RSS 2.0 with whole contents; ``base`` is where the feeds are mounted."""
    link = f'<atom:link rel="self" type="application/rss+xml" href="{base}/{name}"/>'
    items = "".join(_item(entry, base, _content(entry)) for entry in entries)
    return _rss(f'xmlns:content="{CONTENT}" xmlns:dc="{DUBLIN_CORE}" xmlns:atom="{ATOM}"', base, link + items)


def podcast(entries: Sequence[Entry], base: str) -> str:
    """Return RSS 2.0 with an enclosure in every item."""
    head = "<itunes:author>The Workshop</itunes:author><itunes:explicit>false</itunes:explicit>"
    items = "".join(_item(entry, base, _enclosure(entry, base)) for entry in entries)
    return _rss(f'xmlns:itunes="{ITUNES}" xmlns:dc="{DUBLIN_CORE}"', base, head + items)


def malformed(entries: Sequence[Entry], base: str) -> str:
    """Return what no XML parser takes: a bare ampersand in each title, and the root is not closed."""
    whole = rss(entries, base, name="malformed.xml")
    broken = whole.replace("<item><title>", "<item><title>Q & A: ")
    return broken.removesuffix("</rss>")


def relative(entries: Sequence[Entry], base: str) -> str:
    """Return RSS 2.0 whose links count from an ``xml:base``."""
    items = "".join(_item(entry, ".", _content(entry)) for entry in entries)
    return _rss(f'xmlns:content="{CONTENT}" xmlns:dc="{DUBLIN_CORE}" xml:base="{base}/"', base, items)


def rdf(entries: Sequence[Entry], base: str) -> str:
    """Return RSS 1.0: the items stand beside the channel, which lists them."""
    listed = "".join(f'<rdf:li rdf:resource="{_link(entry, base)}"/>' for entry in entries)
    items = "".join(
        f'<item rdf:about="{_link(entry, base)}"><title>{escape(entry.title)}</title>'
        f"<link>{_link(entry, base)}</link><description>{escape(entry.summary)}</description>"
        f"<dc:creator>{entry.author}</dc:creator><dc:date>{entry.published.isoformat()}</dc:date></item>"
        for entry in entries
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><rdf:RDF xmlns="{RSS_1}" xmlns:rdf="{RDF}" '
        f'xmlns:dc="{DUBLIN_CORE}"><channel rdf:about="{base}/"><title>{TITLE}</title><link>{base}/</link>'
        f"<description>About the work</description><items><rdf:Seq>{listed}</rdf:Seq></items></channel>"
        f"{items}</rdf:RDF>"
    )


def _rss(namespaces: str, base: str, inside: str) -> str:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><rss version="2.0" {namespaces}><channel>'
        f"<title>{TITLE}</title><link>{base}/</link><description>About the work</description>"
        f"<language>en</language>{inside}</channel></rss>"
    )


def _item(entry: Entry, base: str, more: str) -> str:
    return (
        f"<item><title>{escape(entry.title)}</title><link>{_link(entry, base)}</link>"
        f'<guid isPermaLink="false">workshop-{entry.number}</guid><dc:creator>{entry.author}</dc:creator>'
        f"<category>{entry.topic}</category>"
        f"<pubDate>{format_datetime(entry.published, usegmt=True)}</pubDate>"
        f"<description>{escape(entry.summary)}</description>{more}</item>"
    )


def _content(entry: Entry) -> str:
    return f"<content:encoded><![CDATA[{entry.content}]]></content:encoded>"


def _enclosure(entry: Entry, base: str) -> str:
    hours, minutes = divmod(entry.duration_s // 60, 60)
    return (
        f'<enclosure url="{base}/audio/{entry.number}.mp3" length="{entry.audio_bytes}" type="audio/mpeg"/>'
        f"<itunes:duration>{hours}:{minutes:02}:{entry.duration_s % 60:02}</itunes:duration>"
        f"<itunes:episode>{entry.number}</itunes:episode>"
    )


def _link(entry: Entry, base: str) -> str:
    return f"{base}/entry/{entry.number}"
