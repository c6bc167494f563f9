"""Reading HTML: documents, selectors, text and addresses."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated
from urllib.parse import urljoin

from pydantic import AfterValidator
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from agentic.core.actors import ActorError, Page
from agentic.core.http import HttpError, canonical_url


# A crawl reads links and then details of one page. The trees are not kept for long: two pages at most.
@lru_cache(maxsize=2)
def parse(text: str) -> LexborHTMLParser:
    """Return the document; whatever the text is, there is one. It is shared: do not change it."""
    return LexborHTMLParser(text)


def document_of(page: Page) -> LexborHTMLParser:
    """Return the document of a page.

    Raises:
        ActorError: The page is no HTML; failure class ``not_html``.
    """
    if not page.is_html:
        message = f"{page.final_url} is {page.content_type}, not HTML"
        raise ActorError(message, failure_class="not_html", status=page.status)
    return parse(page.text)


@lru_cache(maxsize=1024)
def _checked(selector: str) -> str:
    try:
        LexborHTMLParser("").css(selector)
    except SelectolaxError:
        raise ValueError(f"{selector!r} is no CSS selector") from None
    return selector


Selector = Annotated[str, AfterValidator(_checked)]
"""A CSS selector, checked when the spec is read."""


def text_of(node: LexborNode) -> str:
    """Return the text of an element and all below it, blanks collapsed."""
    return " ".join(node.text().split())


def title_of(document: LexborHTMLParser) -> str | None:
    """Return the text of ``<title>``, None if there is none or it is empty."""
    node = document.css_first("title")
    return text_of(node) or None if node is not None else None


def base_of(document: LexborHTMLParser, page: Page) -> str:
    """Return what relative addresses on the page are relative to."""
    node = document.css_first("base[href]")
    href = node.attributes.get("href") if node is not None else None
    return urljoin(page.final_url, href) if href else page.final_url


def absolute(base: str, address: str) -> str | None:
    """Return an address on a page as an absolute canonical URL; None for what is no page: ``mailto:`` etc."""
    try:
        return canonical_url(urljoin(base, address.strip()))
    except (HttpError, ValueError):
        return None
