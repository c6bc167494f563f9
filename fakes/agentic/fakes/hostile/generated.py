"""Sites of any size, made up as they are asked for: ``/hostile/site/{size}/`` and ``/hostile/deep/{n}``.

    /site/{size}/              links to the first 100 lists
    /site/{size}/list/{n}      50 articles: ``ul.products a.product``; the next list: ``a.next``
    /site/{size}/item/{n}      details: ``h1.title .price .currency .sku .stock .description``
    /deep/{n}                  a calendar that always has a next month

``size`` is the number of articles, counted from 1; with the home page and the lists a site has
:func:`page_count` pages. A page takes some microseconds to make, and nothing is kept.
"""

from __future__ import annotations

import re
from functools import lru_cache

from agentic.fakes.pages import HTML, TODAY, Page, document, html_page
from agentic.fakes.words import WORDS, seeded, sentence

PER_LIST = 50
FIRST_LISTS = 100
MAX_SIZE = 10_000_000
VARIETY = 97
PATH = re.compile(r"/([1-9][0-9]{0,7})/(?:(list|item)/([1-9][0-9]{0,7}))?")
DAY = re.compile(r"/([0-9]{1,18})")
HEAD = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>'
MIDDLE = '</title></head><body><header><a href="../">Home</a></header><main>'
END = "</main></body></html>"


def list_count(size: int) -> int:
    """Return how many lists a site of ``size`` articles has."""
    return -(-size // PER_LIST)


def page_count(size: int) -> int:
    """Return how many pages a site of ``size`` articles has."""
    return 1 + list_count(size) + size


class Generated:
    """Sites of every size at once."""

    def page(self, path: str, query: str, base: str) -> Page | None:  # noqa: ARG002 - all links are relative
        """See :meth:`Site.page`."""
        found = PATH.fullmatch(path)
        size = int(found[1]) if found else 0
        if not found or size > MAX_SIZE:
            return None
        number = int(found[3] or 0)
        match found[2]:
            case "item" if number <= size:
                markup = _item(number)
            case "list" if number <= list_count(size):
                markup = _list(number, size)
            case None:
                markup = _home(size)
            case _:
                return None
        return Page(markup.encode(), HTML, modified=TODAY)


class Deep:
    """A space of links without an end: each month links to the next, and to the next year."""

    def page(self, path: str, query: str, base: str) -> Page | None:  # noqa: ARG002 - all links are relative
        """See :meth:`Site.page`."""
        found = DAY.fullmatch(path)
        if not found:
            return None
        number = int(found[1])
        title = f"Month {number}"
        near = f'<a class="next" rel="next" href="{number + 1}">Next month</a>'
        far = f'<a href="{number + 12}">Next year</a>'
        return html_page(document(title, f"<h1>{title}</h1><p>Nothing planned.</p>{near} {far}"))


def title_of(number: int) -> str:
    """Return the title of article ``number``."""
    words = len(WORDS)
    return f"{WORDS[number % words].title()} {WORDS[number // words % words]} {number}"


def price_of(number: int) -> str:
    """Return the price of article ``number``."""
    cents = number * 7_919 % 99_800 + 199
    return f"{cents // 100}.{cents % 100:02}"


def _item(number: int) -> str:
    title = title_of(number)
    return (
        f'{HEAD}{title}{MIDDLE}<article><h1 class="title">{title}</h1><p><span class="price">'
        f'{price_of(number)}</span> <span class="currency">EUR</span></p><dl><dt>SKU</dt>'
        f'<dd class="sku">G-{number:08}</dd><dt>In stock</dt><dd class="stock">{number * 31 % 500}</dd></dl>'
        f'<p class="description">{_sentences()[number % VARIETY]}</p></article>{END}'
    )


def _list(number: int, size: int) -> str:
    first = (number - 1) * PER_LIST + 1
    rows = "".join(
        [
            f'<li><a class="product" href="../item/{one}">{title_of(one)}</a></li>'
            for one in range(first, min(first + PER_LIST, size + 1))
        ]
    )
    more = f'<a class="next" rel="next" href="{number + 1}">Next</a>' if number < list_count(size) else ""
    return f'{HEAD}List {number}{MIDDLE}<ul class="products">{rows}</ul>{more}{END}'


def _home(size: int) -> str:
    rows = "".join(
        f'<li><a href="list/{number}">List {number}</a></li>'
        for number in range(1, min(list_count(size), FIRST_LISTS) + 1)
    )
    return document(f"{size} articles", f'<ul class="lists">{rows}</ul>')


@lru_cache(maxsize=1)
def _sentences() -> list[str]:
    random = seeded("generated", 1)
    return [f"{sentence(random, 18)}. {sentence(random, 12)}." for _ in range(VARIETY)]
