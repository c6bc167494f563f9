"""HTML made of small functions. Text is escaped unless a function here made it, so that none is forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from urllib.parse import urlsplit

# What no document may hold, and what turns text around so that it reads as something else.
_UNFIT = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)
_EMPTY = frozenset({"meta", "br", "rect", "line", "path", "circle"})

NBSP = "\u00a0"


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def element(tag: str, /, *parts: str, **attributes: str | float | None) -> Html:
    """Return an element. Parts that are no :class:`Html` are escaped, as are all attributes.

    Args:
        tag: Its name.
        parts: What is in it.
        attributes: ``class_`` and ``for_`` lose their underscore, others become hyphens; None is left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if tag in _EMPTY and not parts:
        return Html(f"<{tag}{given}>" if tag in {"meta", "br"} else f"<{tag}{given}/>")
    return Html(f"<{tag}{given}>{joined(parts)}</{tag}>")


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Return parts in a row; those that are no :class:`Html` are escaped."""
    return Html(escaped(between).join(part if isinstance(part, Html) else escaped(part) for part in parts))


def escaped(text: str) -> str:
    """Return text as it may stand in a document and its attributes; what none may hold is replaced."""
    return escape(_UNFIT.sub("\ufffd", text), quote=True)


def link(url: str) -> Html:
    """Return an address to be followed; one of another kind than http is text only."""
    try:
        is_web = urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        is_web = False
    if not is_web:
        return element("span", url, class_="url")
    return element("a", url, class_="url", href=url, rel="noreferrer noopener")
