"""Pages of small sites before and after a redesign, for tests of repairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from turbohtml import parse

from agentic.core.actors import Page
from agentic.core.pipeline.repairs.searches import SeenPage
from agentic.core.types import JSONValue
from agentic.core.wrappers import PageTree

HOME = "https://tools.example"
NAMES = (
    "Claw hammer", "Hand plane", "Bench vice", "Spirit level", "Folding rule", "Marking gauge", "Block plane",
    "Coping saw", "Tenon saw", "Mortise chisel", "Bevel gauge", "Wooden mallet",
)  # fmt: skip
ROWS: list[dict[str, JSONValue]] = [
    {
        "url": f"{HOME}/tool/{number}",
        "title": f"{name} no. {number}",
        "price": f"{10 + 3 * number}.{number:02}",
        "stock": number % 4,
    }
    for number, name in enumerate(NAMES, 1)
]


def tree(body: str, path: str = "/tools", *, title: str = "Tools") -> PageTree:
    """Return a page."""
    html = f"<html><head><title>{title}</title></head><body>{body}</body></html>"
    return PageTree(parse(html, positions=False), f"{HOME}{path}")


def cards(rows: Sequence[Mapping[str, JSONValue]], tag: str = "div") -> str:
    """Return the items of a list after the redesign."""
    return "".join(
        f'<{tag} class="card"><a class="more" href="/compare?of={at}">Compare</a>'
        f'<h3 class="name"><a href="{row["url"]}">{row["title"]}</a></h3><b class="amount">{row["price"]}</b>'
        f'<i class="left">{row["stock"]}</i></{tag}>'
        for at, row in enumerate(rows)
    )


class Pages:
    """A site in memory: address -> page; all others are not found."""

    def __init__(self, pages: Mapping[str, str | JSONValue], sitemap: Sequence[str] = ()) -> None:
        self.pages = dict(pages)
        self.moved: dict[str, str] = {}
        self.asked: list[str] = []
        self.down = False
        self._sitemap = sitemap

    async def page(self, url: str) -> SeenPage:
        """See :class:`PageSource`."""
        self.asked.append(url)
        final = self.moved.get(url, url)
        content = self.pages.get(final)
        if content is None or self.down:
            return SeenPage(url, 503 if self.down else 404)
        is_html = isinstance(content, str)
        text = content if isinstance(content, str) else _json(content)
        kind = "text/html" if is_html else "application/json"
        when = datetime(2026, 1, 1, tzinfo=UTC)
        page = Page(
            url=url,
            final_url=final,
            status=200,
            content_type=kind,
            text=text,
            content_hash="",
            fetched_at=when,
        )
        return SeenPage(url, 200, page)

    async def sitemap(self, url: str) -> Sequence[str]:
        """See :class:`PageSource`."""
        return self._sitemap


def _json(value: JSONValue) -> str:
    import json

    return json.dumps(value)
