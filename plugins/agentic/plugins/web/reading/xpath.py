"""XPath 1.0, for those who prefer it to CSS selectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator
from turbohtml import Document, Element, Node
from turbohtml import XPath as Compiled

from agentic.core.types import JSONValue
from agentic.plugins.web.reading.html import parse_apart
from agentic.plugins.web.reading.limits import TextMeter, check_xpath


@lru_cache(maxsize=1024)
def _compiled(expression: str) -> Compiled:
    try:
        compiled = Compiled(expression)
        compiled(parse_apart(""))  # functions and variables are looked up when it runs
    except (TypeError, ValueError) as exc:
        raise ValueError(f"{expression!r} is not a valid XPath: {exc}") from None
    return compiled


def _checked(expression: str) -> str:
    _compiled(expression)
    return expression


XPath = Annotated[str, AfterValidator(_checked)]
"""An XPath expression, checked when the spec is read."""


def find(
    expression: str,
    scope: Document | Element,
    meter: TextMeter,
    *,
    as_html: bool,
    text_of: Callable[[Element], str],
) -> list[JSONValue]:
    """Return what ``expression`` leads to: texts of elements, values of attributes, a number or a truth.

    Args:
        expression: XPath 1.0.
        scope: A page, or an element of one: for the expression it is a page of its own.
        meter: Counts what is read.
        as_html: Elements as markup instead of their text.
        text_of: Returns the text of an element.

    Raises:
        ActorError: The page is too large for the expression, or too much is read of it (``too_large``).
    """
    if isinstance(scope, Element):
        markup = scope.html
        meter.take(len(markup))
        scope = _apart(markup)
    check_xpath(expression, scope)
    found = _compiled(expression)(scope)
    if isinstance(found, list):
        return [_value(each, meter, as_html=as_html, text_of=text_of) for each in found]
    return [] if found == "" else [found]


# Several fields are read from one element.
_apart = lru_cache(maxsize=2)(parse_apart)


def _value(
    found: Node | str, meter: TextMeter, *, as_html: bool, text_of: Callable[[Element], str]
) -> JSONValue:
    if isinstance(found, Element) and not as_html:
        found = text_of(found)
        meter.take(len(found))
        return found
    if not isinstance(found, str):
        found = found.html if as_html else found.text
    meter.take(len(found))
    return str(found) if as_html else " ".join(found.split())
