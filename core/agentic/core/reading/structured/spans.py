"""Items that reach from one element to the next: `dt` with its `dd`, a heading with its paragraphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turbohtml import Element, parse

_AROUND = {"tr": ("<table><tbody>", "</tbody></table>"), "dt": ("<dl>", "</dl>"), "li": ("<ul>", "</ul>")}
_OTHER = ("<div>", "</div>")
_NAMES = {"tr": "tbody", "dt": "dl", "li": "ul"}


def wrapped(tag: str, markup: str) -> str:
    """Return the markup of an item, which begins with an element of that name, in one element."""
    ahead, behind = _AROUND.get(tag, _OTHER)
    return f"{ahead}{markup}{behind}"


def wrapper_of(tag: str) -> str:
    """Return the name of the element that :func:`wrapped` puts around an item."""
    return _NAMES.get(tag, "div")


def each_span(items: Sequence[Element]) -> Iterator[Element]:
    """Yield each item with all elements up to the next one, in an element of a page of its own."""
    heads = set(items)
    for item in items:
        parts, node = [item.html], item.next_sibling
        while node is not None and node not in heads:
            if isinstance(node, Element):
                parts.append(node.html)
            node = node.next_sibling
        document = parse(wrapped(item.tag, "".join(parts)), positions=False)
        yield from document.select(f"body {wrapper_of(item.tag)}")[:1]
