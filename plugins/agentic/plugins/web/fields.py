"""Fields of a detail page: where each one stands, and what its text means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from selectolax.lexbor import LexborHTMLParser, LexborNode

from agentic.core.actors import ActorError
from agentic.core.types import JSONValue
from agentic.plugins.web.html import Selector, absolute, text_of

FieldType = Literal["string", "integer", "number", "boolean", "url"]

_NUMBER = re.compile(r"[-+]?\d{1,3}(?:[,\s]\d{3})+(?:\.\d+)?(?!\d)|[-+]?\d+(?:\.\d+)?")
_GROUPING = re.compile(r"[,\s]")


@lru_cache(maxsize=1024)
def _pattern(regex: str) -> re.Pattern[str]:
    return re.compile(regex)


def _checked_regex(regex: str) -> str:
    try:
        _pattern(regex)
    except re.error as exc:
        raise ValueError(f"{regex!r} is no regular expression: {exc}") from None
    return regex


class FieldRule(BaseModel):
    """How to read one field. In a spec a plain string is short for its ``selector``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    selector: Selector
    attr: str | None = Field(default=None, description="Attribute to read instead of the text.")
    regex: Annotated[str, AfterValidator(_checked_regex)] | None = Field(
        default=None, description="What to take of the text: the first group, or all that matches."
    )
    type: FieldType = Field(default="string", description="boolean: whether there is such an element.")
    required: bool = Field(default=False, description="Fail with selector_missing if it is not there.")
    list: bool = Field(default=False, description="Every element that fits, instead of the first.")


def _rule(value: object) -> object:
    return {"selector": value} if isinstance(value, str) else value


Schema = dict[str, Annotated[FieldRule, BeforeValidator(_rule)]]
"""Field name -> how to read it."""


def read_fields(
    document: LexborHTMLParser, schema: Mapping[str, FieldRule], base: str
) -> dict[str, JSONValue]:
    """Return the fields of a page; None for those that are not there.

    Args:
        document: The page.
        schema: Field name -> rule.
        base: What addresses on the page are relative to.

    Raises:
        ActorError: A required field is missing (``selector_missing``), or a text is not of the field's type
            (``schema_invalid``).
    """
    return {name: _read(name, document, rule, base) for name, rule in schema.items()}


def _read(name: str, document: LexborHTMLParser, rule: FieldRule, base: str) -> JSONValue:
    texts = [text for node in document.css(rule.selector) if (text := _text(node, rule)) is not None]
    if rule.required and not texts:
        message = f"field {name!r}: nothing on {base} fits {rule.selector!r}"
        raise ActorError(message, failure_class="selector_missing")
    if rule.type == "boolean":
        return bool(texts)
    if rule.list:
        return [_convert(name, text, rule.type, base) for text in texts]
    return _convert(name, texts[0], rule.type, base) if texts else None


def _text(node: LexborNode, rule: FieldRule) -> str | None:
    text = text_of(node) if rule.attr is None else node.attributes.get(rule.attr)
    if text is None or rule.regex is None:
        return text
    found = _pattern(rule.regex).search(text)
    if found is None:
        return None
    return found.group(1) if found.re.groups else found.group()


def _convert(name: str, text: str, kind: FieldType, base: str) -> JSONValue:
    if kind == "string":
        return text
    value = absolute(base, text) if kind == "url" else parse_number(text, whole=kind == "integer")
    if value is None:
        message = f"field {name!r}: {text[:100]!r} on {base} is no {kind}"
        raise ActorError(message, failure_class="schema_invalid")
    return value


def parse_number(text: str, *, whole: bool) -> int | float | None:
    """Return the first number in ``text``; ``"1,234.50 EUR"`` is 1234.5. None if there is none.

    Args:
        text: With digits grouped by commas or blanks, and a decimal point.
        whole: Refuse a number with a fraction.
    """
    found = _NUMBER.search(text)
    if found is None:
        return None
    digits = _GROUPING.sub("", found.group())
    if "." not in digits:
        return int(digits) if whole else float(digits)
    return None if whole else float(digits)
