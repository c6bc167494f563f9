"""JSON in answers of APIs and in scripts of pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, cast

from pydantic import AfterValidator
from turbohtml import Document

from agentic.core.actors import ActorError, Page
from agentic.core.pipeline.expressions.expressions import checked_query, query
from agentic.core.reading.json_text import parse_json
from agentic.core.reading.loose_json import read_loose_json
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.html import document_of

JsonPath = Annotated[str, AfterValidator(checked_query)]
"""A JMESPath expression (https://jmespath.org), checked when the spec is read."""

SCRIPTS = 'script[type="application/json" i]'
"""Scripts with data, as Next.js, Nuxt and Shopify write them."""

_PARSED = re.compile(r"JSON\s*\.\s*parse\s*\(\s*")
_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`((?:[^`\\]|\\.)*)`", re.DOTALL)
_MISSING = object()


class _Latest:
    """The last page whose JSON was read: items, links and the next page are read of one page in turn."""

    pair: tuple[Page, JSONValue] | None = None


def json_of(page: Page) -> JSONValue:
    """Return the body of a page as data: JSON, with the guards that APIs put around it, or JSON lines.

    Small faults are mended, such as a comma too many, or a comment behind it.

    Raises:
        ActorError: It is not JSON (``decode``).
    """
    latest = _Latest.pair
    if latest is None or latest[0] is not page:
        latest = _Latest.pair = (page, _parsed(page))
    return latest[1]


def scripts_of(page: Page, name: str | None) -> Iterator[JSONValue]:
    """Yield the data in scripts of an HTML page.

    Args:
        page: The page.
        name: The id of a script (``__NEXT_DATA__``), or a variable that a script sets
            (``window.__STATE__``); None for every script of the type ``application/json``.

    Raises:
        ActorError: The page is not HTML (``not_html``), or nested too deep (``too_large``).
    """
    document = document_of(page)
    if name is None:
        texts = [script.text for script in document.select(SCRIPTS)]
        return (data for text in texts if (data := _tolerant(text)) is not _MISSING)
    return _named(document, name)


def found_in(path: str | None, data: JSONValue, url: str) -> JSONValue:
    """Return the value at a path; without a path the data itself.

    Raises:
        ActorError: The expression cannot be evaluated on this data (``schema_invalid``).
    """
    if path is None:
        return data
    try:
        return query(path, data)
    except ValueError as exc:
        message = f"{path[:100]!r} cannot be evaluated on {url}: {exc}"
        raise ActorError(message, failure_class="schema_invalid") from None


def first_found(path: str, places: Iterable[JSONValue], url: str) -> JSONValue:
    """Return the first value at a path that is not None."""
    return next((found for data in places if (found := found_in(path, data, url)) is not None), None)


def _parsed(page: Page) -> JSONValue:
    try:
        return parse_json(page.text)
    except ValueError as exc:
        if (mended := _mended(page.text)) is not _MISSING:
            return mended
        message = f"{page.final_url} ({page.content_type or 'no content type'}) is not JSON: {exc}"
        raise ActorError(message, failure_class="decode", status=page.status) from None


def _mended(text: str) -> JSONValue:
    """Return the only value in a text with small faults."""
    text = text.rstrip()
    if text.endswith("-->") and (end := text.rfind("<!--")) > 0:  # caches sign what they serve
        text = text[:end]
    found = read_loose_json(text)
    is_one = len(found.values) == 1 and not found.fault
    return found.values[0] if is_one else cast(JSONValue, _MISSING)


def _named(document: Document, name: str) -> Iterator[JSONValue]:
    """Yield the data of a script with an id, then the data of assignments to a variable."""
    scripts = document.select("script:not([src])")
    for script in scripts:
        if script.attr("id") == name and (data := _tolerant(script.text)) is not _MISSING:
            yield data
    last = re.escape(name.removeprefix("window."))
    quoted = last.rpartition(r"\.")[2]
    places = re.compile(
        rf"(?<![\w$.])(?:(?:window|self|globalThis)\.)?{last}\s*=(?!=)\s*|\[[\"']{quoted}[\"']\]\s*=(?!=)\s*"
    )
    for script in scripts:
        text = script.text
        for place in places.finditer(text):
            if (data := _assigned(text, place.end())) is not _MISSING:
                yield data


def _assigned(text: str, start: int) -> JSONValue:
    """Return the value of a variable: an object, a list, or a text with JSON that the script parses."""
    if call := _PARSED.match(text, start):
        start = call.end()
    if literal := _TEXT.match(text, start):
        inner = next(part for part in literal.groups() if part is not None)
        return _tolerant(_unescaped(inner)) if call else cast(JSONValue, _unescaped(inner))
    opening = text[start : start + 1]
    if opening not in ("{", "["):
        return cast(JSONValue, _MISSING)
    try:  # what follows the value does not count
        return cast(
            JSONValue,
            json.JSONDecoder(strict=False, parse_constant=lambda _: None).raw_decode(text, start)[0],
        )
    except (ValueError, RecursionError):
        return _javascript(text[start:])


def _tolerant(text: str) -> JSONValue:
    """Return the data in the text of a script; ``_MISSING`` if it has none."""
    text = text.strip().removeprefix("<!--").removesuffix("-->").strip()
    try:
        return parse_json(text)
    except ValueError:
        found = read_loose_json(text)
        return found.values[0] if found.values and not found.fault else _javascript(text)


def _javascript(text: str) -> JSONValue:
    """Return a JavaScript object: bare keys, single quotes, comments, trailing commas."""
    import chompjs

    try:
        return _without_words(chompjs.parse_js_object(text, loader_kwargs={"parse_constant": lambda _: None}))
    except (ValueError, RecursionError):
        return cast(JSONValue, _MISSING)


def _without_words(data: JSONValue) -> JSONValue:
    """Return what chompjs read, with None for the words of JavaScript that it gives as texts."""
    if isinstance(data, dict):
        return {key: _without_words(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_words(value) for value in data]
    return None if data in ("undefined", "NaN") else data


def _unescaped(literal: str) -> str:
    """Return the text of a JavaScript string."""

    def character(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        if code:
            return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else ""
        return {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "\n": ""}.get(
            found[4], found[4]
        )

    text = re.sub(
        r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|(.|\n))",
        character,
        literal,
        flags=re.DOTALL,
    )
    # Two escapes of 16 bits may be one character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
