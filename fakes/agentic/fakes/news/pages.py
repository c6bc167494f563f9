"""The newspaper's markup: one article in the vocabularies sites use to describe it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from agentic.core.types import JSONValue
from agentic.fakes.news.articles import SECTIONS, Article
from agentic.fakes.pages import document, json_script

NAME = "The Daily Loopback"
ADVERTISEMENT = '<div class="ad">Advertisement: buy two lanterns, get a canyon for free!</div>'
LANGUAGES = {"en": "", "de": "/de"}
# The names microdata and RDFa give to the parts of an article; both come from schema.org.
MICRODATA = ' itemscope itemtype="https://schema.org/NewsArticle"'
RDFA = ' vocab="https://schema.org/" typeof="NewsArticle"'


def home(articles: Sequence[Article], base: str) -> str:
    """Return the home page: sections, and the newest articles."""
    return _page(NAME, f"<h1>{NAME}</h1>{_list(articles[:10], base)}", base)


def section(name: str, articles: Sequence[Article], base: str, following: int | None) -> str:
    """Return a page of a section, the newest articles first."""
    more = f'<a class="next" rel="next" href="?page={following}">Older</a>' if following else ""
    return _page(name.title(), f"<h1>{name.title()}</h1>{_list(articles, base)}{more}", base)


def article_page(article: Article, base: str, *, language: str = "en") -> str:
    """Return an article with OpenGraph and JSON-LD."""
    head = _head(article, base, language) + json_script(_news_article(article, base, language))
    return _page(article.title, _article(article), base, head=head, language=language)


def microdata_page(article: Article, base: str) -> str:
    """Return an article with microdata and nothing else."""
    return _page(
        article.title, _article(article, MICRODATA, "itemprop"), base, head=_canonical(article, base)
    )


def rdfa_page(article: Article, base: str) -> str:
    """Return an article with RDFa Lite and nothing else."""
    return _page(article.title, _article(article, RDFA, "property"), base, head=_canonical(article, base))


def _page(title: str, body: str, base: str, *, head: str = "", language: str = "en") -> str:
    links = "".join(f'<li><a href="{base}/section/{name}">{name.title()}</a></li>' for name in SECTIONS)
    framed = (
        f'<header><a href="{base}/">{NAME}</a></header><nav><ul>{links}</ul></nav>{ADVERTISEMENT}'
        f"<main>{body}</main><aside><h2>Most read</h2><p>Nothing you have not seen.</p>"
        f'<a href="{base}/drafts/next-week">Next week</a></aside>{ADVERTISEMENT}'
        f"<footer><p>All rights reserved by nobody. Subscribe to our newsletter.</p></footer>"
    )
    return document(title, framed, head=head, language=language)


def _list(articles: Sequence[Article], base: str) -> str:
    rows = "".join(
        f'<li><a class="article" href="{base}/article/{article.slug}">{escape(article.title)}</a> '
        f'<time datetime="{article.published.isoformat()}">{article.published:%d %B %Y}</time></li>'
        for article in articles
    )
    return f'<ul class="articles">{rows}</ul>'


def _article(article: Article, scope: str = "", attribute: str = "") -> str:
    """Return the article element; ``attribute`` names its parts in the vocabulary that ``scope`` opens."""

    def named(part: str) -> str:
        return f' {attribute}="{part}"' if attribute else ""

    paragraphs = "".join(f"<p>{escape(text)}</p>" for text in article.paragraphs)
    comments = "".join(f'<li class="comment">{escape(text)}</li>' for text in article.comments)
    return (
        f"<article{scope}><h1{named('headline')}>{escape(article.title)}</h1>"
        f'<p class="byline">By <span class="author"{named("author")}>{escape(article.author)}</span>, '
        f'<time datetime="{article.published.isoformat()}"{named("datePublished")}>'
        f'{article.published:%d %B %Y}</time> <time class="modified" '
        f'datetime="{article.modified.isoformat()}"{named("dateModified")}>{article.modified:%H:%M}</time></p>'
        f'<p class="lead"{named("description")}>{escape(article.lead)}</p>'
        f'<div class="body"{named("articleBody")}>{paragraphs}</div></article>'
        f'<section class="comments"><h2>Comments</h2><ul>{comments}</ul></section>'
    )


def _head(article: Article, base: str, language: str) -> str:
    alternates = "".join(
        f'<link rel="alternate" hreflang="{name}" href="{base}{prefix}/article/{article.slug}">'
        for name, prefix in LANGUAGES.items()
    )
    properties = {
        "og:type": "article",
        "og:title": article.title,
        "og:description": article.lead,
        "og:url": _url(article, base, language),
        "og:site_name": NAME,
        "og:image": f"{base}/image/{article.slug}.png",
        "article:published_time": article.published.isoformat(),
        "article:modified_time": article.modified.isoformat(),
        "article:section": article.section,
    }
    metas = "".join(
        f'<meta property="{name}" content="{escape(value)}">' for name, value in properties.items()
    )
    described = f'<meta name="description" content="{escape(article.lead)}">'
    return f"{_canonical(article, base, language)}{alternates}{described}{metas}"


def _canonical(article: Article, base: str, language: str = "en") -> str:
    return f'<link rel="canonical" href="{_url(article, base, language)}">'


def _url(article: Article, base: str, language: str = "en") -> str:
    return f"{base}{LANGUAGES[language]}/article/{article.slug}"


def _news_article(article: Article, base: str, language: str) -> JSONValue:
    return {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": article.title,
        "description": article.lead,
        "author": [{"@type": "Person", "name": article.author}],
        "publisher": {"@type": "Organization", "name": NAME},
        "datePublished": article.published.isoformat(),
        "dateModified": article.modified.isoformat(),
        "articleSection": article.section,
        "inLanguage": language,
        "mainEntityOfPage": _url(article, base, language),
    }
