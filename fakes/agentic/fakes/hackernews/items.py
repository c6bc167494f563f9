"""Items and users as the Hacker News API shapes them, from a seed.

Every field but ``id`` may be missing. Among the stories of the front page stand one of each oddity, always at
the same rank (:data:`ODDITIES`), so that a short run meets them too.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from agentic.core.types import JSONValue
from agentic.fakes.words import heading, seeded, sentence

Item = dict[str, JSONValue]

EPOCH = 1_767_225_600  # 2026-01-01T00:00:00Z
FIRST_ID = 46_000_000
SECONDS_APART = 97
USER_COUNT = 60
ODDITIES = {
    3: "ask",
    5: "show",
    7: "job",
    9: "poll",
    11: "dead",
    13: "deleted",
    15: "missing",
    17: "bare",
}
COMMON = ("story",) * 16 + ("ask", "ask", "show", "show", "job", "poll")


@dataclass(slots=True)
class Archive:
    """Everything the API knows.

    Attributes:
        items: By id; an id that was given out but is not here answers ``null``.
        users: By name.
        kinds: Kind of each submission, by id: ``story``, ``ask``, ``show``, ``job``, ``poll`` or an oddity.
        front: Ids of the submissions by rank.
        max_id: Newest id given out.
    """

    items: dict[int, Item] = field(default_factory=dict)
    users: dict[str, Item] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)
    front: list[int] = field(default_factory=list)
    max_id: int = FIRST_ID - 1


def build_archive(seed: int, stories: int) -> Archive:
    """Return an archive with ``stories`` submissions, their comments, poll options and authors."""
    random = seeded("hackernews", seed)
    builder = _Builder(random, Archive())
    ranks = random.sample(range(stories), k=stories)
    ids = [builder.submit(ODDITIES.get(rank) or random.choice(COMMON)) for rank in ranks]
    builder.archive.front = [submitted for _, submitted in sorted(zip(ranks, ids, strict=True))]
    builder.add_users()
    return builder.archive


class _Builder:
    """Adds items in the order of their ids and times."""

    def __init__(self, random: Random, archive: Archive) -> None:
        self.random = random
        self.archive = archive
        self.names = [f"{sentence(random, 1)}{number}" for number in range(USER_COUNT)]
        self._makers: dict[str, Callable[[Item], None]] = {
            "ask": self._make_ask,
            "job": self._make_job,
            "poll": self._make_poll,
            "dead": self._make_dead,
            "show": self._make_show,
        }

    def submit(self, kind: str) -> int:
        """Add one submission of ``kind`` and what hangs on it; return its id."""
        number = self._next_id()
        self.archive.kinds[number] = kind
        if kind == "missing":
            return number
        item: Item = {"id": number, "type": "story", "time": _time_of(number)}
        self.archive.items[number] = item
        if kind == "deleted":
            item["deleted"] = True
        elif kind == "bare":
            self.archive.items[number] = {"id": number}
        else:
            self._fill(item, kind)
        return number

    def add_users(self) -> None:
        """Add everybody who wrote something."""
        submitted: dict[str, list[JSONValue]] = {}
        for number, item in self.archive.items.items():
            if isinstance(author := item.get("by"), str):
                submitted.setdefault(author, []).insert(0, number)
        for name, numbers in sorted(submitted.items()):
            user: Item = {"id": name, "created": EPOCH - self.random.randrange(10**8), "submitted": numbers}
            user["karma"] = self.random.randrange(1, 20_000)
            if self.random.random() < 0.5:
                user["about"] = _as_html(sentence(self.random, 8))
            self.archive.users[name] = user

    def _fill(self, item: Item, kind: str) -> None:
        title = heading(self.random, self.random.randrange(4, 9))
        item |= {"by": self.random.choice(self.names), "score": self.random.randrange(1, 900)}
        item |= {"title": html.escape(title), "url": self._link()}
        if maker := self._makers.get(kind):
            maker(item)
        if kind not in ("job", "dead"):
            self._add_comments(item)

    def _make_ask(self, item: Item) -> None:
        item["title"] = f"Ask HN: {item['title']}?"
        item["text"] = _as_html(sentence(self.random, 20), link=self._link())
        del item["url"]

    def _make_show(self, item: Item) -> None:
        item["title"] = f"Show HN: {item['title']}"

    def _make_job(self, item: Item) -> None:
        item |= {"type": "job", "title": f"{item['title']} (YC S26) is hiring", "score": 1, "url": ""}
        item["text"] = _as_html(sentence(self.random, 15))

    def _make_dead(self, item: Item) -> None:
        item["dead"] = True

    def _make_poll(self, item: Item) -> None:
        del item["url"]
        item |= {"type": "poll", "title": f"Poll: {item['title']}?", "text": ""}
        item["parts"] = [self._add_option(item) for _ in range(self.random.randrange(2, 6))]

    def _add_option(self, poll: Item) -> int:
        number = self._next_id()
        option: Item = {
            "id": number,
            "type": "pollopt",
            "time": poll["time"],
            "by": poll["by"],
            "poll": poll["id"],
        }
        option |= {"score": self.random.randrange(300), "text": _as_html(heading(self.random, 2))}
        self.archive.items[number] = option
        return number

    def _add_comments(self, story: Item) -> None:
        count = self.random.randrange(5)
        story["descendants"] = count
        above = [story]
        for _ in range(count):
            parent = self.random.choice(above)
            comment = self._add_comment(parent)
            if "deleted" not in comment:
                above.append(comment)

    def _add_comment(self, parent: Item) -> Item:
        number = self._next_id()
        comment: Item = {"id": number, "type": "comment", "time": _time_of(number), "parent": parent["id"]}
        chance = self.random.random()
        if chance < 0.05:
            comment["deleted"] = True
        else:
            text = _as_html(sentence(self.random, self.random.randrange(5, 30)))
            comment |= {"by": self.random.choice(self.names), "text": text}
            comment |= {"dead": True} if chance < 0.08 else {}
        kids = parent.setdefault("kids", [])
        if isinstance(kids, list):
            kids.append(number)
        self.archive.items[number] = comment
        return comment

    def _link(self) -> str:
        words = "-".join(sentence(self.random, 3).lower().split())
        return f"https://{self.random.choice(('blog', 'docs', 'news'))}.example.org/{words}?a=1&b=2"

    def _next_id(self) -> int:
        self.archive.max_id += 1
        return self.archive.max_id


def _time_of(number: int) -> int:
    return EPOCH + (number - FIRST_ID) * SECONDS_APART


def _as_html(text: str, link: str = "") -> str:
    """Escape as the site does, slashes of links included."""
    escaped = html.escape(text)
    if not link:
        return escaped
    shown = html.escape(link).replace("/", "&#x2F;")
    return f'{escaped}<p>See <a href="{shown}" rel="nofollow">{shown}</a>'
