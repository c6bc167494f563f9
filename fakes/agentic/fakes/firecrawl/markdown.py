"""HTML as simple Markdown: headings, paragraphs, lists, links, emphasis, code."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

HEADINGS = {f"h{level}": f"\n\n{'#' * level} " for level in range(1, 7)}
BREAKS = {"p", "div", "section", "article", "main", "ul", "ol", "dl", "table", "blockquote", "form", "pre"}
LINES = {"br", "tr", "dt"}
MARKS = {"strong": "**", "b": "**", "em": "_", "i": "_", "code": "`"}
SILENT = {"script", "style", "noscript", "template", "head"}


def markdown_of(markup: str, url: str) -> str:
    """Return ``markup`` as Markdown, its links absolute."""
    writer = _Writer(url)
    writer.feed(markup)
    writer.close()
    lines = (re.sub(r"[ \t]+", " ", line).strip() for line in "".join(writer.pieces).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Writer(HTMLParser):
    """Sees one tag after the other, so that depth costs nothing."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._url = url
        self._silent = 0
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SILENT:
            self._silent += 1
        elif tag == "a":
            self._links.append(urljoin(self._url, dict(attrs).get("href") or ""))
            self.pieces.append("[")
        else:
            self.pieces.append(_opening(tag))

    def handle_endtag(self, tag: str) -> None:
        if tag in SILENT:
            self._silent = max(self._silent - 1, 0)
        elif tag == "a" and self._links:
            self.pieces.append(f"]({self._links.pop()})")
        elif tag in MARKS:
            self.pieces.append(MARKS[tag])
        elif tag in HEADINGS or tag in BREAKS:
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(re.sub(r"\s+", " ", data))


def _opening(tag: str) -> str:
    if tag == "li":
        return "\n- "
    if tag in BREAKS:
        return "\n\n"
    if tag in LINES:
        return "\n"
    return HEADINGS.get(tag) or MARKS.get(tag) or " " * (tag in {"td", "th", "dd"})
