"""Changes that redesigns make to pages: each a function from a page and a seed to another page.

A node whose text is a field carries its name in the attribute ``data-label``: operators keep it, move it with
the text, or remove it with the field. So every changed page shows the right values; see :func:`labels_of`
and :func:`without_labels`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from html import escape
from typing import Literal, get_args

from agentic.fakes.pages import document
from agentic.fakes.redesign.parts import PART_OPERATORS, PagePartChange
from agentic.fakes.redesign.tree import Element, parse

LABEL = "data-label"

Change = Literal[
    "hash_classes",
    "rename_classes",
    "drop_ids",
    "strip_attributes",
    "wrap",
    "unwrap",
    "swap_columns",
    "move_block",
    "change_tags",
    "add_decoys",
    "duplicate_block",
    "split_text",
    "merge_labels",
    "value_to_attribute",
    "lazy_text",
    "drop_structured_data",
    "change_language",
    "change_format",
    "drop_fields",
    "consent_wall",
    "login_wall",
    "soft_404",
]
"""The operators by name."""

WALLS: frozenset[Change] = frozenset(("consent_wall", "login_wall", "soft_404"))
"""Operators that replace the page; they are not drift."""

KEEPS_VALUES: frozenset[Change] = frozenset(get_args(Change)) - WALLS - {"drop_fields", "change_format"}
"""Operators that keep the text of every field, though perhaps not in a node of its own."""

GERMAN: Mapping[str, str] = {
    "SKU": "Artikelnummer",
    "In stock": "Auf Lager",
    "Rating": "Bewertung",
    "Next page": "Nächste Seite",
    "Previous page": "Vorige Seite",
    "Others looked at": "Andere sahen auch",
    "Reviews": "Bewertungen",
    "Your orders": "Ihre Bestellungen",
}

_TAGS = {"h1": "h2", "ul": "div", "ol": "div", "li": "div", "dl": "div", "dt": "span", "dd": "span",
         "table": "div", "tbody": "div", "tr": "div", "td": "span", "th": "span",
         "article": "section"}  # fmt: skip
_BLOCKS = frozenset(("article", "section", "ul", "dl", "table", "aside"))
_PAIRS = frozenset(("dl", "tr"))
_UNWRAPPED = frozenset(("article", "section", "main", "div"))


def changed(markup: str, changes: Sequence[Change | PagePartChange], seed: int = 1) -> str:
    """Return a page after some changes, in their order.

    Args:
        markup: The page.
        changes: Names of operators.
        seed: Chooses hashes and the like; the same seed gives the same bytes.
    """
    root = parse(markup)
    operators: Mapping[str, Callable[[Element, int], None]] = dict(
        [*OPERATORS.items(), *PART_OPERATORS.items()]
    )
    for change in changes:
        operators[change](root, seed)
    return root.markup()


def labels_of(markup: str) -> Mapping[str, str]:
    """Return the text of each field on a page, by its label; of several nodes with one label, the first."""
    found: dict[str, str] = {}
    for element in parse(markup).walk():
        label = element.attributes.get(LABEL)
        if label:
            found.setdefault(label, element.text)
    return found


def without_labels(markup: str) -> str:
    """Return a page as a crawler gets it."""
    root = parse(markup)
    for element in root.walk():
        element.attributes.pop(LABEL, None)
    return root.markup()


def _hash_classes(root: Element, seed: int) -> None:
    _each_class(root, lambda name: f"css-{_digest(f'{seed}:{name}')}")


def _rename_classes(root: Element, seed: int) -> None:
    _each_class(root, lambda name: f"v{seed}-c__{name}")


def _drop_ids(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    for element in root.walk():
        element.attributes.pop("id", None)


def _strip_attributes(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    for element in root.walk():
        for name in list(element.attributes):
            if name != LABEL and (name.startswith(("data-", "item", "aria-")) or name in ("role", "rel")):
                del element.attributes[name]


def _wrap(root: Element, seed: int) -> None:
    for parent in list(root.walk()):
        for index, child in enumerate(parent.children):
            if isinstance(child, Element) and child.tag in _BLOCKS | {"h1", "p"}:
                inner = Element("div", {"class": f"cell-{seed}"}, [child])
                parent.children[index] = Element("div", {"class": f"row-{seed}"}, [inner])


def _unwrap(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    for parent in list(root.walk()):
        for index, child in enumerate(parent.children):
            if isinstance(child, Element) and child.tag in _UNWRAPPED and not child.attributes.get(LABEL):
                parent.children[index : index + 1] = child.children
                break


def _swap_columns(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    """Reverse the order of labelled values: of pairs in lists and cells in rows, and of spans in a line."""
    for parent in list(root.walk()):
        elements = parent.elements
        if parent.tag == "dl":
            pairs = [elements[at : at + 2] for at in range(0, len(elements), 2)]
            parent.children = [element for pair in reversed(pairs) for element in pair]
        elif parent.tag == "tr" or (len(elements) > 1 and all(one.tag == "span" for one in elements)):
            places = [at for at, child in enumerate(parent.children) if isinstance(child, Element)]
            for place, element in zip(places, reversed(elements), strict=True):
                parent.children[place] = element


def _move_block(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    """Move the last block of the main part to its beginning."""
    main = next((one for one in root.walk() if one.tag == "main"), None)
    blocks = main.elements if main is not None else []
    if main is not None and len(blocks) > 1:
        main.children.remove(blocks[-1])
        main.children.insert(0, blocks[-1])


def _change_tags(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    for element in root.walk():
        element.tag = _TAGS.get(element.tag, element.tag)


def _add_decoys(root: Element, seed: int) -> None:
    """Put a block before each labelled one that looks the same and says something else."""
    for parent in list(root.walk()):
        for index, child in enumerate(parent.children):
            if isinstance(child, Element) and any(LABEL in one.attributes for one in child.elements):
                decoy = parse(child.markup())
                for element in decoy.walk():
                    if element.attributes.pop(LABEL, None):
                        element.children = [_digest(f"{seed}:{element.text}")]
                parent.children.insert(index, Element("div", {"class": "related"}, decoy.children))
                return


def _duplicate_block(root: Element, seed: int) -> None:
    """Add a copy for printing of the first block with labels."""
    for parent in list(root.walk()):
        for index, child in enumerate(parent.children):
            if isinstance(child, Element) and any(LABEL in one.attributes for one in child.elements):
                copy = Element(
                    "div", {"class": f"print-{seed}", "hidden": None}, parse(child.markup()).children
                )
                parent.children.insert(index + 1, copy)
                return


def _split_text(root: Element, seed: int) -> None:
    for element in _labelled(root):
        words = element.text.split(" ")
        if len(words) > 1 and all(isinstance(child, str) for child in element.children):
            element.children = [
                part for word in words for part in (Element("span", {"class": f"w{seed}"}, [word]), " ")
            ][:-1]


def _merge_labels(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    """Put a label and its value into one node: ``<p>SKU: 123</p>``."""
    for parent in list(root.walk()):
        if parent.tag not in _PAIRS:
            continue
        elements, merged = parent.elements, list[Element | str]()
        for at in range(0, len(elements) - 1, 2):
            label, value = elements[at : at + 2]
            merged.append(Element("p", dict(value.attributes), [f"{label.text}: {value.text}"]))
        if merged:
            parent.tag, parent.children = "div", merged


def _value_to_attribute(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    for element in _labelled(root):
        element.attributes["data-value"], element.children = element.text, []


def _lazy_text(root: Element, seed: int) -> None:
    """Leave the values to a script."""
    for element in list(_labelled(root)):
        place = f"v{seed}-{element.attributes[LABEL]}"
        data = json.dumps(element.text).replace("<", "\\u003c")
        element.attributes["id"] = place
        script = f'document.getElementById("{place}").textContent = {data};'
        element.children = []
        root.children.append(Element("script", {}, [script]))


def _drop_structured_data(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    for parent in list(root.walk()):
        parent.children = [
            child
            for child in parent.children
            if not (isinstance(child, Element) and child.attributes.get("type") == "application/ld+json")
        ]


def _change_language(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    for element in root.walk():
        if element.tag == "html":
            element.attributes["lang"] = "de"
        if LABEL not in element.attributes:
            element.children = [
                GERMAN.get(child.strip(), child) if isinstance(child, str) else child
                for child in element.children
            ]


def _change_format(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    """Write amounts as in Germany: ``1.234,50``."""
    for element in _labelled(root):
        if element.text.replace(".", "", 1).isdigit() and "." in element.text:
            element.children = [element.text.replace(".", ",")]


def _drop_fields(root: Element, seed: int) -> None:
    """Remove the field with the last label."""
    labels = sorted({element.attributes[LABEL] or "" for element in _labelled(root)})
    gone = labels[(seed - 1) % len(labels)] if labels else ""
    for parent in list(root.walk()):
        parent.children = [
            child
            for child in parent.children
            if not (isinstance(child, Element) and child.attributes.get(LABEL) == gone and gone)
        ]


def _consent_wall(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    body = (
        "<h1>Before you continue</h1><p>We value your privacy. We and our 812 partners store cookies.</p>"
        '<form method="post"><button>Accept all</button> <button>Reject all</button></form>'
    )
    _replace(root, document("Before you continue", body))


def _login_wall(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    body = (
        '<h1>Log in</h1><form method="post"><input name="user"><input type="password" name="password">'
        "<button>Log in</button></form>"
    )
    _replace(root, document("Log in", body))


def _soft_404(root: Element, seed: int) -> None:  # noqa: ARG001 - an operator
    _replace(root, document("Page not found", "<h1>Page not found</h1><p>Perhaps it has moved.</p>"))


def _replace(root: Element, markup: str) -> None:
    root.children = parse(markup).children


def _labelled(root: Element) -> list[Element]:
    return [element for element in root.walk() if element.attributes.get(LABEL)]


def _each_class(root: Element, name_of: Callable[[str], str]) -> None:
    for element in root.walk():
        if element.classes:
            element.attributes["class"] = " ".join(map(name_of, element.classes))


def _digest(text: str) -> str:
    return blake2b(escape(text).encode(), digest_size=4).hexdigest()


OPERATORS: Mapping[Change, Callable[[Element, int], None]] = {
    "hash_classes": _hash_classes,
    "rename_classes": _rename_classes,
    "drop_ids": _drop_ids,
    "strip_attributes": _strip_attributes,
    "wrap": _wrap,
    "unwrap": _unwrap,
    "swap_columns": _swap_columns,
    "move_block": _move_block,
    "change_tags": _change_tags,
    "add_decoys": _add_decoys,
    "duplicate_block": _duplicate_block,
    "split_text": _split_text,
    "merge_labels": _merge_labels,
    "value_to_attribute": _value_to_attribute,
    "lazy_text": _lazy_text,
    "drop_structured_data": _drop_structured_data,
    "change_language": _change_language,
    "change_format": _change_format,
    "drop_fields": _drop_fields,
    "consent_wall": _consent_wall,
    "login_wall": _login_wall,
    "soft_404": _soft_404,
}
