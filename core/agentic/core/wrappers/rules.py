"""Locators as the rules of fields in a pipeline, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from agentic.core.types import JSONValue
from agentic.core.wrappers.addresses import ADDRESSES, is_address
from agentic.core.wrappers.locators import MAX_LOCATORS, Locator, LocatorKind
from agentic.core.wrappers.values import Kind, is_finite
from agentic.core.wrappers.wrapper import Wrapper

PLACES = tuple(kind.value for kind in LocatorKind)
_AMOUNTS = frozenset({"integer", "number", "price"})
_REPLACED = frozenset({*PLACES, "script", "attr", "alternatives"})
_READING = frozenset({"type", "regex", "decimal", "date_format", "date_order"})
Rule = dict[str, JSONValue]


def rule_of(
    locators: Sequence[Locator], *, is_list: bool, attr: str = "", kind: str = "", regex: str = ""
) -> JSONValue:
    """Return locators as the rule of a field: the first one, and the others as its alternatives.

    Args:
        locators: The best first.
        is_list: Whether all matches are wanted.
        attr: Attribute of elements to read, where a locator names none; empty for their text.
        kind: Type of the rule; empty for a string.
        regex: Takes the value out of the texts of elements; empty for the whole text.
    """
    rules: list[Rule] = []
    for one in locators:
        own = one.attr or attr
        is_expression = one.kind is LocatorKind.XPATH
        rule: Rule = {one.kind.value: f"{one.path}/@{own}" if own and is_expression else one.path}
        if one.script:
            rule["script"] = one.script
        if own and one.kind is LocatorKind.CSS:
            rule["attr"] = own
        if regex and one.is_shown:
            rule["regex"] = regex
        if kind not in ("", "string"):
            rule["type"] = kind
        if is_list:
            rule["list"] = True
        rules.append(rule)
    first, *others = rules
    return {**first, "alternatives": list(others)} if others else first


def locators_of(rule: JSONValue) -> list[Locator]:
    """Return the places of a rule and of its alternatives; none if it is more than a value at a place."""
    if isinstance(rule, str):
        return [Locator(LocatorKind.CSS, rule)]
    if (
        not isinstance(rule, dict)
        or rule.get("fields")
        or (rule.get("attr") and rule.get("type") == "boolean")
    ):
        return []
    own = [_locator(rule, LocatorKind(place)) for place in PLACES if rule.get(place) is not None]
    alternatives = rule.get("alternatives")
    more = alternatives if isinstance(alternatives, (list, tuple)) else []
    return [*own, *(one for alternative in more for one in locators_of(alternative))]


def _locator(rule: Mapping[str, JSONValue], kind: LocatorKind) -> Locator:
    path, attr = str(rule[kind.value]), ""
    if kind is LocatorKind.CSS:
        attr = str(rule.get("attr") or "")
    elif kind is LocatorKind.XPATH and "|" not in path:
        ahead, _, last = path.rpartition("/@")
        if ahead.strip("/") and last.replace("-", "").replace("_", "").isalnum():
            path, attr = ahead, last
    return Locator(kind, path, str(rule.get("script") or ""), attr)


def kind_of_rule(rule: JSONValue) -> Kind:
    """Return the meaning of the values of a rule's field."""
    if not isinstance(rule, dict):
        return Kind.TEXT
    if rule.get("type") in _AMOUNTS:
        return Kind.NUMBER
    if rule.get("regex"):
        return Kind.TEXT
    is_address = rule.get("type") == "url" or any(one.attr in ADDRESSES for one in locators_of(rule)[:1])
    return Kind.ADDRESS if is_address else Kind.TEXT


def kind_of_values(rule: JSONValue, values: Sequence[JSONValue]) -> Kind:
    """Return the meaning of a field's values by its rule, and by the values: all may be addresses."""
    kind = kind_of_rule(rule)
    every = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return Kind.ADDRESS if kind is Kind.TEXT and every and all(map(is_address, every)) else kind


def wrapper_of_rule(name: str, rule: JSONValue) -> Wrapper | None:
    """Return the wrapper of a field before its first page; None if its rule has no place for a text."""
    locators = locators_of(rule)
    if not locators:
        return None
    is_list = isinstance(rule, dict) and bool(rule.get("list"))
    return Wrapper(name, kind_of_rule(rule), is_list, locators=tuple(locators[:MAX_LOCATORS]))


def comparable(value: JSONValue) -> JSONValue:
    """Return a stored value as it is compared with texts: of a price, the amount.

    Of NaN, infinity, and whole numbers that no float has room for, which pages of JSON may have: None.
    """
    if isinstance(value, dict):
        value = value.get("amount")
    return value if not isinstance(value, int | float) or is_finite(value) else None


def with_locators(rule: JSONValue, locators: Sequence[Locator], *, is_list: bool) -> JSONValue:
    """Return a rule with new places; its type and the rest of it stay."""
    new = cast(Rule, rule_of(locators, is_list=is_list))
    kept: Mapping[str, JSONValue] = rule if isinstance(rule, dict) else {}
    options: Rule = {key: value for key, value in kept.items() if key not in _REPLACED}
    reading: Rule = {key: value for key, value in options.items() if key in _READING}
    others = new.pop("alternatives", [])
    alternatives: list[JSONValue] = [{**one, **reading} for one in cast(list[Rule], others)]
    return {**new, **options, "alternatives": alternatives} if alternatives else {**new, **options}
