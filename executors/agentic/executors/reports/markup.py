"""Builds HTML with small functions. All text is escaped, unless a function here made it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from urllib.parse import urlsplit

# Characters that are illegal in documents, or reverse the direction of text to disguise it.
_UNFIT = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)
_EMPTY = frozenset({"meta", "br", "rect", "line", "path", "circle"})

NBSP = "\u00a0"


class Html(str):
    """Text that is already markup."""

    __slots__ = ()


def element(tag: str, /, *parts: str, **attributes: str | float | None) -> Html:
    """Return an element. Parts that are not :class:`Html` are escaped, and all attributes.

    Args:
        tag: Its name.
        parts: Its content.
        attributes: ``class_`` and ``for_`` lose their underscore, others become hyphens; None is omitted.
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
    """Return parts in a row; parts that are not :class:`Html` are escaped."""
    return Html(escaped(between).join(part if isinstance(part, Html) else escaped(part) for part in parts))


def escaped(text: str) -> str:
    """Return text escaped for a document and its attributes; illegal characters are replaced."""
    return escape(_UNFIT.sub("\ufffd", text), quote=True)


def link(url: str) -> Html:
    """Return an address as a link; an address that is not http is only text."""
    try:
        is_web = urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        is_web = False
    if not is_web:
        return element("span", url, class_="url")
    return element("a", url, class_="url", href=url, rel="noreferrer noopener")
