"""The pages that crawlers are measured with: lists of details, the same bytes for the same number.

    /list/N    20 links to details (``a.item-link``), and one to the next list (``a.next``)
    /item/N    a detail page

Every page, list or detail, has the five fields that a crawler stores:

    title    h1.title                     author    a.author
    score    span.score[data-score]       posted    time.posted[datetime]
    summary  p.summary

Nothing but the standard library: the peers' environments serve it, too.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from html import escape
from random import Random

PER_LIST = 20
EPOCH = 1_767_225_600
"""2026-01-01 in UTC."""

_VOCABULARY = (
    "queue graph worker actor signal retry ledger cursor harbor lantern copper violet orbit meadow kernel "
    "packet anchor ribbon timber silent rapid hollow amber summit canyon river static dynamic shard replica "
    "index socket buffer window thread mirror beacon compass garden winter summer"
)
WORDS = _VOCABULARY.split()

STYLE = (
    "body{font:16px/1.5 sans-serif;margin:0 auto;max-width:60rem}.card{padding:.5rem;"
    "border-bottom:1px solid #ddd}.nav-item{display:inline-block;padding:.25rem}"
)
NAVIGATION = "".join(
    f'<li class="nav-item"><a href="/topic/{word}">{word.title()}</a></li>' for word in WORDS[:24]
)


@dataclass(frozen=True, slots=True)
class Facts:
    """The fields of a page."""

    title: str
    author: str
    score: int
    posted: str
    summary: str


class Catalogue:
    """A site of so many pages, lists and details together.

    Attributes:
        lists: How many of them are lists.
        items: How many are details.
    """

    def __init__(self, pages: int) -> None:
        self.lists = -(-pages // (PER_LIST + 1))
        self.items = pages - self.lists

    def paths(self) -> list[str]:
        """Return the path of every page."""
        return [f"/list/{n + 1}" for n in range(self.lists)] + [f"/item/{n + 1}" for n in range(self.items)]

    def page(self, path: str) -> tuple[str, bytes] | None:
        """Return the type and the bytes of a page, None if there is none of that path."""
        _, kind, number = [*path.split("/"), "", ""][:3]
        place = int(number) if number.isdecimal() else 0
        if kind == "list" and 1 <= place <= self.lists:
            return "text/html; charset=utf-8", self._list(place)
        if kind == "item" and 1 <= place <= self.items:
            return "text/html; charset=utf-8", self._item(place)
        return None

    def _list(self, number: int) -> bytes:
        first = (number - 1) * PER_LIST + 1
        cards = "".join(_card(n) for n in range(first, min(first + PER_LIST, self.items + 1)))
        after = (
            f'<a class="next" rel="next" href="/list/{number + 1}">Next</a>' if number < self.lists else ""
        )
        head = _fields(facts("list", number))
        return _document(
            f"List {number}",
            f'{head}<section class="cards">{cards}</section>{after if number < self.lists else ""}',
        )

    def _item(self, number: int) -> bytes:
        known, random = facts("item", number), Random(f"body:{number}")
        paragraphs = "".join(
            f"<p>{' '.join(random.choices(WORDS, k=60))} "
            f'<a href="/item/{random.randint(1, self.items)}#c">see</a></p>'
            for _ in range(8)
        )
        rows = "".join(f"<tr><th>{word}</th><td>{random.randrange(10_000)}</td></tr>" for word in WORDS[:15])
        body = (
            f'<script type="application/ld+json">{_linked_data(known)}</script>{_fields(known)}'
            f'<article class="body">{paragraphs}</article><table class="props">{rows}</table>'
        )
        return _document(escape(known.title), body)


def facts(kind: str, number: int) -> Facts:
    """Return what a page says."""
    random = Random(f"{kind}:{number}")
    posted = time.gmtime(EPOCH + random.randrange(27_000_000))
    return Facts(
        title=f"{' '.join(random.choices(WORDS, k=5)).capitalize()} & {kind} {number}",
        author=f"{random.choice(WORDS)}{random.randrange(97)}",
        score=random.randrange(2_500),
        posted=time.strftime("%Y-%m-%dT%H:%M:%SZ", posted),
        summary=f"{' '.join(random.choices(WORDS, k=30))}.",
    )


def _card(number: int) -> str:
    known = facts("item", number)
    return (
        f'<article class="card" data-id="{number}"><h2><a class="item-link" href="/item/{number}">'
        f'{escape(known.title)}</a></h2><p class="teaser">{known.summary[:120]}</p>'
        f'<span class="price">{known.score}</span></article>'
    )


def _fields(known: Facts) -> str:
    return (
        f'<h1 class="title">{escape(known.title)}</h1>'
        f'<p class="meta"><a class="author" href="/user/{known.author}">{known.author}</a> '
        f'<span class="score" data-score="{known.score}">{known.score} points</span> '
        f'<time class="posted" datetime="{known.posted}">{known.posted[:10]}</time></p>'
        f'<p class="summary">{known.summary}</p>'
    )


def _linked_data(known: Facts) -> str:
    return json.dumps(
        {
            "@context": "https://schema.org",
            "@type": "Article",
            "headline": known.title,
            "datePublished": known.posted,
            "author": {"@type": "Person", "name": known.author},
        }
    )


def _document(title: str, body: str) -> bytes:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f'<body><header><nav><ul class="nav">{NAVIGATION}</ul></nav></header><main>{body}</main>'
        '<aside class="side"><h2>Elsewhere</h2><p>Text at the side that no crawler should store.</p></aside>'
        "<footer><p>Loopback catalogue</p></footer></body></html>"
    ).encode()
