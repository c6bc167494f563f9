"""What the newspaper prints, from a seed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random

from agentic.fakes.pages import TODAY
from agentic.fakes.words import heading, seeded, sentence

ARTICLES = 80
SECTIONS = ("world", "science", "culture", "sport")
AUTHORS = ("Maria Kowalska", "Jürgen Weiß", "Ngozi Okafor", "Léa Martin")
INTERVAL = timedelta(hours=6)
REVISED_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """One article; times are in UTC."""

    slug: str
    title: str
    section: str
    author: str
    lead: str
    paragraphs: tuple[str, ...]
    comments: tuple[str, ...]
    published: datetime
    modified: datetime


def build_articles(seed: int = 1, articles: int = ARTICLES) -> dict[str, Article]:
    """Return ``articles`` articles by slug, the newest first, each six hours before the one above."""
    random = seeded("news", seed)
    made = (_article(random, number) for number in range(articles))
    return {article.slug: article for article in made}


def revise(article: Article, times: int) -> Article:
    """Return ``article`` after so many revisions: its first paragraph reworded, and a note for each."""
    if not times:
        return article
    first = f"{article.paragraphs[0]} This paragraph was reworded, for the last time in revision {times}."
    notes = (f"Update {number}: the figures were checked again." for number in range(1, times + 1))
    return replace(
        article,
        paragraphs=(first, *article.paragraphs[1:], *notes),
        modified=article.published + times * REVISED_AFTER,
    )


def _article(random: Random, number: int) -> Article:
    title, published = heading(random, 6), TODAY - timedelta(hours=1) - number * INTERVAL
    return Article(
        slug=f"{number + 1}-{re.sub('[^a-z]+', '-', title.casefold()).strip('-')}",
        title=title,
        section=SECTIONS[number % len(SECTIONS)],
        author=random.choice(AUTHORS),
        lead=f"{sentence(random, 16)}.",
        paragraphs=tuple(_paragraph(random) for _ in range(random.randrange(4, 8))),
        comments=tuple(f"{sentence(random, 7)}!" for _ in range(random.randrange(0, 4))),
        published=published,
        modified=published,
    )


def _paragraph(random: Random) -> str:
    return " ".join(f"{sentence(random, random.randrange(8, 18))}." for _ in range(4))
