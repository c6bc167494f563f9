"""Login forms: found on a page, filled in, and made into a request, as a browser would (HTML 4.10.21)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from agentic.core.http import HttpRequest
from agentic.core.http.urls import origin_of

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
PLAIN = "text/plain"
CONTROLS = "input[name], select[name], textarea[name], button[name]"
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


def find_form(
    document: LexborHTMLParser, url: str, wanted: frozenset[str], selector: str | None
) -> Form | None:
    """Return the form at ``selector``; without one the first that has all fields of ``wanted``.

    Args:
        document: The page.
        url: Where the page came from.
        wanted: Names of fields.
        selector: Of the form, or of something in it.
    """
    if selector is not None:
        node = document.css_first(selector)
        while node is not None and node.tag != "form":
            node = node.parent
        return None if node is None else _form(document, node, url)
    forms = (_form(document, node, url) for node in document.css("form"))
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


def _form(document: LexborHTMLParser, node: LexborNode, url: str) -> Form:
    base = document.css_first("base[href]")
    action = (node.attributes.get("action") or "").strip()
    controls = list(_controls(document, node))
    enctype = (node.attributes.get("enctype") or "").lower()
    return Form(
        action=urljoin(urljoin(url, base.attributes.get("href") if base else None), action)
        if action
        else url,
        method="POST" if (node.attributes.get("method") or "").lower() == "post" else "GET",
        enctype=enctype if enctype in (MULTIPART, PLAIN) else URLENCODED,
        pairs=[*(pair for control in controls for pair in _pairs(control)), *_clicked(node)],
        names=frozenset(control.attributes["name"] or "" for control in controls),
    )


def _controls(document: LexborHTMLParser, form: LexborNode) -> Iterator[LexborNode]:
    """Yield the fields of a form, those outside that name it included; disabled ones are none."""
    name = form.attributes.get("id")
    for node in document.css(CONTROLS) if name else form.css(CONTROLS):
        owner = node.attributes.get("form")
        is_within = owner is None and _is_below(node, form)
        if (is_within or (owner is not None and owner == name)) and not _is_disabled(node):
            yield node


def _pairs(control: LexborNode) -> Iterator[tuple[str, str]]:
    name = control.attributes["name"] or ""
    if not name:
        return
    kind = (control.attributes.get("type") or "").lower()
    match control.tag:
        case "textarea":
            yield name, control.text()
        case "select":
            yield from ((name, value) for value in _selected(control))
        case "input" if kind in ("checkbox", "radio"):
            if "checked" in control.attributes:
                yield name, control.attributes.get("value") or "on"
        case "input" if kind not in NOT_SENT:
            yield name, control.attributes.get("value") or ""
        case _:
            return


def _selected(select: LexborNode) -> list[str]:
    options = select.css("option")
    chosen = [option for option in options if "selected" in option.attributes]
    if "multiple" not in select.attributes:
        chosen = chosen[-1:] or options[:1]
    return [_value_of(option) for option in chosen]


def _value_of(option: LexborNode) -> str:
    value = option.attributes.get("value")
    return " ".join(option.text().split()) if "value" not in option.attributes else value or ""


def _clicked(form: LexborNode) -> Iterator[tuple[str, str]]:
    """Yield the name and value of the button that sends the form, if it has a name."""
    button = next((node for node in form.css(SUBMITS) if not _is_disabled(node)), None)
    if button is not None and (name := button.attributes.get("name")):
        if button.attributes.get("type") == "image":
            yield from ((f"{name}.x", "0"), (f"{name}.y", "0"))
        else:
            yield name, button.attributes.get("value") or ""


def _is_below(node: LexborNode, ancestor: LexborNode) -> bool:
    above = node.parent
    while above is not None and above.mem_id != ancestor.mem_id:
        above = above.parent
    return above is not None


def _is_disabled(node: LexborNode) -> bool:
    if "disabled" in node.attributes:
        return True
    above = node.parent
    while above is not None:
        if above.tag == "fieldset" and "disabled" in above.attributes:
            return True
        above = above.parent
    return False


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
