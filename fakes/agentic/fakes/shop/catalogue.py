"""What the shop sells, from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from agentic.fakes.words import heading, seeded, sentence

CATEGORIES = ("lamps", "kettles", "notebooks", "chairs", "clocks", "bags")
RELATED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One article; ``rating`` is None while nobody has rated it, ``price`` is in ``currency``."""

    number: int
    category: str
    title: str
    price: str
    currency: str
    sku: str
    stock: int
    description: str
    rating: str | None
    related: tuple[int, ...]


def build_catalogue(seed: int, products: int) -> dict[int, Product]:
    """Return ``products`` articles by number, counted from 1 and dealt out over the categories in turn."""
    random = seeded("shop", seed)
    return {number: _product(random, number, products) for number in range(1, products + 1)}


def _product(random: Random, number: int, products: int) -> Product:
    cents = random.randrange(199, 99_999)
    return Product(
        number=number,
        category=CATEGORIES[(number - 1) % len(CATEGORIES)],
        title=heading(random, random.randrange(2, 5)),
        price=f"{cents // 100}.{cents % 100:02}",
        currency=random.choice(("EUR", "EUR", "EUR", "USD", "GBP")),
        sku=f"{random.randrange(16**6):06X}-{number:05}",
        stock=random.choice((0, random.randrange(1, 500))),
        description=f"{sentence(random, 18)}. {sentence(random, 12)}.",
        rating=None if random.random() < 0.15 else f"{random.randrange(10, 51) / 10:.1f}",
        related=_others(random, number, products),
    )


def _others(random: Random, number: int, products: int) -> tuple[int, ...]:
    others = random.sample(range(1, products + 1), k=min(products, RELATED + 1))
    return tuple(other for other in others if other != number)[:RELATED]
