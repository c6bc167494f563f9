"""Reading HTML: documents, selectors, text and addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated
from urllib.parse import urljoin

from pydantic import AfterValidator
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from agentic.core.actors import ActorError, Page
from agentic.core.http import HttpError, canonical_url

MAX_DEPTH = 2_000  # browsers stop at 512
PIECE = 16 * 1024
# What has no end, or may leave it out: an open one holds nothing that comes after.
_SHALLOW = (
    "area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|body|colgroup|dd|dt|head|html|li|optgroup|"
    "option|p|rp|rt|tbody|td|tfoot|th|thead|tr|circle|ellipse|line|path|polygon|polyline|rect|stop|use"
)
_TAG = re.compile(rf"<(/?)(?!(?:{_SHALLOW})\b)[a-z]", re.IGNORECASE)


# A crawl reads links and then details of one page. The trees are not kept for long: two pages at most.
@lru_cache(maxsize=2)
def parse(text: str) -> LexborHTMLParser:
    """Return the document as :func:`parse_apart` does. It is shared: do not change it."""
    return parse_apart(text)


def parse_apart(text: str) -> LexborHTMLParser:
    """Return a document that is nobody else's; whatever the text is, there is one.

    Raises:
        ActorError: Its elements are nested more than 2,000 deep (``too_large``).
    """
    # The parser looks through all open elements for each new one: 100,000 of them take it half a minute.
    if text.count("<") > MAX_DEPTH and _depth_at_most(text) > MAX_DEPTH and _is_too_deep(text):
        message = (
            f"its elements are nested more than {MAX_DEPTH} deep; no browser would show that, leave it out"
        )
        raise ActorError(f"a page was not read: {message}", failure_class="too_large")
    return LexborHTMLParser(text)


def _depth_at_most(text: str) -> int:
    """Return a depth that no element is below, without a look at each: a hundredth of what parsing takes."""
    deepest = depth = 0
    for start in range(0, len(text), PIECE):
        ends = text.count("</", start, start + PIECE)
        begins = text.count("<", start, start + PIECE) - ends
        deepest = max(deepest, depth + begins)
        depth = max(depth + begins - ends, begins)
    return deepest


def _is_too_deep(text: str) -> bool:
    depth = 0
    for found in _TAG.finditer(text):
        depth = max(depth - 1, 0) if found[1] else depth + 1
        if depth > MAX_DEPTH:
            return True
    return False


def document_of(page: Page) -> LexborHTMLParser:
    """Return the document of a page.

    Raises:
        ActorError: The page is no HTML (``not_html``), or nested too deep (``too_large``).
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


INLINE = [
    *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd"),
    *("mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var", "wbr"),
]
TEXT = "-text"
BREAKING = frozenset(
    [
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "figure"),
        *("footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol"),
        *("option", "p", "pre", "section", "table", "td", "th", "tr", "ul"),
    ]
)
UNSEEN = ["script", "style", "template", "noscript", "svg"]


def readable(page: Page) -> LexborHTMLParser:
    """Return the document of a page with what people read only, one text for each line they would see.

    It is nobody else's: it may be changed.

    Raises:
        ActorError: The page is no HTML (``not_html``), or nested too deep (``too_large``).
    """
    document_of(page)
    document = parse_apart(page.text)
    document.strip_tags(UNSEEN)
    document.unwrap_tags(INLINE)
    document.merge_text_nodes()
    return document


def text_of(node: LexborNode) -> str:
    """Return the text of an element and all below it, blanks collapsed, and one between lines."""
    child = node.child
    is_plain = child is None or (child.tag == TEXT and child.next is None)
    text = node.text() if is_plain else "".join(_pieces(node))
    return " ".join(text.split())


def _pieces(node: LexborNode) -> Iterator[str]:
    for inner in node.traverse(include_text=True):
        before = inner.prev
        if inner.tag in BREAKING or (before is not None and before.tag in BREAKING):
            yield " "
        if inner.tag == TEXT:
            yield inner.text_content or ""


def title_of(document: LexborHTMLParser) -> str | None:
    """Return the text of ``<title>``, None if there is none or it is empty."""
    node = document.css_first("title")
    return text_of(node) or None if node is not None else None


def base_of(page: Page) -> str:
    """Return what relative addresses on a page are relative to.

    Raises:
        ActorError: The page is no HTML (``not_html``), or nested too deep (``too_large``).
    """
    return _base(document_of(page), page.final_url)


@lru_cache(maxsize=4)  # a crawl asks for its links and for its details
def _base(document: LexborHTMLParser, url: str) -> str:
    node = document.css_first("base[href]")
    href = node.attributes.get("href") if node is not None else None
    return urljoin(url, href) if href else url


def absolute(base: str, address: str) -> str | None:
    """Return an address on a page as an absolute canonical URL; None for what is no page: ``mailto:`` etc."""
    try:
        return canonical_url(urljoin(base, address.strip()))
    except (HttpError, ValueError):
        return None
