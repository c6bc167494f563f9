"""JSON-LD: what scripts of a page say about it, for machines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from turbohtml import Document

from agentic.core.types import JSONValue

Node = dict[str, JSONValue]

SCRIPTS = 'script[type^="application/ld+json" i]'
MAX_DEPTH = 50


def read_jsonld(document: Document) -> list[Node]:
    """Return the objects of a page's JSON-LD, those of a ``@graph`` side by side; no JSON, no object."""
    return [node for script in document.select(SCRIPTS) for node in _flat(_loads(script.text))]


def values_at(nodes: Sequence[Node], path: str) -> list[JSONValue]:
    """Return what ``path`` leads to: ``"JobPosting.hiringOrganization.name"``.

    The first part is a type, wherever an object of it stands; the others are keys. Lists are gone through,
    and a bare ``{"@id": ...}`` stands for the object of that name.

    Args:
        nodes: As from :func:`read_jsonld`.
        path: Parts joined by dots; a type alone leads to the objects.
    """
    kind, *keys = path.split(".")
    everything = list(_all_nodes(nodes))
    named = {str(node["@id"]): node for node in everything if "@id" in node and len(node) > 1}
    found: list[JSONValue] = [node for node in everything if kind in types_of(node)]
    for key in keys:
        found = [value for node in found for value in _listed(_resolved(node, named).get(key))]
    return found


def types_of(node: Mapping[str, JSONValue]) -> list[str]:
    """Return the types of an object, without their vocabulary: ``["JobPosting"]``."""
    return [str(kind).rpartition("/")[2].rpartition("#")[2] for kind in _listed(node.get("@type"))]


def _loads(text: str) -> JSONValue:
    cleaned = text.strip().removeprefix("<!--").removesuffix("-->").strip().removesuffix(";")
    try:
        return cast(JSONValue, json.loads(cleaned, strict=False, parse_constant=lambda _: None))
    except (ValueError, RecursionError):
        return None


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
