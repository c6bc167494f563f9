"""Login forms: found on a page, filled in, and made into a request, as a browser would (HTML 4.10.21)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

from turbohtml import Document, Element

from agentic.core.http import HttpRequest
from agentic.core.http.urls import origin_of
from agentic.core.reading.addresses import base_of
from agentic.core.reading.controls import controls_of, is_disabled

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
PLAIN = "text/plain"
SUBMITS = "button:not([type]), button[type=submit], input[type=submit], input[type=image]"
# Sent only when clicked, or never from here.
NOT_SENT = frozenset({"submit", "button", "reset", "image", "file"})

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A form as it stands on a page.

    Attributes:
        action: Where it is sent, absolute.
        method: ``GET`` or ``POST``.
        enctype: How a POST is written.
        pairs: What it sends if nothing is filled in. Secret: it may hold tokens.
        names: Of all its fields.
    """

    action: str
    method: str
    enctype: str
    pairs: Pairs = field(repr=False)
    names: frozenset[str]

    def filled(self, values: Mapping[str, str]) -> Pairs:
        """Return what it sends with ``values`` in its fields; one that it does not have comes last."""
        kept = [(name, values.get(name, value)) for name, value in self.pairs]
        sent = {name for name, _ in kept}
        return kept + [(name, value) for name, value in values.items() if name not in sent]


def find_form(document: Document, url: str, wanted: frozenset[str], selector: str | None) -> Form | None:
    """Return the form at ``selector``; without one the first that has all fields of ``wanted``.

    Args:
        document: The page.
        url: Where the page came from.
        wanted: Names of fields.
        selector: Of the form, or of something in it.
    """
    if selector is not None:
        place = document.select_one(selector)
        node = place.closest("form") if place is not None else None
        return None if node is None else _form(document, node, url)
    forms = (_form(document, node, url) for node in document.select("form"))
    return next((form for form in forms if wanted <= form.names), None)


def request_of(
    form: Form, pairs: Pairs, page_url: str, *, boundary: Callable[[], str] = token_hex
) -> HttpRequest:
    """Return the request that sends a form.

    Args:
        form: The form.
        pairs: What it sends.
        page_url: Where it stands: sites look whether a form came from them.
        boundary: Makes what stands between the parts of ``multipart/form-data``.
    """
    parts = urlsplit(page_url)
    origin = f"{parts.scheme}://{parts.netloc}"
    is_ours = origin_of(page_url) == origin_of(form.action)
    headers = {"referer": page_url if is_ours else f"{origin}/"}
    if form.method == "GET":
        target = urlunsplit(
            urlsplit(form.action)._replace(query=urlencode(pairs, errors="replace"), fragment="")
        )
        return HttpRequest(url=target, headers=headers)
    content_type, body = _encoded(form.enctype, pairs, boundary)
    headers |= {"origin": origin, "content-type": content_type}
    return HttpRequest(url=form.action, method="POST", headers=headers, body=body)


def _form(document: Document, node: Element, url: str) -> Form:
    action = (node.attr("action") or "").strip()
    controls = list(controls_of(document, node))
    enctype = (node.attr("enctype") or "").lower()
    return Form(
        action=urljoin(base_of(document, url), action) if action else url,
        method="POST" if (node.attr("method") or "").lower() == "post" else "GET",
        enctype=enctype if enctype in (MULTIPART, PLAIN) else URLENCODED,
        pairs=[*(pair for control in controls for pair in _pairs(control)), *_clicked(node)],
        names=frozenset(control.attr("name") or "" for control in controls),
    )


def _pairs(control: Element) -> Iterator[tuple[str, str]]:
    name = control.attr("name") or ""
    if not name:
        return
    kind = (control.attr("type") or "").lower()
    match control.tag:
        case "textarea":
            yield name, control.text
        case "select":
            yield from ((name, value) for value in _selected(control))
        case "input" if kind in ("checkbox", "radio"):
            if control.attr("checked") is not None:
                yield name, control.attr("value") or "on"
        case "input" if kind not in NOT_SENT:
            yield name, control.attr("value") or ""
        case _:
            return


def _selected(select: Element) -> list[str]:
    options = select.select("option")
    chosen = [option for option in options if option.attr("selected") is not None]
    if select.attr("multiple") is None:
        chosen = chosen[-1:] or options[:1]
    return [_value_of(option) for option in chosen]


def _value_of(option: Element) -> str:
    value = option.attr("value")
    return " ".join(option.text.split()) if value is None else value


def _clicked(form: Element) -> Iterator[tuple[str, str]]:
    """Yield the name and value of the button that sends the form, if it has a name."""
    button = next((node for node in form.select(SUBMITS) if not is_disabled(node)), None)
    if button is not None and (name := button.attr("name")):
        if button.attr("type") == "image":
            yield from ((f"{name}.x", "0"), (f"{name}.y", "0"))
        else:
            yield name, button.attr("value") or ""


def _encoded(enctype: str, pairs: Pairs, boundary: Callable[[], str]) -> tuple[str, bytes]:
    """Return content type and body."""
    if enctype == PLAIN:
        return PLAIN, "".join(f"{name}={value}\r\n" for name, value in pairs).encode("utf-8", "replace")
    if enctype == URLENCODED:
        return URLENCODED, urlencode(pairs, errors="replace").encode()
    mark = boundary()
    parts = (
        f'--{mark}\r\nContent-Disposition: form-data; name="{_quoted(name)}"\r\n\r\n{_lines(value)}\r\n'
        for name, value in pairs
    )
    return f"{MULTIPART}; boundary={mark}", f"{''.join(parts)}--{mark}--\r\n".encode("utf-8", "replace")


def _quoted(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _lines(value: str) -> str:
    return "\r\n".join(value.splitlines()) if "\n" in value else value
