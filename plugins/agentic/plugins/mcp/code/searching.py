"""Finds tools by words. Pure."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping

from agentic.core.agents import Tool

NAME_WEIGHT = 3
"""A word of the name counts like this many words of the description."""


def find_tools(query: str, named: Mapping[str, Tool], limit: int) -> list[str]:
    """Return the names of the tools that fit a query best, by rare common words, best first.

    Words count as equal if one begins with the other, from four letters on: ``issue`` finds ``issues``.

    Args:
        query: A few words.
        named: The tools by name.
        limit: How many to return at most.
    """
    bags = {name: _bag(name, tool) for name, tool in named.items()}
    wanted = list(dict.fromkeys(_words(query)))
    spread = {word: sum(1 for bag in bags.values() if _count(word, bag)) for word in wanted}
    scores: list[tuple[float, str]] = []
    for name, bag in bags.items():
        score = 0.0
        for word in wanted:
            if count := _count(word, bag):
                score += math.log1p(len(bags) / spread[word]) * (count / (count + 1))
        if score > 0:
            scores.append((-score, name))
    return [name for _, name in sorted(scores)[:limit]]


def _bag(name: str, tool: Tool) -> Counter[str]:
    properties = tool.parameters.get("properties")
    keys = properties if isinstance(properties, dict) else {}
    words = _words(f"{tool.description} {json.dumps(list(keys))}")
    return Counter([*words, *(_words(name) * NAME_WEIGHT)])


def _count(word: str, bag: Counter[str]) -> int:
    if word in bag:
        return bag[word]
    if len(word) < 4:
        return 0
    return sum(count for one, count in bag.items() if len(one) >= 4 and _begins(word, one))


def _begins(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _split(text) if word]


def _split(text: str) -> Iterable[str]:
    word = ""
    for char in text:
        if char.isalnum():
            if char.isupper() and word and not word[-1].isupper():  # camelCase
                yield word
                word = ""
            word += char
        else:
            yield word
            word = ""
    yield word
