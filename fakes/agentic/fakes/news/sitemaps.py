"""The newspaper's sitemaps (sitemaps.org 0.9): every kind a reader of sitemaps will meet."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from datetime import datetime, timedelta
from html import escape

from agentic.fakes.news.articles import SECTIONS, Article
from agentic.fakes.news.pages import NAME
from agentic.fakes.pages import TODAY, XML, Page

SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
NEWS = "http://www.google.com/schemas/sitemap-news/0.9"
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
NEWS_AGE = timedelta(days=2)
RECENT = 30


def sitemap(path: str, articles: Sequence[Article], base: str) -> Page | None:
    """Return the sitemap at ``path``, or None.

    ``/sitemap_index.xml`` leads to ``/sitemap-recent.xml`` (the newest 30), ``/sitemap-archive.xml.gz`` (the
    rest, gzipped), ``/sitemap-news.xml`` (two days, with the news namespace) and ``/sitemap-sections.txt``.
    """
    changed = max((article.modified for article in articles), default=TODAY)
    match path:
        case "/sitemap_index.xml":
            return _xml(_index(base, changed), changed)
        case "/sitemap-recent.xml":
            return _xml(_urls(articles[:RECENT], base), changed)
        case "/sitemap-archive.xml.gz":
            packed = gzip.compress(_urls(articles[RECENT:], base).encode(), mtime=0)
            return Page(packed, "application/gzip", modified=changed)
        case "/sitemap-news.xml":
            fresh = [article for article in articles if TODAY - article.published <= NEWS_AGE]
            return _xml(_news(fresh, base), changed)
        case "/sitemap-sections.txt":
            lines = "".join(f"{base}/section/{name}\n" for name in SECTIONS)
            return Page(lines.encode(), "text/plain; charset=utf-8", modified=TODAY)
        case _:
            return None


def _index(base: str, changed: datetime) -> str:
    names = ("recent.xml", "archive.xml.gz", "news.xml", "sections.txt")
    entries = "".join(
        f"<sitemap><loc>{escape(base)}/sitemap-{name}</loc><lastmod>{changed.isoformat()}</lastmod></sitemap>"
        for name in names
    )
    return f'{DECLARATION}<sitemapindex xmlns="{SITEMAP}">{entries}</sitemapindex>'


def _urls(articles: Sequence[Article], base: str) -> str:
    entries = "".join(
        f"<url><loc>{escape(base)}/article/{article.slug}</loc>"
        f"<lastmod>{article.modified.isoformat()}</lastmod></url>"
        for article in articles
    )
    return f'{DECLARATION}<urlset xmlns="{SITEMAP}">{entries}</urlset>'


def _news(articles: Sequence[Article], base: str) -> str:
    entries = "".join(
        f"<url><loc>{escape(base)}/article/{article.slug}</loc><news:news><news:publication>"
        f"<news:name>{NAME}</news:name><news:language>en</news:language></news:publication>"
        f"<news:publication_date>{article.published.isoformat()}</news:publication_date>"
        f"<news:title>{escape(article.title)}</news:title></news:news></url>"
        for article in articles
    )
    return f'{DECLARATION}<urlset xmlns="{SITEMAP}" xmlns:news="{NEWS}">{entries}</urlset>'


def _xml(markup: str, modified: datetime) -> Page:
    return Page(markup.encode(), XML, modified=modified)
