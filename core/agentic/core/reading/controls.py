"""The fields of a form, as a browser counts them (HTML 4.10.18)."""

from __future__ import annotations

from collections.abc import Iterator

from turbohtml import Document, Element

CONTROLS = "input[name], select[name], textarea[name], button[name]"


def controls_of(document: Document, form: Element) -> Iterator[Element]:
    """Yield the fields of a form with a name, also those outside that name it; disabled ones are left out."""
    name = form.attr("id")
    for node in document.select(CONTROLS) if name else form.select(CONTROLS):
        owner = node.attr("form")
        is_within = owner is None and form in node.ancestors
        if (is_within or (owner is not None and owner == name)) and not is_disabled(node):
            yield node


def is_disabled(node: Element) -> bool:
    """Return whether a browser leaves a field out."""
    return node.attr("disabled") is not None or node.closest("fieldset[disabled]") is not None
