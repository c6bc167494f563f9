"""Redesigned lists and JSON, made by chance from a seed, with their right answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.unit.core.pipeline.repairs.sites import HOME, tree

from agentic.core.pipeline.repairs.json_keys import FoundItems, find_fields, find_items
from agentic.core.pipeline.repairs.lists import ListMatch, find_list, write_places
from agentic.core.pipeline.repairs.paths import PathChoice
from agentic.core.pipeline.repairs.stored_rows import KnownRows
from agentic.core.types import JSONValue

WORDS = (
    "amber", "tall", "paper", "oak", "brass", "quiet", "moon", "river", "stone", "cedar", "linen", "copper",
    "glass", "smoke", "north", "field", "garden", "ember", "violet", "hollow",
)  # fmt: skip
Row = dict[str, JSONValue]

BESIDE: dict[str, Callable[[str], str]] = {
    "nothing": lambda _: "",
    "recent": lambda block: f"<section><h2>Recently viewed</h2>{block}</section>",
    "also": lambda block: f"<div><h3>You may also like</h3>{block}</div>",
    "aside": lambda block: f"<aside>{block}</aside>",
    "nameless": lambda block: f'<div class="x">{block}</div>',
}
"""Blocks beside a list; all their items are stored rows."""


def rows_of(random: Random, count: int = 60) -> list[Row]:
    """Return the rows of a shop."""
    return [
        {
            "url": f"{HOME}/p/{number}-{random.randrange(9_999)}",
            "title": f"{' '.join(random.choices(WORDS, k=3)).title()} {random.randint(100, 999)}",
            "price": f"{random.randint(2, 900)}.{random.randint(0, 99):02}",
            "sku": f"{random.randrange(16**6):06X}",
            "brand": random.choice(("Acme", "Bolt", "Cora", "Dyn")),
            "stock": random.randint(0, 9),
        }
        for number in range(count)
    ]


@dataclass(frozen=True)
class Layout:
    """The look of a list."""

    kind: str
    tag: str
    name: str
    is_deep: bool
    has_picture: bool
    has_wish: bool

    @staticmethod
    def of(random: Random, kind: str) -> Layout:
        """Return a look by chance."""
        name = random.choice(("card", f"css-{random.randrange(16**8):08x}", "tile__a"))
        tag = random.choice(("li", "div", "article"))
        return Layout(kind, tag, name, *(random.random() < 0.5 for _ in range(3)))

    def block(self, rows: Sequence[Row]) -> str:
        """Return a list."""
        items = [self._item(row) for row in rows]
        if self.kind == "table":
            return f"<table><tbody>{''.join(items)}</tbody></table>"
        if self.kind == "grid":
            items = [
                f'<div class="row">{"".join(items[at : at + 4])}</div>' for at in range(0, len(items), 4)
            ]
        return f'<div class="{self.name}s">{"".join(items)}</div>'

    def _item(self, row: Row) -> str:
        link = f'<a href="{row["url"]}">{row["title"]}</a>'
        picture = f'<a class="pic" href="{row["url"]}"><img src="x.png"></a>' if self.has_picture else ""
        price = f"<span>{row['price']}</span>"
        wish = '<a href="/wish?add=1">Wish</a>' if self.has_wish else ""
        if self.kind == "table":
            return f'<tr class="{self.name}"><td>{picture}</td><td>{link}</td><td>{price}{wish}</td></tr>'
        if self.kind == "flat":
            return f'<h3 class="{self.name}">{link}</h3><p>{price}{wish}</p>'
        inner = f"<div>{picture}<h4>{link}</h4>{price}</div>" if self.is_deep else f"{picture}{link}{price}"
        return f'<{self.tag} class="{self.name}">{inner}{wish}</{self.tag}>'


def repaired_list(seed: int) -> str:
    """Return ``right``, ``wrong`` or ``unsure`` for a redesigned list page."""
    random = Random(seed)
    rows, count = rows_of(random), random.choice((3, 6, 10, 30))
    new = random.choice((0.0, 0.0, 0.3, 1.0))  # the share of rows that the list did not have before
    shown = [rows[30 + at] if random.random() < new else rows[at] for at in range(random.choice((8, 12, 20)))]
    layout = Layout.of(random, random.choice(("cards", "grid", "table", "flat")))
    seen = random.sample(rows[: max(count, 6)], random.choice((3, 4, 6)))
    beside = BESIDE[random.choice(sorted(BESIDE))](Layout.of(random, "cards").block(seen))
    parts = [beside, f"<main>{layout.block(shown)}</main>"]
    random.shuffle(parts)
    links = "".join(f'<li><a href="/x/{at}">Menu {at}</a></li>' for at in range(random.choice((3, 30))))
    page = tree(f"<header><ul>{links}</ul></header>{''.join(parts)}", "/list")
    match = find_list(page, KnownRows(rows[:count]))
    places = write_places(page, match) if isinstance(match, ListMatch) else None
    if places is None:
        return "unsure"
    found = set()
    for item in page.document.select(places.item_selector):
        link = item.select_one(places.link_selector)
        found.add(link.attr("href") if link is not None else None)
    return "right" if found == {str(row["url"]) for row in shown} else "wrong"


NAMES = {
    "title": ("name", "label", "x1"),
    "price": ("amount", "cost", "price", "x2"),
    "sku": ("code", "x3"),
    "brand": ("maker", "x4"),
    "stock": ("available", "x5"),
}


def repaired_json(seed: int) -> dict[str, str]:
    """Return ``right``, ``wrong`` or ``unsure`` for each field of redesigned JSON."""
    random = Random(seed)
    rows, count = rows_of(random), random.choice((3, 6, 10, 30))
    places = {
        name: random.choice(("", "info.", "data.")) + random.choice(keys) for name, keys in NAMES.items()
    }
    gone = random.choice(("", "", "price", "stock", "brand"))
    sale = random.choice((0.0, 0.0, 0.3, 1.0))
    earlier = random.choice(("", "listPrice", "y1")) if gone != "price" else ""

    def item(row: Row) -> JSONValue:
        made: dict[str, JSONValue] = {"pos": random.randint(0, 9), "reviews": random.randint(0, 50)}
        for name, place in places.items():
            value = row[name]
            if name == "price":
                made |= {earlier: value} if earlier else {}
                value = f"{float(str(value)) * 0.8:.2f}" if random.random() < sale else value
            if name != gone:
                outer, _, key = place.rpartition(".")
                part = made.setdefault(outer, {}) if outer else made
                assert isinstance(part, dict)
                part[key] = value
        return made

    data: JSONValue = {
        "result": {"items": [item(row) for row in rows[:12]]},
        "recommended": [item(row) for row in rows[:3]],
        "featured": [item(row) for row in random.sample(rows[:12], 6)],
    }
    found = find_items(data, rows[:count])
    if not isinstance(found, FoundItems):
        return {"items": "unsure"}
    if found.path != "result.items":
        return {"items": "wrong"}
    choices = find_fields(found, {name: name for name in NAMES})
    right = {name: place for name, place in places.items() if name != gone}
    return {"items": "right"} | {
        name: "unsure"
        if not isinstance(choice, PathChoice)
        else "right"
        if choice.path == right.get(name)
        else "wrong"
        for name, choice in choices.items()
    }
