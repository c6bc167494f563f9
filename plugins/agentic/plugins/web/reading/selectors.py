"""CSS selectors in the inputs of actors."""

from __future__ import annotations

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
        raise ValueError(f"{selector!r} is not a CSS selector") from None
    return selector


Selector = Annotated[str, AfterValidator(_checked)]
"""A CSS selector, checked when the spec is read."""
