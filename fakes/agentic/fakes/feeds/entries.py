"""What all feeds tell of, from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from agentic.fakes.pages import TODAY
from agentic.fakes.words import heading, seeded, sentence

ENTRIES = 50
TITLE = "Notes from the Workshop"
AUTHORS = ("Ada Nowak", "Grace Łukasik", "Søren Berg")
TOPICS = ("queues", "graphs", "scraping", "tools")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry; ``summary`` is text, ``content`` markup, times are in UTC."""

    number: int
    title: str
    author: str
    topic: str
    published: datetime
    updated: datetime
    summary: str
    content: str
    audio_bytes: int
    duration_s: int


def build_entries(seed: int = 1, entries: int = ENTRIES) -> list[Entry]:
    """Return ``entries`` entries, the newest first; their numbers count from 1 for the oldest."""
    random = seeded("feeds", seed)
    moment = TODAY - timedelta(minutes=1)
    found = []
    for number in range(entries, 0, -1):
        moment -= timedelta(minutes=random.randrange(60, 3_000))
        summary = f"{sentence(random, 12)}."
        found.append(
            Entry(
                number=number,
                title=heading(random, 4),
                author=random.choice(AUTHORS),
                topic=random.choice(TOPICS),
                published=moment,
                updated=moment + timedelta(minutes=random.choice((0, 0, 30))),
                summary=summary,
                content=f"<p>{summary}</p><p>{sentence(random, 30)} &amp; more.</p>",
                audio_bytes=random.randrange(10**6, 5 * 10**7),
                duration_s=random.randrange(300, 5_400),
            )
        )
    return found
