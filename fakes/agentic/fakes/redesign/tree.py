"""A page as a tree that can be changed and written again. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser

VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
)
RAW = frozenset(("script", "style"))


@dataclass(slots=True, eq=False)
class Element:
    """An element; its children are elements, and texts as they are read."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    @property
    def classes(self) -> list[str]:
        """Its classes."""
        return (self.attributes.get("class") or "").split()

    @property
    def elements(self) -> list[Element]:
        """The children that are elements."""
        return [child for child in self.children if isinstance(child, Element)]

    @property
    def text(self) -> str:
        """All text in it, in one line."""
        return " ".join("".join(self._texts()).split())

    def walk(self) -> Iterator[Element]:
        """Yield it and all elements in it, parents first; children may be changed meanwhile."""
        yield self
        for child in list(self.elements):
            yield from child.walk()

    def markup(self) -> str:
        """Return it as HTML."""
        return "".join(self._written())

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            elif child.tag not in RAW:
                yield from child._texts()

    def _written(self) -> Iterator[str]:
        is_root = not self.tag
        if not is_root:
            given = "".join(
                f" {name}" if value is None else f' {name}="{escape(value)}"'
                for name, value in self.attributes.items()
            )
            yield f"<{self.tag}{given}>"
        for child in self.children:
            if isinstance(child, Element):
                yield from child._written()
            else:
                yield child if self.tag in RAW or child.startswith("<!") else escape(child, quote=False)
        if not is_root and self.tag not in VOID:
            yield f"</{self.tag}>"


def parse(markup: str) -> Element:
    """Return the root of a page; its tag is "". An end tag without a start is ignored."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader.root


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        for index in range(len(self._open) - 1, 0, -1):
            if self._open[index].tag == tag:
                del self._open[index:]
                return

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def handle_decl(self, decl: str) -> None:
        self._open[-1].children.append(f"<!{decl}>")
