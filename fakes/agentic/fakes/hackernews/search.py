"""A fake of Algolia's Hacker News API over the archive of the other one, below ``/hackernews/api/v1``.

/search           all words of ``query`` in title, text or author; most points first
/search_by_date   the same, newest first
/items/{id}       the item with the whole tree of comments below it
/users/{name}     who wrote something

``tags`` are joined by commas, any of several stands in brackets; ``numericFilters`` compare created_at_i,
points and num_comments. Whatever ``page`` is asked for, there are 1,000 hits; ``nbHits`` tells of all.
"""

from __future__ import annotations

import html
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from urllib.parse import parse_qs

from agentic.core.types import JSONValue
from agentic.fakes.hackernews.items import Archive, Item
from agentic.fakes.pages import Page, json_page

PREFIX = "/api/v1/"
HIT_LIMIT = 1_000
PER_PAGE = 20
FRONT_PAGE = 30
COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}
_FILTER = re.compile(r"(created_at_i|points|num_comments)\s*(<=|>=|<|>|=)\s*(-?\d+)")
_TAGS = re.compile(r"\(([^()]*)\)|([^,()]+)")


class Algolia:
    """Answers searches; what can be found is made when the first one comes.

    Args:
        archive: Everything there is.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._front = frozenset(archive.front[:FRONT_PAGE])

    def page(self, path: str, query: str) -> Page | None:
        """Return the answer to ``path`` below the API's root."""
        match path.partition("/"):
            case ("search" | "search_by_date", "", ""):
                return self._search(path, {k: v[-1] for k, v in parse_qs(query, True).items()}, query)
            case ("items", "/", number) if number.isdecimal() and int(number) in self._archive.items:
                return json_page(self._tree(int(number)))
            case ("users", "/", name) if name in self._archive.users:
                return json_page(_user(self._archive.users[name]))
            case ("items" | "users", "/", _):
                return _refusal(404, "Not Found")
        return None

    def _search(self, path: str, asked: Mapping[str, str], query: str) -> Page:
        filters = [part for part in asked.get("numericFilters", "").split(",") if part]
        number, size = asked.get("page", "0"), asked.get("hitsPerPage", str(PER_PAGE))
        if not (number.isdecimal() and size.isdecimal() and all(map(_FILTER.fullmatch, filters))):
            return _refusal(400, "invalid parameters")
        words = asked.get("query", "").lower().split()
        tags = _tag_groups(asked.get("tags", ""))
        found = [hit for hit in self._hits if _fits(hit, words, tags, filters)]
        if path == "search":
            found.sort(key=lambda hit: -_number(hit.get("points")))
        return json_page(_answer(found, int(number), min(int(size), HIT_LIMIT), asked, query))

    @cached_property
    def _hits(self) -> list[Item]:
        """What can be found, newest first: nothing that was taken back or killed."""
        found = [self._hit(item) for item in self._archive.items.values() if _is_shown(item)]
        return sorted(found, key=lambda hit: (-_number(hit["created_at_i"]), -int(str(hit["objectID"]))))

    def _hit(self, item: Item) -> Item:
        story = self._story(item)
        kind, title, text = str(item["type"]), _plain(item.get("title")), item.get("text")
        tags: list[JSONValue] = [kind, f"author_{item['by']}", f"story_{story['id']}"]
        tags += [f"{word}_hn" for word in ("ask", "show") if (title or "").lower().startswith(f"{word} hn")]
        tags += ["front_page"] if item["id"] in self._front else []
        hit: Item = {"objectID": str(item["id"]), "author": item["by"], **_times(item)}
        hit |= {"story_id": story["id"], "_tags": tags}
        if kind == "comment":
            above = {"story_title": _plain(story.get("title")), "story_url": story.get("url")}
            return hit | above | {"comment_text": text, "parent_id": item["parent"], "points": None}
        hit |= {"title": title, "points": item.get("score"), "children": item.get("kids", [])}
        hit |= {"url": item["url"]} if item.get("url") else {}
        hit |= {"story_text": text} if text else {}
        return hit | {"num_comments": item.get("descendants")}

    def _story(self, item: Item) -> Item:
        while (above := item.get("parent") or item.get("poll")) is not None:
            item = self._archive.items[_number(above)]
        return item

    def _tree(self, number: int) -> Item:
        item = self._archive.items[number]
        kids, parts = item.get("kids", []), item.get("parts", [])
        times = _times(item) if "time" in item else {}
        node: Item = {"id": number, "type": item.get("type"), "author": item.get("by"), **times}
        node |= {"title": _plain(item.get("title")), "url": item.get("url"), "text": item.get("text")}
        node |= {"points": item.get("score"), "parent_id": item.get("parent") or item.get("poll")}
        node["story_id"] = self._story(item)["id"]
        node["children"] = [self._tree(_number(kid)) for kid in kids] if isinstance(kids, list) else []
        node["options"] = [self._tree(_number(part)) for part in parts] if isinstance(parts, list) else []
        return node


def _answer(found: list[Item], page: int, size: int, asked: Mapping[str, str], query: str) -> Item:
    reachable = found[:HIT_LIMIT]
    hits = reachable[page * size : (page + 1) * size]
    if asked.get("attributesToHighlight") != "":
        hits = [{**hit, "_highlightResult": _highlighted(hit)} for hit in hits]
    return {
        "hits": [*hits],
        "page": page,
        "nbHits": len(found),
        "nbPages": -(-len(reachable) // size) if size else 0,
        "hitsPerPage": size,
        "exhaustiveNbHits": True,
        "query": asked.get("query", ""),
        "params": query,
        "processingTimeMS": 1,
    }


def _highlighted(hit: Item) -> Item:
    none: Item = {"matchLevel": "none", "matchedWords": []}
    return {name: {**none, "value": hit[name]} for name in ("title", "url", "author") if hit.get(name)}


def _fits(hit: Item, words: list[str], tags: list[set[str]], filters: list[str]) -> bool:
    names = hit["_tags"]
    if not isinstance(names, list) or not all(group & {str(name) for name in names} for group in tags):
        return False
    if not all(_compares(hit, condition) for condition in filters):
        return False
    said = (hit.get(name) for name in ("title", "story_text", "comment_text", "author", "url"))
    text = " ".join(str(part).lower() for part in said if part)
    return all(word in text for word in words)


def _compares(hit: Item, condition: str) -> bool:
    found = _FILTER.fullmatch(condition)
    value = hit.get(found[1]) if found else None
    return found is not None and isinstance(value, int) and COMPARISONS[found[2]](value, int(found[3]))


def _tag_groups(tags: str) -> list[set[str]]:
    return [
        {tag.strip() for tag in (several or one).split(",") if tag.strip()}
        for several, one in _TAGS.findall(tags)
    ]


def _user(user: Item) -> Item:
    made = datetime.fromtimestamp(_number(user["created"]), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return {"username": user["id"], "about": user.get("about"), "karma": user["karma"], "created_at": made}


def _times(item: Item) -> Item:
    made = _number(item["time"])
    said = datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return {"created_at": said, "created_at_i": made}


def _is_shown(item: Item) -> bool:
    return "by" in item and "time" in item and not item.get("dead") and not item.get("deleted")


def _plain(title: JSONValue) -> str | None:
    return html.unescape(title) if isinstance(title, str) else None


def _number(value: JSONValue) -> int:
    return value if isinstance(value, int) else 0


def _refusal(status: int, reason: str) -> Page:
    return replace(json_page({"status": status, "error": reason}), status=status)
