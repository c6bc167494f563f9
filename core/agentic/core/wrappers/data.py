"""Values that a page holds as data: JSON-LD, ``<meta>`` and the JSON of its scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from turbohtml import Document

from agentic.core.reading.structured.jsonld import LinkedData, types_of
from agentic.core.types import JSONValue
from agentic.core.wrappers.locators import Locator, LocatorKind
from agentic.core.wrappers.tree import PageTree

MAX_VALUES = 500
MAX_DEPTH = 5
MAX_CHARS = 4_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_META_NAME = re.compile(r"[^\s\"\]\\]+")


class DataValue(NamedTuple):
    """Values at one place.

    Attributes:
        locator: Leads to them.
        values: Each as a text, in the order of the page.
    """

    locator: Locator
    values: tuple[str, ...]


def read_data_values(document: Document, url: str) -> list[DataValue]:
    """Return the values that a page holds as data, up to 500 places.

    Microdata and RDFa stand on visible elements, where selectors by ``itemprop`` and ``property`` find them.
    """
    found: dict[Locator, list[str]] = {}
    for locator, value in _all_values(document, url):
        if len(found) < MAX_VALUES or locator in found:
            found.setdefault(locator, []).append(value)
    return [DataValue(locator, tuple(values)) for locator, values in found.items()]


def finds(locator: Locator, tree: PageTree) -> bool:
    """Return whether a locator leads to anything on a page, shown or held as data."""
    if locator.is_shown:
        return bool(locator.read(tree))
    return any(one.locator == locator for one in read_data_values(tree.document, tree.url))


def _all_values(document: Document, url: str) -> Iterator[tuple[Locator, str]]:
    for node in LinkedData(document, url, lambda _subject, _sentence: None).nodes():
        for kind in types_of(node)[:1]:
            for path, value in _leaves(node, (kind,)):
                if all(_NAME.fullmatch(part) for part in path):
                    yield Locator(LocatorKind.JSONLD, ".".join(path)), value
    for meta in document.select("meta[content]"):
        name = meta.attr("property") or meta.attr("name") or ""
        content = (meta.attr("content") or "").strip()
        if content and _META_NAME.fullmatch(name) and len(content) <= MAX_CHARS:
            yield Locator(LocatorKind.META, name), content
    for script in document.select('script[type="application/json"][id]'):
        yield from _of_script(script.attr("id") or "", script.text)


def _of_script(name: str, text: str) -> Iterator[tuple[Locator, str]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    for path, value in _leaves(data, ()):
        quoted = (part if _NAME.fullmatch(part) else json.dumps(part) for part in path)
        yield Locator(LocatorKind.JSON, ".".join(quoted), name), value


def _leaves(data: JSONValue, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield texts and numbers with the keys that lead to them; lists of objects are left out of scripts."""
    if isinstance(data, dict):
        if len(path) <= MAX_DEPTH:
            for key, value in data.items():
                if not key.startswith("@"):
                    yield from _leaves(value, (*path, key))
    elif isinstance(data, list):
        for value in data[:100]:
            if not isinstance(value, (dict, list)) or (path and path[0][:1].isupper()):
                yield from _leaves(value, path)
    elif isinstance(data, (str, int, float)) and not isinstance(data, bool):
        text = str(data).strip()
        if path and 0 < len(text) <= MAX_CHARS:
            yield path, text
