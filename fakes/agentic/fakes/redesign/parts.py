"""Changes that redesigns make to parts of a site besides the fields of its pages.

Pages: lists with other elements and a block of pages seen before, other links to the next page, login forms
with other fields. Sites: keys of JSON with other names, pages at other addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, get_args

from agentic.core.types import JSONValue
from agentic.fakes.redesign.tree import Element, parse

PagePartChange = Literal["move_list", "change_paging", "rename_login"]
SiteChange = Literal["rename_keys", "move_pages"]

SITE_CHANGES: frozenset[str] = frozenset(get_args(SiteChange))

SEEN = 4
"""Items in the block of pages seen before."""

PER_ROW = 5
KEYS = {"title": "name", "url": "href", "price": "amount", "products": "entries", "next": "next_page"}
"""New names of keys; any other key is written backwards."""

_MIN_ITEMS = 5


def changed_data(data: JSONValue) -> JSONValue:
    """Return JSON of an endpoint after a redesign: other keys, prices and lists one level deeper."""
    if isinstance(data, list):
        return [changed_data(one) for one in data]
    if not isinstance(data, dict):
        return data
    made: dict[str, JSONValue] = {}
    for key, value in data.items():
        new, inner = KEYS.get(key, key[::-1]), changed_data(value)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            made["data"] = {new: inner}
        else:
            made[new] = {"value": inner} if key == "price" else inner
    return made


def former_path(path: str, seed: int) -> str | None:
    """Return where a page was before a move; None if it has not moved."""
    first, slash, rest = path.removeprefix("/").partition("/")
    return f"/{first.removesuffix(f'-{seed}')}{slash}{rest}" if first.endswith(f"-{seed}") else None


def with_moved_links(body: bytes, folder: str, seed: int) -> bytes:
    """Return a page whose links to a folder lead to its new name."""
    return body.replace(f"{folder}/".encode(), f"{folder}-{seed}/".encode())


def _move_list(root: Element, seed: int) -> None:
    """Make each list of links a grid, and show some of its items before it as pages seen before."""
    for parent in list(root.walk()):
        for at, child in enumerate(list(parent.children)):
            if not isinstance(child, Element) or child.tag not in ("ul", "ol"):
                continue
            items = [one for one in child.elements if one.tag == "li" and _has_link(one)]
            if len(items) < _MIN_ITEMS:
                continue
            for item in items:
                item.tag, item.attributes = "article", {"class": f"tile-{seed}"}
            rows = [
                Element("div", {"class": "band"}, list(items[start : start + PER_ROW]))
                for start in range(0, len(items), PER_ROW)
            ]
            seen = [parse(item.markup()).elements[0] for item in items[:SEEN]]
            before = Element("section", {}, [Element("h2", {}, ["Recently viewed"]), *seen])
            parent.children[at : at + 1] = [before, Element("section", {"class": "results"}, [*rows])]
            break


def _change_paging(root: Element, seed: int) -> None:
    """Give links to other pages neither ``rel`` nor their classes."""
    for element in root.walk():
        classes = element.classes
        if element.tag == "a" and {"next", "previous"} & {*classes}:
            element.attributes.pop("rel", None)
            element.attributes["class"] = f"go{seed}-{'on' if 'next' in classes else 'back'}"
            element.attributes["aria-label"] = element.text
            element.children = ["›" if "next" in classes else "‹"]


def _rename_login(root: Element, seed: int) -> None:
    """Give the fields of a login form other names, and its form another address and no class."""
    for form in root.walk():
        typed = [one for one in form.walk() if one.tag == "input"] if form.tag == "form" else []
        passwords = [one for one in typed if one.attributes.get("type") == "password"]
        if not passwords:
            continue
        form.attributes.pop("class", None)
        form.attributes["action"] = f"session-{seed}"
        passwords[0].attributes["name"] = f"account[secret{seed}]"
        for one in typed:
            if one.attributes.get("type") in ("text", "email"):
                one.attributes["name"] = f"account[mail{seed}]"


def _has_link(element: Element) -> bool:
    return any(one.tag == "a" and one.attributes.get("href") for one in element.walk())


PART_OPERATORS: Mapping[PagePartChange, Callable[[Element, int], None]] = {
    "move_list": _move_list,
    "change_paging": _change_paging,
    "rename_login": _rename_login,
}
