"""The content between ``${`` and ``}``: a dotted path, or a JMESPath expression over results.

JMESPath (https://jmespath.org) selects, filters and compares JSON and can do nothing else: no code of a spec
is ever run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentic.core.actors import ActorError
from agentic.core.pipeline.expressions.page_json import JSON, is_page, json_of
from agentic.core.pipeline.expressions.suggestions import unknown_word
from agentic.core.secret_names import secret_name_fault
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult

Path = tuple[str, ...]
Lookup = Callable[[Path], JSONValue]

SECRETS = "secrets"
"""Prefix of references to secrets."""

_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_INDEX = re.compile(r"[0-9]{1,18}")
# Only their first child uses the names around the expression; the others use its result.
_INTO_FIRST = frozenset(
    {"subexpression", "index_expression", "projection", "value_projection", "filter_projection", "pipe"}
)


class ReferenceFailedError(ActorError):
    """A reference leads nowhere in the available results."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"${{{text}}} {reason}", failure_class="reference")
        self.text = text


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression in place of a value.

    Attributes:
        text: Its source.
        roots: Names of the inputs and results it uses.
        path: Its parts if it is a plain dotted path; such a path must lead somewhere. JMESPath returns null
            for anything it does not find.
        fault: Why it cannot be used, "" if it can.
    """

    text: str
    roots: frozenset[str]
    path: Path | None = None
    fault: str = ""


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> Expression:
    """Return the meaning of ``text``, without braces around it; without a meaning it has a ``fault``."""
    stripped = text.strip()
    if _PATH.fullmatch(stripped):
        path = tuple(stripped.split("."))
        return Expression(stripped, frozenset(path[:1]), path, _secret_fault(path))
    from agentic.core.pipeline.expressions.evaluating import CostError  # with it comes jmespath

    try:
        parsed = _compiled(stripped).parsed
    except RecursionError:
        return Expression(stripped, frozenset(), fault="is nested too deeply; compute it in several steps")
    except CostError as exc:
        return Expression(stripped, frozenset(), fault=f"cannot be used: {exc}")
    except ValueError as exc:
        reason = str(exc).splitlines()[0].removesuffix(":")
        fault = f"is neither a dotted path nor a JMESPath expression: {reason}{_quoting_hint(stripped)}"
        return Expression(stripped, frozenset(), fault=fault)
    roots = frozenset(_roots(parsed))
    return Expression(stripped, roots, fault=_fault(roots, frozenset(_functions(parsed))))


def evaluate(expression: Expression, lookup: Lookup) -> JSONValue:
    """Return the value of ``expression``.

    Args:
        expression: Without a fault.
        lookup: Returns the value of a path; raises if it leads nowhere.

    Raises:
        ReferenceFailedError: A plain path leads nowhere, or a function does not accept its arguments.
    """
    if expression.path is not None:
        return lookup(expression.path)
    from agentic.core.pipeline.expressions.evaluating import search

    names = {root: lookup((root,)) for root in expression.roots}
    try:
        return search(_compiled(expression.text), names)
    except ValueError as exc:
        raise ReferenceFailedError(expression.text, f"cannot be evaluated: {exc}") from None


def checked_query(text: str) -> str:
    """Return a JMESPath expression over data that are not results, such as the answer of an API.

    Raises:
        ValueError: It is not valid, calls an unknown function, or is beyond a limit.
    """
    from jmespath.functions import Functions

    try:
        parsed = _compiled(text).parsed
    except RecursionError:
        raise ValueError(f"{text[:60]!r} is nested too deeply") from None
    except ValueError as exc:
        reason = str(exc).splitlines()[0].removesuffix(":")
        raise ValueError(
            f"{text[:60]!r} is not a JMESPath expression: {reason}{_quoting_hint(text)}"
        ) from None
    if unknown := sorted(set(_functions(parsed)) - set(Functions.FUNCTION_TABLE)):
        raise ValueError(
            f"{text[:60]!r} calls {unknown_word('function', unknown[0], Functions.FUNCTION_TABLE)}"
        )
    return text


def query(text: str, value: JSONValue) -> JSONValue:
    """Return the result of a JMESPath expression on ``value``; None for nothing.

    Args:
        text: As from :func:`checked_query`.
        value: Any data.

    Raises:
        ValueError: A function does not accept its arguments, or the expression costs too much.
    """
    from agentic.core.pipeline.expressions.evaluating import search

    return search(_compiled(text), value)


def descend(value: JSONValue, path: Path, whole: Path) -> JSONValue:
    """Return the value at ``path`` in ``value``; numbers index lists.

    Args:
        value: Where to start.
        path: The rest of the path.
        whole: The reference it is part of, for the message.

    Raises:
        ReferenceFailedError: A part does not exist.
    """
    for name in path:
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif name == JSON and is_page(value):
            try:
                value = json_of(value)
            except ValueError as exc:
                raise ReferenceFailedError(".".join(whole), f"cannot be read: {exc}") from None
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise ReferenceFailedError(".".join(whole), f"finds no {name!r} in a {kind_of(value)}")
    return value


def kind_of(value: JSONValue) -> str:
    """Return the kind of a value, in a word or two."""
    if isinstance(value, Mapping):
        known = ", ".join(map(str, value)) or "nothing"
        return f"mapping of {known}"
    return {list: "list", type(None): "null"}.get(type(value), type(value).__name__)


@lru_cache(maxsize=4096)
def _compiled(text: str) -> ParsedResult:
    import jmespath  # loaded by the first spec that needs it

    from agentic.core.pipeline.expressions.evaluating import check_text, check_tree

    check_text(text)
    compiled = jmespath.compile(text)
    check_tree(compiled.parsed)
    return compiled


def _roots(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names an expression looks up directly, "@" for all of them."""
    kind = node["type"]
    if kind == "field":
        yield node["value"]
    elif kind in {"current", "identity"}:
        yield "@"
    elif kind == "expref":  # uses the elements of a list
        return
    else:
        children = _children(node)
        for child in children[:1] if kind in _INTO_FIRST else children:
            yield from _roots(child)


def _children(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parts of a node; the parts of a slice are numbers."""
    return [child for child in node["children"] if isinstance(child, Mapping)]


def _functions(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield the name of every function that an expression calls."""
    if node["type"] == "function_expression":
        yield node["value"]
    for child in _children(node):
        yield from _functions(child)


def _fault(roots: frozenset[str], functions: frozenset[str]) -> str:
    from jmespath.functions import Functions

    if "@" in roots:
        return "selects all values; name a result"
    if SECRETS in roots:
        return "names a secret, which must stand alone: ${secrets.NAME}"
    if unknown := sorted(functions - set(Functions.FUNCTION_TABLE)):
        return f"calls {unknown_word('function', unknown[0], Functions.FUNCTION_TABLE)}"
    return ""


def _quoting_hint(text: str) -> str:
    if text.isascii():
        return ""
    return '; unquoted names take a to z, digits, - and _; quote other keys, as in item."größe"'


def _secret_fault(path: Path) -> str:
    if path[0] != SECRETS:
        return ""
    if len(path) != 2:
        return "does not name one secret: ${secrets.NAME}"
    fault = secret_name_fault(path[1])
    return f"is not a valid secret name: {fault}" if fault else ""
