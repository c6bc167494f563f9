"""A small shop in HTML, mounted below ``/shop``.

    /                      home: ``nav.categories a`` leads to the lists
    /category/{name}       20 articles a page: ``ul.products a.product``; the next page: ``a.next``
    /product/{number}      details: ``h1.title .price .currency .sku .stock .description .rating``
    /search?q={words}      articles whose title or description has every word, listed as above; the home page
                           has the form, and ``/opensearch.xml`` describes it
    /scripted/...          the lists for browsers only: see :mod:`agentic.fakes.shop.scripted`
    /sitemap.xml           every page worth storing, absolute
    /private/orders        robots.txt asks crawlers to stay away, but it answers

``.rating`` is missing where nobody has rated yet. The traps: links that differ only by tracking parameters or
fragment (to pages that are linked without them too), a link to another site, and links into ``/private/``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from urllib.parse import parse_qsl, urlencode

from agentic.fakes.pages import TODAY, XML, Page, document, html_page, json_page
from agentic.fakes.shop.catalogue import CATEGORIES, Product, build_catalogue
from agentic.fakes.shop.scripted import catalogue_of, scripted_list

PER_PAGE = 20
KEPT_PAGES = 10_000
PRIVATE = "/private/"
OPENSEARCH = "application/opensearchdescription+xml"
ELSEWHERE = "https://partner.example/deals"
SEARCH_BOX = '<input type="search" name="q"><button>Find</button>'
SEARCH_FORM = f'<form role="search" action="search" method="get">{SEARCH_BOX}</form>'
SEARCH_LINK = f'<link rel="search" type="{OPENSEARCH}" title="The Small Shop" href="opensearch.xml">'
CATEGORY = re.compile(r"/category/([a-z]+)")
PRODUCT = re.compile(r"/product/([1-9][0-9]{0,8})")
SCRIPTED = re.compile(r"/scripted/(?:category/([a-z]+)|data/([a-z]+)\.json)")
PAGE_NUMBER = re.compile(r"(?:.*&)?page=([1-9][0-9]{0,5})(?:&.*)?")


class Shop:
    """The shop over a catalogue made from ``seed``; pages are rendered when first asked for, then kept.

    Args:
        seed: The same seed gives the same bytes.
        products: Number of articles.
    """

    def __init__(self, seed: int = 1, products: int = 240) -> None:
        self._products = build_catalogue(seed, products)
        self._lists = {
            name: [p for p in self._products.values() if p.category == name] for name in CATEGORIES
        }
        self._kept = lru_cache(maxsize=KEPT_PAGES)(self._render)

    def page(self, path: str, query: str, base: str) -> Page | None:
        """See :meth:`Site.page`."""
        if path == "/sitemap.xml":
            return Page(self._sitemap(base).encode(), XML, modified=TODAY)
        if path == "/opensearch.xml":
            return Page(_opensearch(base).encode(), OPENSEARCH, modified=TODAY)
        found = PAGE_NUMBER.fullmatch(query)
        number = int(found[1]) if found else 1
        if path == "/search":
            return html_page(self._search(dict(parse_qsl(query)).get("q", ""), number))
        if path.startswith("/scripted/"):
            return self._scripted(path, number, is_fetched="source=fetch" in query)
        return self._kept(path, number)

    def paths(self) -> list[str]:
        """Return the path of every page worth storing, the home page first."""
        lists = [
            _list_path(name, page) for name in CATEGORIES for page in range(1, self._last_page(name) + 1)
        ]
        return ["/", *lists, *(f"/product/{number}" for number in self._products)]

    def _render(self, path: str, page: int) -> Page | None:
        markup = self._markup(path, page)
        return html_page(markup) if markup else None

    def _markup(self, path: str, page: int) -> str | None:
        if path == "/":
            return self._home()
        if path.startswith(PRIVATE):
            return _document("Orders", "<p>Nobody but you should see this.</p>", "../")
        if (found := CATEGORY.fullmatch(path)) and found[1] in self._lists:
            return self._list(found[1], page)
        product = self._products.get(int(found[1])) if (found := PRODUCT.fullmatch(path)) else None
        return self._detail(product) if product else None

    def _home(self) -> str:
        names = "".join(f'<li><a href="category/{name}">{name.title()}</a></li>' for name in CATEGORIES)
        featured = "".join(
            f'<li><a href="product/{number}{tail}">Offer</a></li>'
            for number in [*self._products][:3]
            for tail in ("", "?utm_source=home&amp;utm_medium=banner", "#reviews")
        )
        body = f'<nav class="categories"><ul>{names}</ul></nav><ul class="featured">{featured}</ul>'
        body += f'{SEARCH_FORM}<p><a href="{ELSEWHERE}">Our partner</a></p>'
        return _document("The Small Shop", body, "", head=SEARCH_LINK)

    def _search(self, words: str, page: int) -> str:
        wanted = words.casefold().split()
        found = [p for p in self._products.values() if all(word in _text(p) for word in wanted)]
        rows = "".join(_row(product, "") for product in _slice(found, page))
        following = urlencode({"q": words, "page": page + 1})
        more = f'<a class="next" rel="next" href="?{escape(following)}">Next page</a>'
        body = f'{SEARCH_FORM}<p class="count">{len(found)}</p><ul class="products">{rows}</ul>'
        return _document(f"Search: {words}", body + (more if page * PER_PAGE < len(found) else ""), "")

    def _scripted(self, path: str, page: int, *, is_fetched: bool) -> Page | None:
        found = SCRIPTED.fullmatch(path)
        category = (found[1] or found[2]) if found else ""
        if not found or category not in self._lists or page > self._last_page(category):
            return None
        more = f"?page={page + 1}" + ("&source=fetch" if is_fetched or found[2] else "")
        following = more if page < self._last_page(category) else None
        catalogue = catalogue_of(_slice(self._lists[category], page), following)
        if found[2]:
            return json_page(catalogue)
        return scripted_list(category, catalogue, page, is_fetched=is_fetched)

    def _list(self, category: str, page: int) -> str | None:
        last = self._last_page(category)
        if page > last:
            return None
        rows = "".join(_row(product, "../") for product in _slice(self._lists[category], page))
        following = f'<a class="next" rel="next" href="?page={page + 1}">Next page</a>' if page < last else ""
        earlier = (
            f'<a class="previous" href="{_previous(category, page)}">Previous page</a>' if page > 1 else ""
        )
        title = f"{category.title()}, page {page} of {last}"
        return _document(title, f'<ul class="products">{rows}</ul><p>{earlier} {following}</p>', "../")

    def _detail(self, product: Product) -> str:
        related = [self._products[number] for number in product.related]
        return _document(product.title, _details(product) + _related(related), "../")

    def _last_page(self, category: str) -> int:
        return max(-(-len(self._lists[category]) // PER_PAGE), 1)

    def _sitemap(self, base: str) -> str:
        urls = "".join(f"<url><loc>{escape(base + path)}</loc></url>" for path in self.paths())
        namespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
        return f'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="{namespace}">{urls}</urlset>'


def _opensearch(base: str) -> str:
    url = f'<Url type="text/html" template="{escape(base)}/search?q={{searchTerms}}"/>'
    namespace = "http://a9.com/-/spec/opensearch/1.1/"
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><OpenSearchDescription xmlns="{namespace}">'
        "<ShortName>The Small Shop</ShortName><Description>Articles</Description>"
        f"{url}</OpenSearchDescription>"
    )


def _slice(products: Sequence[Product], page: int) -> Sequence[Product]:
    return products[(page - 1) * PER_PAGE : page * PER_PAGE]


def _text(product: Product) -> str:
    return f"{product.title} {product.description}".casefold()


def _document(title: str, body: str, home: str, *, head: str = "") -> str:
    """Return a whole page; ``home`` is the relative path to the home page."""
    framed = (
        f'<header><a href="{home or "./"}">The Small Shop</a></header><main>{body}</main>'
        f'<footer><a href="{home}private/orders">Your orders</a></footer>'
    )
    return document(title, framed, head=head)


def _row(product: Product, home: str) -> str:
    return (
        f'<li><a class="product" href="{home}product/{product.number}">{escape(product.title)}</a> '
        f'<span class="price">{product.price}</span> <span class="currency">{product.currency}</span></li>'
    )


def _details(product: Product) -> str:
    rating = f'<dt>Rating</dt><dd class="rating">{product.rating}</dd>' if product.rating else ""
    category = product.category
    return (
        f'<p><a href="../category/{category}?utm_source=breadcrumb">{category.title()}</a></p>'
        f'<article><h1 class="title">{escape(product.title)}</h1>'
        f'<p><span class="price">{product.price}</span> <span class="currency">{product.currency}</span></p>'
        f'<dl><dt>SKU</dt><dd class="sku">{product.sku}</dd>'
        f'<dt>In stock</dt><dd class="stock">{product.stock}</dd>{rating}</dl>'
        f'<p class="description">{escape(product.description)}</p></article>'
    )


def _related(products: Sequence[Product]) -> str:
    links = "".join(
        f'<li><a href="{p.number}">{escape(p.title)}</a> '
        f'<a href="{p.number}?utm_campaign=related#reviews">Reviews</a></li>'
        for p in products
    )
    return f'<aside><h2>Others looked at</h2><ul class="related">{links}</ul></aside>'


def _list_path(category: str, page: int) -> str:
    return f"/category/{category}" + (f"?page={page}" if page > 1 else "")


def _previous(category: str, page: int) -> str:
    return f"?page={page - 1}" if page > 2 else category
