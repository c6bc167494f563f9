"""Reading HTML: documents, selectors, text and addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turbohtml import Document, Element, Node, Text
from turbohtml import parse as read_tree

from agentic.core.actors import ActorError, Page
from agentic.core.reading.addresses import absolute, base_of
from agentic.core.reading.refreshes import Refresh, read_refresh
from agentic.plugins.web.reading.odd_digits import GAP, JOINT

MAX_DEPTH = 2_000  # browsers stop at 512
SHADOW_MODES = frozenset({"open", "closed"})
PIECE = 16 * 1024
# What has no end, or may leave it out: an open one holds nothing that comes after.
_SHALLOW = (
    "area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr|body|colgroup|dd|dt|head|html|li|optgroup|"
    "option|p|rp|rt|tbody|td|tfoot|th|thead|tr|circle|ellipse|line|path|polygon|polyline|rect|stop|use"
)
_TAG = re.compile(rf"<(/?)(?!(?:{_SHALLOW})\b)[a-z]", re.IGNORECASE)


class _Latest:
    """The last text that was parsed, and its document; others are not kept."""

    pair: tuple[str, Document] | None = None


def parse(text: str) -> Document:
    """Return the document as :func:`parse_apart` does. It is shared: do not change it.

    A crawl reads links and then details of one page: its text is not parsed a second time.
    """
    latest = _Latest.pair
    # By identity: to hash a text, as a cache does, takes a quarter of the time of parsing it.
    if latest is None or latest[0] is not text:
        latest = _Latest.pair = (text, parse_apart(text))
    return latest[1]


def parse_apart(text: str) -> Document:
    """Return a document that is nobody else's; whatever the text is, there is one.

    Its templates are empty. A declarative shadow root is on the page: its elements stand in its host.

    Raises:
        ActorError: Its elements are nested more than 2,000 deep (``too_large``).
    """
    # The text of an element is read anew for each that it is in: of 100,000 that is gigabytes.
    if text.count("<") > MAX_DEPTH and _depth_at_most(text) > MAX_DEPTH and _is_too_deep(text):
        message = (
            f"its elements are nested more than {MAX_DEPTH} levels deep, deeper than browsers show; leave "
            "it out"
        )
        raise ActorError(f"a page was not read: {message}", failure_class="too_large")
    document = read_tree(text, positions=False, allow_declarative_shadow_roots=False)
    # What scripts make elements from is not on the page, but selectors would find it.
    for template in document.select("template"):
        if template.attr("shadowrootmode") in SHADOW_MODES:
            template.unwrap()
        else:
            template.clear()
    return document


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


def document_of(page: Page) -> Document:
    """Return the document of a page.

    Raises:
        ActorError: The page is no HTML (``not_html``), or nested too deep (``too_large``).
    """
    if not page.is_html:
        hint = "; read it with the actor json" if page.kind == "json" else ""
        message = f"{page.final_url} is {page.content_type}, not HTML{hint}"
        raise ActorError(message, failure_class="not_html", status=page.status)
    return parse(page.text)


INLINE = (
    "a, abbr, b, bdi, bdo, cite, code, data, del, dfn, em, font, i, ins, kbd, mark, q, s, samp, small, span, "
    "strong, sub, sup, time, u, var, wbr"
)
BREAKING = (
    "address, article, aside, blockquote, br, dd, div, dl, dt, figcaption, figure, footer, form, h1, h2, h3, "
    "h4, h5, h6, header, hr, li, main, nav, ol, option, p, pre, section, table, td, th, tr, ul"
)
APART = f"{BREAKING}, script, style"
"""Elements that make the text of an element around them differ from all its texts together."""

UNSEEN = "script, style, template, noscript, svg"
_BREAKING = frozenset(BREAKING.split(", "))
_LEFT_OUT = frozenset({"del", "s", "strike", *UNSEEN.split(", ")})
_CENTS = ("cent", "decimal", "fraction", "penny", "pence", "minor")
CENT_DIGITS = 2
_HAS_CENTS = re.compile(r"\d[.,]\d\d\D{1,6}\Z")


def select(scope: Document | Element, selector: str) -> list[Element]:
    """Return the elements that fit, in the order of the page: ``scope`` itself and those in it."""
    found = scope.select(selector)
    return [scope, *found] if isinstance(scope, Element) and scope.matches(selector) else found


def select_one(scope: Document | Element, selector: str) -> Element | None:
    """Return the first of what :func:`select` does, None if there is none."""
    return scope if isinstance(scope, Element) and scope.matches(selector) else scope.select_one(selector)


def readable(page: Page) -> Document:
    """Return the document of a page with what people read only, one text for each line they would see.

    It is nobody else's: it may be changed.

    Raises:
        ActorError: The page is no HTML (``not_html``), or nested too deep (``too_large``).
    """
    document_of(page)
    document = parse_apart(page.text)
    document.remove(UNSEEN).strip_tags(INLINE)
    if document.root is not None:
        document.root.normalize()
    return document


def text_of(element: Element) -> str:
    """Return the text of an element and all below it, blanks collapsed, and one between lines.

    Scripts and styles within it are left out.
    """
    text = element.text if element.select_one(APART) is None else "".join(_pieces(element))
    return " ".join(text.split())


def amount_text_of(element: Element) -> str:
    """Return the text of an element with a number: the text that people see, without struck prices.

    Where digits of two elements meet, as in ``19<sup>99</sup>``, stands :data:`~.odd_digits.JOINT`, and
    :data:`~.odd_digits.GAP` where there is a blank between them.
    """
    if element.select_one("*") is None:
        return " ".join(element.text.split())
    text = ""
    is_apart = False
    for data, is_raised in _visible(element):
        words = data.split()
        if is_raised and _is_footnote(text, words):
            continue
        if words:
            is_apart = is_apart or data[0].isspace()
            text += _between(text, words[0], is_apart=is_apart, is_raised=is_raised) + " ".join(words)
            is_apart = data[-1].isspace()
        else:
            is_apart = True
    return text or text_of(element)


def _visible(element: Element) -> Iterator[tuple[str, bool]]:
    """Yield the texts of an element that are not struck, " " for a new line, and whether each holds cents."""
    waiting: list[Node | None] = [*reversed(element.children)]
    while waiting:
        node = waiting.pop()
        if node is None:
            yield " ", False
        elif isinstance(node, Text):
            parent = node.parent
            yield node.data, isinstance(parent, Element) and _is_raised(parent)
        elif isinstance(node, Element) and node.tag not in _LEFT_OUT:
            line = [None] if node.tag in _BREAKING else []
            waiting += [*line, *reversed(node.children), *line]


def _is_raised(element: Element) -> bool:
    if element.tag in ("sup", "sub"):
        return True
    name = (element.attr("class") or "").lower()
    return bool(name) and any(word in name for word in _CENTS)


def _is_footnote(text: str, words: list[str]) -> bool:
    """Whether raised digits stand behind a whole price: ``19,99 €<sup>1</sup>``.

    They are cents in ``19 €<sup>99</sup>``.
    """
    if len(words) != 1 or not words[0].isdecimal() or len(words[0]) > CENT_DIGITS or not text:
        return False
    if text[-1].isdecimal() or not any(map(str.isdecimal, text)):
        return False
    return len(words[0]) < CENT_DIGITS or _HAS_CENTS.search(text) is not None


def _between(text: str, word: str, *, is_apart: bool, is_raised: bool) -> str:
    """Return what stands between two texts of a number."""
    plain = " " if text and is_apart else ""
    if not (text and word[0].isdecimal()):
        return plain
    is_two = len(word) >= CENT_DIGITS and word[:2].isdecimal() and not word[2:3].isdecimal()
    if is_raised and is_two and text[-1] in "€$£" and text[:-1].rstrip()[-1:].isdecimal():
        return " "
    if text[-1] in ".," and text[-2:-1].isdecimal():
        return "" if is_two else plain
    if not text[-1].isdecimal():
        return plain
    if not is_apart or (is_raised and is_two):
        return JOINT
    return GAP if len(word) == CENT_DIGITS and is_two else plain


def _pieces(element: Element) -> Iterator[str]:
    for node in element.descendants:
        if _is_breaking(node) or _is_breaking(node.previous_sibling):
            yield " "
        if isinstance(node, Text) and not _is_code(node.parent):
            yield node.data


def _is_code(node: Node | None) -> bool:
    return isinstance(node, Element) and node.tag in ("script", "style")


def _is_breaking(node: Node | None) -> bool:
    return isinstance(node, Element) and node.tag in _BREAKING


def canonical_url_of(document: Document, url: str) -> str | None:
    """Return where a page from ``url`` says it belongs; None if it does not say."""
    node = document.select_one("link[rel~=canonical][href]")
    return absolute(base_of(document, url), node.attr("href") or "") if node is not None else None


def language_of(document: Document) -> str | None:
    """Return the language that a page says it is in; None if it does not say."""
    return (document.root.attr("lang") if document.root is not None else None) or None


def title_of(document: Document) -> str | None:
    """Return the text of ``<title>``, None if there is none or it is empty."""
    node = document.select_one("title")  # in which there are no elements
    return " ".join(node.text.split()) or None if node is not None else None


def refresh_of(document: Document) -> Refresh | None:
    """Return the refresh that a page asks browsers for; those in ``noscript`` are for others."""
    for node in document.select('meta[http-equiv="refresh" i][content]'):
        found = read_refresh(node.attr("content") or "")
        if found is not None and not any(
            isinstance(one, Element) and one.tag == "noscript" for one in node.ancestors
        ):
            return found
    return None
