"""A newspaper, mounted below ``/news``.

    /                       the newest articles: ``ul.articles a.article``
    /section/{name}         all of a section, 10 a page: ``a.next``
    /article/{slug}         OpenGraph, JSON-LD, canonical link, hreflang; advertisements and comments around
    /de/article/{slug}      the same under another language
    /image/{slug}.png       the picture that OpenGraph names
    /microdata/{slug}       microdata instead            /rdfa/{slug}   RDFa Lite instead
    /sitemap_index.xml      see :mod:`agentic.fakes.news.sitemaps`
    /drafts/{name}          robots.txt asks crawlers to stay away, but it answers

``POST /__control/revise`` with the path of an article changes its text, its dates, ETag and Last-Modified.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urlsplit

from agentic.fakes.news import pages
from agentic.fakes.news.articles import ARTICLES, SECTIONS, Article, build_articles, revise
from agentic.fakes.news.revisions import Revisions
from agentic.fakes.news.sitemaps import sitemap
from agentic.fakes.pages import Page, html_page
from agentic.fakes.pictures import png_of

PER_PAGE = 10
KEPT_PAGES = 2_000
DRAFTS = "/drafts/"
ARTICLE = re.compile(r"/(article|de/article|microdata|rdfa)/([0-9]+-[a-z-]*)")
IMAGE = re.compile(r"/image/([0-9]+-[a-z-]*)\.png")
SECTION = re.compile(r"/section/([a-z]+)")
PAGE_NUMBER = re.compile(r"page=([1-9][0-9]{0,5})")

# Servers of a process share them.
_articles = lru_cache(maxsize=4)(build_articles)


class News:
    """The newspaper over articles made from ``seed``; pages are rendered when first asked for, then kept.

    Args:
        seed: The same seed gives the same bytes.
        revisions: Changes to articles since.
        articles: How many.
    """

    def __init__(self, seed: int, revisions: Revisions, articles: int = ARTICLES) -> None:
        self._articles = _articles(seed, articles)
        self._revisions = revisions
        self._kept = lru_cache(maxsize=KEPT_PAGES)(_article_page)

    def page(self, path: str, query: str, base: str) -> Page | None:
        """See :meth:`Site.page`."""
        if found := ARTICLE.fullmatch(path):
            article = self._articles.get(found[2])
            return self._kept(found[1], self._now(article, path, base), base) if article else None
        if found := IMAGE.fullmatch(path):
            article = self._articles.get(found[1])
            return Page(png_of(article.slug), "image/png", modified=article.published) if article else None
        if path.startswith("/sitemap"):
            current = [self._now(one, f"/article/{one.slug}", base) for one in self._articles.values()]
            return sitemap(path, current, base)
        if path == "/":
            return html_page(pages.home([*self._articles.values()], base))
        if path.startswith(DRAFTS):
            return html_page(pages.section("drafts", [], base, None))
        return self._section(path, query, base)

    def paths(self) -> list[str]:
        """Return the path of every article, the newest first."""
        return [f"/article/{slug}" for slug in self._articles]

    def _now(self, article: Article, path: str, base: str) -> Article:
        return revise(article, self._revisions.of(urlsplit(base).path + path))

    def _section(self, path: str, query: str, base: str) -> Page | None:
        found = SECTION.fullmatch(path)
        if not found or found[1] not in SECTIONS:
            return None
        number = PAGE_NUMBER.fullmatch(query)
        end = PER_PAGE * (int(number[1]) if number else 1)
        listed = [article for article in self._articles.values() if article.section == found[1]]
        following = end // PER_PAGE + 1 if end < len(listed) else None
        return html_page(pages.section(found[1], listed[end - PER_PAGE : end], base, following))


def _article_page(kind: str, article: Article, base: str) -> Page:
    match kind:
        case "microdata":
            markup = pages.microdata_page(article, base)
        case "rdfa":
            markup = pages.rdfa_page(article, base)
        case _:
            markup = pages.article_page(article, base, language="de" if kind == "de/article" else "en")
    return html_page(markup, article.modified)
