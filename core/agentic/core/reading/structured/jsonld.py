"""JSON-LD: what scripts of a page say about it, for machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from turbohtml import Document

from agentic.core.reading.loose_json import read_loose_json
from agentic.core.types import JSONValue

Node = dict[str, JSONValue]

SCRIPTS = 'script[type*="ld+json" i]'
MAX_DEPTH = 50


class LinkedData:
    """The JSON-LD of a page, read when it is asked for, and once.

    Args:
        document: The page.
        url: Of the page, for messages.
        warn: Takes the subject of a warning, and the warning about a script that cannot be read.
    """

    __slots__ = ("_document", "_nodes", "_url", "_warn")

    def __init__(self, document: Document, url: str, warn: Callable[[str, str], object]) -> None:
        self._document = document
        self._url = url
        self._warn = warn
        self._nodes: list[Node] | None = None

    def nodes(self) -> list[Node]:
        """Return the objects; the objects of a ``@graph`` stand side by side."""
        if self._nodes is None:
            scripts = self._document.select(SCRIPTS)
            self._nodes = [node for script in scripts for node in self._read(script.text)]
        return self._nodes

    def _read(self, text: str) -> Iterator[Node]:
        found = read_loose_json(text)
        if found.fault:
            can = "can be read in part only" if found.values else "cannot be read"
            self._warn(
                "JSON-LD", f"the JSON-LD of {self._url} {can}: {found.fault}; use `selector` or `regex`"
            )
        return (node for value in found.values for node in _flat(value))


def values_at(nodes: Sequence[Node], path: str) -> list[JSONValue]:
    """Return what ``path`` leads to: ``"JobPosting.hiringOrganization.name"``.

    The first part is a type, wherever an object of it stands; the others are keys. Lists are gone through,
    a bare ``{"@id": ...}`` stands for the object of that name, and ``{"@value": ...}`` for the value.

    Args:
        nodes: As from :class:`LinkedData`.
        path: Parts joined by dots; a type alone leads to the objects.
    """
    kind, *keys = path.split(".")
    everything = list(_all_nodes(nodes))
    named = {str(node["@id"]): node for node in everything if "@id" in node and len(node) > 1}
    found: list[JSONValue] = [node for node in everything if kind in types_of(node)]
    for key in keys:
        found = [value for node in found for value in _listed(_resolved(node, named).get(key))]
    return [value["@value"] if isinstance(value, dict) and "@value" in value else value for value in found]


def types_of(node: Mapping[str, JSONValue]) -> list[str]:
    """Return the types of an object, without their vocabulary: ``["JobPosting"]``."""
    return [_name_of(str(kind)) for kind in _listed(node.get("@type"))]


def _name_of(kind: str) -> str:
    """Return ``Product`` for ``https://schema.org/Product`` and ``schema:Product``."""
    for mark in "/#:":
        kind = kind.rpartition(mark)[2]
    return kind


def _flat(value: JSONValue) -> Iterator[Node]:
    for node in _listed(value):
        if not isinstance(node, dict):
            continue
        graph = node.get("@graph")
        if graph is None:
            yield node
        else:
            yield from (inner for inner in _listed(graph) if isinstance(inner, dict))


def _all_nodes(value: JSONValue | Sequence[Node], depth: int = 0) -> Iterator[Node]:
    """Yield every object, the outer before those in it."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _all_nodes(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _all_nodes(inner, depth + 1)


def _resolved(value: JSONValue, named: Mapping[str, Node]) -> Node:
    if not isinstance(value, dict):
        return {}
    return named.get(str(value["@id"]), value) if value.keys() == {"@id"} else value


def _listed(value: JSONValue) -> list[JSONValue]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
