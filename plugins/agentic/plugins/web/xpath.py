"""XPath 1.0, for those who prefer it to CSS selectors."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator

from agentic.core.types import JSONValue
from agentic.plugins.web.extras import load

EXTRA = "xpath"


@lru_cache(maxsize=1024)
def _compiled(expression: str) -> Any:  # noqa: ANN401 - a class of turbohtml, which may not be installed
    turbohtml = load("turbohtml", EXTRA)
    try:
        compiled = turbohtml.XPath(expression)
        compiled(turbohtml.parse(""))  # functions and variables are looked up when it runs
    except (TypeError, ValueError) as exc:
        raise ValueError(f"{expression!r} is no XPath: {exc}") from None
    return compiled


def _checked(expression: str) -> str:
    _compiled(expression)
    return expression


XPath = Annotated[str, AfterValidator(_checked)]
"""An XPath expression, checked when the spec is read."""


def find(expression: str, markup: str, *, as_html: bool) -> list[JSONValue]:
    """Return what ``expression`` leads to: texts of elements, values of attributes, a number or a truth.

    Args:
        expression: XPath 1.0.
        markup: A page, or an element of one.
        as_html: Elements as markup instead of their text.

    Raises:
        MissingExtraError: turbohtml is not installed.
    """
    found = _compiled(expression)(_parsed(markup))
    if isinstance(found, list):
        return [_value(each, as_html=as_html) for each in found]
    return [] if found == "" else [found]


# Several fields are read from one page, and two pages at a time at most.
@lru_cache(maxsize=2)
def _parsed(markup: str) -> Any:  # noqa: ANN401 - as above
    return load("turbohtml", EXTRA).parse(markup)


def _value(found: Any, *, as_html: bool) -> JSONValue:  # noqa: ANN401 - as above
    if not isinstance(found, str):
        found = found.html if as_html else found.text
    return str(found) if as_html else " ".join(str(found).split())
