"""CSS selectors in the inputs of actors."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator


@lru_cache(maxsize=1024)
def _checked(selector: str) -> str:
    # Loaded for the first selector: a pipeline without one is checked in less time.
    from turbohtml import SelectorSyntaxError, parse

    try:
        parse("").select(selector)
    except SelectorSyntaxError:
        raise ValueError(f"{selector!r} is not a CSS selector{_advice(selector)}") from None
    return selector


def _advice(selector: str) -> str:
    """Return how a field takes a selector of Scrapy, or an XPath; "" for anything else."""
    css, _, pseudo = selector.strip().rpartition("::")
    if css and pseudo == "text":
        return "; leave out '::text', because a field has the text anyway"
    if css and pseudo.startswith("attr(") and pseudo.endswith(")"):
        rule = {"selector": css, "attr": pseudo[len("attr(") : -1].strip()}
    elif selector.startswith(("/", "./", "(/")):
        rule = {"xpath": selector.removesuffix("/text()")}
    else:
        return ""
    return f"; give it to a field as {json.dumps(rule, ensure_ascii=False)}"


Selector = Annotated[str, AfterValidator(_checked)]
"""A CSS selector, checked when the spec is read."""
