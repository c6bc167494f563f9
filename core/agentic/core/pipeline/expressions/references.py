"""Find ``${inputs.start_url}`` in the values of a spec, and replace it by its value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentic.core.pipeline.expressions.expressions import (
    Expression,
    Lookup,
    ReferenceFailedError,
    evaluate,
    kind_of,
    parse_expression,
)
from agentic.core.types import JSONValue

ValuePath = tuple[str | int, ...]

_OPENING = "${"
_REFERENCE = re.compile(r"\$\{((?:[^{}]|\{[^{}]*\})*)\}")  # JMESPath has braces of its own


@dataclass(frozen=True, slots=True)
class FoundReference:
    """A reference in a spec: its meaning, and its place in the value."""

    expression: Expression
    place: ValuePath


def is_reference(value: object) -> bool:
    """Whether ``value`` is one reference and nothing else, so that it stands for a value of any type."""
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def expression_of(text: str) -> Expression:
    """Return the meaning of a key that takes only an expression, with ``${`` and ``}`` or without."""
    whole = _REFERENCE.fullmatch(text)
    return parse_expression(whole.group(1) if whole else text)


def find_references(value: JSONValue, place: ValuePath = ()) -> Iterator[FoundReference]:
    """Yield every reference in ``value``, at any depth."""
    if isinstance(value, str):
        yield from _in_text(value, place)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from find_references(part, (*place, key))
    elif isinstance(value, Sequence):
        for index, part in enumerate(value):
            yield from find_references(part, (*place, index))


def resolve(value: JSONValue, lookup: Lookup) -> JSONValue:
    """Return ``value`` with every reference replaced by its value.

    A string that is one reference becomes the value itself; within a longer string it becomes text.

    Args:
        value: Data from a spec.
        lookup: Returns the value of a path.

    Raises:
        ReferenceFailedError: A reference leads nowhere, or to a list or mapping in the middle of a text.
    """
    if isinstance(value, str):
        return _resolve_text(value, lookup)
    if isinstance(value, Mapping):
        return {key: resolve(part, lookup) for key, part in value.items()}
    if isinstance(value, Sequence):
        return [resolve(part, lookup) for part in value]
    return value


def _in_text(text: str, place: ValuePath) -> Iterator[FoundReference]:
    if _OPENING not in text:
        return
    matched = _REFERENCE.findall(text)
    for inner in matched:
        yield FoundReference(parse_expression(inner), place)
    if len(matched) < text.count(_OPENING):
        fault = "has a '${' without '}'"
        yield FoundReference(Expression(text, frozenset(), fault=fault), place)


def _resolve_text(text: str, lookup: Lookup) -> JSONValue:
    if _OPENING not in text:
        return text
    whole = _REFERENCE.fullmatch(text)
    if whole:
        return evaluate(parse_expression(whole.group(1)), lookup)
    return _REFERENCE.sub(lambda found: _as_text(parse_expression(found.group(1)), lookup), text)


def _as_text(expression: Expression, lookup: Lookup) -> str:
    value = evaluate(expression, lookup)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ReferenceFailedError(
        expression.text, f"is a {kind_of(value)} and cannot be part of a text; use it alone"
    )
