"""A shop before and after a redesign, for tests of wrappers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from turbohtml import parse

from agentic.core.wrappers import Kind, Locator, LocatorKind, Observation, PageTree, Wrapper, learn


class Lamp(NamedTuple):
    """A product of the shop."""

    key: str
    title: str
    price: str
    weight: int
    about: str
    parts: tuple[str, ...]

    @property
    def row(self) -> dict[str, object]:
        """As a run stored it."""
        return {
            "title": self.title,
            "price": self.price,
            "weight": self.weight,
            "about": self.about,
            "parts": [*self.parts],
        }


LAMPS = (
    Lamp(
        "1",
        "Amber Desk Lamp",
        "49.90",
        830,
        "A quiet lamp for long evenings, made of oak.",
        ("one shade", "two bulbs", "a cable"),
    ),
    Lamp(
        "2",
        "Tall Reading Light",
        "120.00",
        2400,
        "It bends over the chair and stays there.",
        ("a pole", "one shade", "a foot switch"),
    ),
    Lamp(
        "3",
        "Paper Moon",
        "18.50",
        310,
        "Folded by hand, and light enough for a thread.",
        ("a paper shade", "a thread"),
    ),
)

_OLD = """<html><head><title>{title} - Shop</title></head><body>
<nav><a href=/>Home</a> <a href=/lamps>Lamps</a></nav>
<div class="product"><h1 class="product-title">{title}</h1><p class="about">{about}</p>
<p><span class="price">{price}</span> EUR</p>
<table><tr><th>Weight</th><td class="weight">{weight} g</td></tr>
<tr><th>Stock</th><td class="stock">{stock}</td></tr></table>
<h2>In the box</h2><ul class="parts">{old_parts}</ul></div>
<footer><p>Call us: 030 1234</p></footer></body></html>"""

_NEW = """<html><head><title>{title} | The new shop</title></head><body>
<header><ul><li>Home</li><li>Lamps</li></ul></header>
<main><section class="x81kd"><div class="css-1q2w3e"><div><h1>{title}</h1></div>
<div class="css-9zz8y7"><span>Price</span> <b>{price}</b></div></div>
<div class="css-77aa21"><p>{about}</p></div>
<dl><dt>Stock</dt><dd>{stock}</dd><dt>Weight</dt><dd>{weight} g</dd></dl>
<h3>In the box</h3><div class="k2j3h4">{new_parts}</div></section>
<aside><h3>Others</h3><div class="css-9zz8y7"><span>Other lamp</span> <b>77.00</b></div></aside></main>
</body></html>"""


def old_page(lamp: Lamp) -> PageTree:
    """Return a page of the old shop."""
    return _page(html_of(lamp, is_new=False), lamp)


def new_page(lamp: Lamp, **without: str) -> PageTree:
    """Return a page of the new shop; texts to take out may be given."""
    html = html_of(lamp, is_new=True)
    for text in without.values():
        html = html.replace(text, "")
    return _page(html, lamp)


def html_of(lamp: Lamp, *, is_new: bool) -> str:
    """Return a page before or after the redesign."""
    return (_NEW if is_new else _OLD).format(
        title=lamp.title,
        price=lamp.price,
        weight=lamp.weight,
        about=lamp.about,
        stock=int(lamp.key) * 7,
        old_parts="".join(f"<li>{part}</li>" for part in lamp.parts),
        new_parts="".join(f"<p>{part}</p>" for part in lamp.parts),
    )


def tree_of(html: str) -> PageTree:
    """Return a page."""
    return PageTree(parse(html, positions=False), "https://shop.example/")


def _page(html: str, lamp: Lamp) -> PageTree:
    return PageTree(parse(html, positions=False), f"https://shop.example/{lamp.key}")


SELECTORS = {
    "title": "h1.product-title",
    "price": "span.price",
    "weight": "td.weight",
    "about": "p.about",
    "parts": "ul.parts li",
}


def learnt(lamps: Sequence[Lamp] = LAMPS) -> dict[str, Wrapper]:
    """Return what runs on the old shop learnt."""
    wrappers = {
        name: Wrapper(
            name,
            Kind.NUMBER if name == "weight" else Kind.TEXT,
            name == "parts",
            locators=(Locator(LocatorKind.CSS, selector),),
        )
        for name, selector in SELECTORS.items()
    }
    for lamp in lamps:
        tree = old_page(lamp)
        found = {name: wrapper.locators[0].find(tree) for name, wrapper in wrappers.items()}
        wrappers = learn(wrappers, Observation(tree, lamp.key, found, dict(lamp.row)))  # type: ignore[arg-type]
    return wrappers
