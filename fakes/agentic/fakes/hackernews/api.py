"""A fake of the Hacker News APIs, mounted below ``/hackernews``.

/v0/topstories.json  newstories  beststories            at most 500 ids
/v0/askstories.json  showstories  jobstories            at most 200 ids
/v0/item/{id}.json   /v0/user/{name}.json (case counts)  ``null`` with status 200 when there is none
/v0/maxitem.json     /v0/updates.json
/api/v1/...                                             Algolia's, in hackernews_search.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentic.core.types import JSONValue
from agentic.fakes.hackernews.items import Archive, build_archive
from agentic.fakes.hackernews.search import PREFIX, Algolia
from agentic.fakes.pages import Page, json_page

LONG_LIST = 500
SHORT_LIST = 200
UPDATED = 20
ITEM_OR_USER = re.compile(r"/v0/(item|user)/[^/]+\.json")


class HackerNews:
    """Both APIs over an archive made from ``seed``; every answer of Firebase's is rendered once, here.

    Args:
        seed: The same seed gives the same bytes.
        stories: Number of submissions; comments and poll options come on top.
    """

    def __init__(self, seed: int = 1, stories: int = 500) -> None:
        archive = build_archive(seed, stories)
        answers: dict[str, JSONValue] = {
            f"/v0/item/{number}.json": item for number, item in archive.items.items()
        }
        answers |= {f"/v0/user/{name}.json": user for name, user in archive.users.items()}
        answers |= {f"/v0/{name}.json": value for name, value in _lists(archive).items()}
        self._pages = {path: json_page(answer) for path, answer in answers.items()}
        self._null = json_page(None)
        self._algolia = Algolia(archive)

    def page(self, path: str, query: str, base: str) -> Page | None:  # noqa: ARG002 - no answer has a link
        """See :meth:`Site.page`."""
        if path.startswith(PREFIX):
            return self._algolia.page(path.removeprefix(PREFIX), query)
        return self._pages.get(path) or (self._null if ITEM_OR_USER.fullmatch(path) else None)


def _lists(archive: Archive) -> dict[str, JSONValue]:
    newest = sorted(archive.front, reverse=True)
    best = sorted(archive.front, key=lambda number: (-_score(archive, number), number))
    authors = sorted(archive.users)
    return {
        "topstories": _ids(archive.front, LONG_LIST),
        "newstories": _ids(newest, LONG_LIST),
        "beststories": _ids(best, LONG_LIST),
        "askstories": _ids(_of_kind(archive, "ask", newest), SHORT_LIST),
        "showstories": _ids(_of_kind(archive, "show", newest), SHORT_LIST),
        "jobstories": _ids(_of_kind(archive, "job", newest), SHORT_LIST),
        "maxitem": archive.max_id,
        "updates": {"items": _ids(newest, UPDATED), "profiles": [*authors[:UPDATED]]},
    }


def _ids(numbers: Iterable[int], limit: int) -> list[JSONValue]:
    found: list[JSONValue] = [*numbers]
    return found[:limit]


def _of_kind(archive: Archive, kind: str, numbers: Iterable[int]) -> list[int]:
    return [number for number in numbers if archive.kinds[number] == kind]


def _score(archive: Archive, number: int) -> int:
    score = archive.items.get(number, {}).get("score", 0)
    return score if isinstance(score, int) else 0
