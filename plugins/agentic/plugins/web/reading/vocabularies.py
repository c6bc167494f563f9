"""Microdata and RDFa Lite: what attributes of a page's elements say about it, for machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from turbohtml import Document, Element

from agentic.core.reading.addresses import absolute
from agentic.core.reading.structured.jsonld import Node
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.html import text_of

MAX_DEPTH = 50
_SHOWN = frozenset({"audio", "embed", "iframe", "img", "source", "track", "video"})
_LINKED = frozenset({"a", "area", "link"})
_ADDRESSES = {"href": _LINKED, "src": _SHOWN, "data": frozenset({"object"})}
_VALUES = {"time": "datetime", "data": "value", "meter": "value"}


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The attributes that make an element an object, name its type and identity, and its properties.

    Attributes:
        scope: On the elements that are objects.
        kind: Their types, as words or URLs.
        identity: Their names.
        part: On elements below, what of the object they are.
    """

    scope: str
    kind: str
    identity: str
    part: str


MICRODATA = Vocabulary("itemscope", "itemtype", "itemid", "itemprop")
RDFA = Vocabulary("typeof", "typeof", "resource", "property")


def read_annotations(document: Document, vocabulary: Vocabulary, base: str) -> list[Node]:
    """Return the objects of a page in the shape of JSON-LD: ``@type``, ``@id`` and properties.

    A property that occurs several times is a list. Addresses are absolute.
    """
    outermost = f"[{vocabulary.scope}]:not([{vocabulary.part}])"
    return [_object(node, vocabulary, base, 0) for node in document.select(outermost)]


def read_opengraph(document: Document) -> Node:
    """Return the ``og:`` properties of a page and those of its relatives: ``article:``, ``twitter:`` etc."""
    found: Node = {}
    for node in document.select("meta[content]"):
        name = node.attr("property") or node.attr("name") or ""
        if ":" in name:
            _add(found, name.lower(), node.attr("content") or "")
    return found


def _object(node: Element, vocabulary: Vocabulary, base: str, depth: int) -> Node:
    found: Node = {}
    kinds: list[JSONValue] = [
        word.rpartition("/")[2].rpartition("#")[2] for word in _words(node, vocabulary.kind)
    ]
    if kinds:
        found["@type"] = kinds[0] if len(kinds) == 1 else kinds
    if identity := node.attr(vocabulary.identity):
        found["@id"] = absolute(base, identity) or identity
    for part in _parts(node, vocabulary) if depth < MAX_DEPTH else ():
        is_object = part.attr(vocabulary.scope) is not None
        value = _object(part, vocabulary, base, depth + 1) if is_object else _value(part, base)
        for name in _words(part, vocabulary.part):
            _add(found, name.rpartition(":")[2] if "://" not in name else name.rpartition("/")[2], value)
    return found


def _parts(scope: Element, vocabulary: Vocabulary) -> Iterator[Element]:
    """Yield the elements below ``scope`` that are its properties, in order, none of objects in it."""
    waiting = _children(scope)
    while waiting:
        node = waiting.pop()
        if node.attr(vocabulary.part) is not None:
            yield node
        if node.attr(vocabulary.scope) is None:
            waiting += _children(node)


def _children(node: Element) -> list[Element]:
    return [child for child in reversed(node.children) if isinstance(child, Element)]


def _value(node: Element, base: str) -> JSONValue:
    if (content := node.attr("content")) is not None:
        return content.strip()
    for name, tags in _ADDRESSES.items():
        if node.tag in tags and (address := node.attr(name)):
            return absolute(base, address) or address
    return (node.attr(_VALUES.get(node.tag, "")) or text_of(node)).strip()


def _add(found: Node, name: str, value: JSONValue) -> None:
    earlier = found.get(name)
    if earlier is None:
        found[name] = value
    else:
        found[name] = [*earlier, value] if isinstance(earlier, list) else [earlier, value]


def _words(node: Element, attribute: str) -> list[str]:
    return (node.attr(attribute) or "").split()
