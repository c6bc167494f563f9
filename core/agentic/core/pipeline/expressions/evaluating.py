"""JMESPath with limits on the cost of an expression and on the size of its result.

``a | [@, @, @][] | [@, @, @][]`` is short, and each part multiplies the result of the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from jmespath.functions import Functions
from jmespath.visitor import TreeInterpreter

from agentic.core.pipeline.expressions.page_json import JSON, is_page, json_of
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult

MAX_CHARS = 10_000
"""Characters of an expression."""

MAX_BRACKETS = 50
"""Open brackets in an expression."""

MAX_DEPTH = 200
"""Nested parts of an expression."""

MAX_STEPS = 2_000_000
"""Values an expression reads or makes."""

MAX_RESULT_CHARS = 20_000_000
"""Characters of a result as JSON, unless the input of the expression is larger itself."""

ExpressionNode = Mapping[str, Any]
_GROWING = frozenset({"multi_select_list", "multi_select_dict", "function_expression", "flatten"})
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_QUOTES = "'\"`"


class CostError(ValueError):
    """An expression is beyond a limit."""


def check_text(text: str) -> None:
    """Check an expression before parsing, because the parser calls itself for each bracket.

    Raises:
        CostError: It is too long, or nested too deep.
    """
    if len(text) > MAX_CHARS:
        raise CostError(f"it has more than {MAX_CHARS:,} characters; compute it in several steps")
    depth, quote, is_escaped = 0, "", False
    for character in text:
        if quote:
            if character == quote and not is_escaped:
                quote = ""
            is_escaped = character == "\\" and not is_escaped
        elif character in _QUOTES:
            quote, is_escaped = character, False
        elif character in _CLOSING:
            depth += 1
        elif character in _CLOSING.values():
            depth -= 1
        if depth > MAX_BRACKETS:
            raise CostError(f"it has more than {MAX_BRACKETS} nested brackets")


def check_tree(node: ExpressionNode) -> None:
    """Check a parsed expression.

    Raises:
        CostError: It is nested too deep.
    """
    waiting = [(node, 1)]
    while waiting:
        part, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise CostError(f"it has more than {MAX_DEPTH} nested parts; compute it in several steps")
        waiting.extend((child, depth + 1) for child in _children(part))


def search(parsed: ParsedResult, value: JSONValue | Mapping[str, JSONValue]) -> JSONValue:
    """Return the value of an expression.

    Args:
        parsed: The expression.
        value: Its input; a mapping holds the values by name.

    Raises:
        CostError: It takes too many steps, or its result is too large.
        ValueError: A function does not accept its arguments.
    """
    if not _may_grow(parsed.expression, parsed):
        return cast(JSONValue, parsed.search(value))
    bounded = _Bounded()
    found = cast(JSONValue, bounded.visit(parsed.parsed, value))
    size = bounded.size(found)
    if size > MAX_RESULT_CHARS and size > bounded.size(cast(JSONValue, value)):
        raise CostError(f"its result has more than {MAX_RESULT_CHARS:,} characters; select less")
    return found


@lru_cache(maxsize=4096)
def _may_grow(_text: str, parsed: ParsedResult) -> bool:
    return any(node["type"] in _GROWING or node.get("value") == JSON for node in _nodes(parsed.parsed))


def _nodes(node: ExpressionNode) -> Iterator[ExpressionNode]:
    waiting = [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting.extend(_children(part))


def _children(node: ExpressionNode) -> list[ExpressionNode]:
    return [child for child in node["children"] if isinstance(child, Mapping)]


class _Bounded(TreeInterpreter):
    """Counts its work. A value that appears twice in a result counts twice, though it is stored once."""

    def __init__(self) -> None:
        super().__init__()
        self._known = Functions()
        self._left = MAX_STEPS
        self._sizes: dict[int, tuple[object, int]] = {}

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as of jmespath
        self._spend(1)
        return super().visit(node, *args, **kwargs)

    def visit_field(self, node: Any, value: Any) -> Any:  # noqa: ANN401 - as of jmespath
        if node["value"] == JSON and is_page(value):
            return json_of(value)
        return super().visit_field(node, value)

    def visit_flatten(self, node: Any, value: Any) -> Any:  # noqa: ANN401 - as of jmespath
        base = self.visit(node["children"][0], value)
        if not isinstance(base, list):
            return None
        self._spend(sum(len(one) if isinstance(one, list) else 1 for one in base))
        return [part for one in base for part in (one if isinstance(one, list) else [one])]

    def visit_comparator(self, node: Any, value: Any) -> Any:  # noqa: ANN401 - as of jmespath
        left, right = (self.visit(child, value) for child in node["children"])
        if isinstance(left, list | dict) and isinstance(right, list | dict):
            self._spend(min(self.size(left), self.size(right)))
        literal = [{"type": "literal", "value": one, "children": []} for one in (left, right)]
        known: Any = {**node, "children": literal}
        return super().visit_comparator(known, value)

    def visit_function_expression(self, node: Any, value: Any) -> Any:  # noqa: ANN401 - as of jmespath
        given = [self.visit(child, value) for child in node["children"]]
        self._spend(sum(len(one) for one in given if isinstance(one, list | dict)))
        if node["value"] in {"to_string", "contains", "join"}:
            text = sum(self.size(one) for one in given if isinstance(one, list | dict))
            if node["value"] == "join" and isinstance(given[0], str) and len(given) > 1:
                text += len(given[0]) * len(given[1] or ())
            if text > MAX_RESULT_CHARS:
                raise CostError(
                    f"the argument of {node['value']}() has more than {MAX_RESULT_CHARS:,} characters"
                )
        return self._known.call_function(node["value"], given)

    def size(self, value: JSONValue) -> int:
        """Return approximately how many characters a value has as JSON."""
        if isinstance(value, str):
            return len(value) + 2
        if not isinstance(value, list | Mapping):
            return 5
        known = self._sizes.get(id(value))
        if known is None:
            # The value is kept beside its size: after it is deleted, another value may get its id.
            known = self._sizes[id(value)] = value, self._counted(value)
        return known[1]

    def _counted(self, value: list[JSONValue] | Mapping[str, JSONValue]) -> int:
        if isinstance(value, Mapping):
            return 2 + sum(len(key) + 4 + self.size(part) for key, part in value.items())
        return 2 + sum(1 + self.size(part) for part in value)

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise CostError(f"it reads more than {MAX_STEPS:,} values; select less, or loop over them")
