"""Texts as people write them, in Markdown, and as Reddit shows them."""

from __future__ import annotations

import re
from html import escape

BOLD = re.compile(r"\*\*(.+?)\*\*")
LINK = re.compile(r"\[(.+?)\]\((.+?)\)")


def marked_up(text: str) -> str:
    """Return ``text`` with its first word bold and its second one a link."""
    first, second, rest = text.split(" ", 2)
    return f"**{first}** [{second}](https://example.org/{second}) {rest}"


def html_of(text: str) -> str:
    """Return the HTML that a feed, and ``selftext_html``, have of a text."""
    shown = LINK.sub(r'<a href="\2">\1</a>', BOLD.sub(r"<strong>\1</strong>", escape(text)))
    return f'<div class="md"><p>{shown}</p>\n</div>'
