"""Tools as signatures of Python functions, for programs and their type check. Pure."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping
from typing import Any, cast

from agentic.core.agents import Tool
from agentic.core.terminal import harmless
from agentic.core.types import JSONValue

MAX_DEPTH = 4
MAX_CHOICES = 30
SENTENCE_CHARS = 120
DESCRIPTION_CHARS = 1_000
HEADER = "from typing import Any, Literal\n\n"

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def names_of(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Return tools by the names that programs call them by, which are identifiers."""
    found: dict[str, Tool] = {}
    for tool in tools:
        name = _identifier(tool.name)
        number = 2
        while name in found:
            name = f"{_identifier(tool.name)}_{number}"
            number += 1
        found[name] = tool
    return found


def signature_of(name: str, tool: Tool) -> str:
    """Return the stub of a function, without its docstring."""
    properties = cast(dict[str, Any], tool.parameters.get("properties") or {})
    if any(not _is_name(one) for one in properties):
        return f"async def {name}(**arguments: Any) -> Any: ..."
    wanted = tool.parameters.get("required")
    required = set(wanted) if isinstance(wanted, list) else set()
    ordered = sorted(properties, key=lambda one: one not in required)
    parts = [f"{one}: {type_of(properties[one])}{'' if one in required else ' = ...'}" for one in ordered]
    return f"async def {name}({', '.join(['*', *parts]) if parts else ''}) -> Any: ..."


def described(name: str, tool: Tool, *, has_details: bool = False) -> str:
    """Return a function as a model reads it: signature and first sentence.

    Args:
        name: Of the function.
        tool: The tool.
        has_details: Whether to add the rest of the description, and the descriptions of the parameters.
    """
    signature = signature_of(name, tool).removesuffix(" ...")
    if not has_details:
        return f"{signature}  # {_line(_first_sentence(tool.description), SENTENCE_CHARS)}"
    lines = [signature, f"    # {_line(tool.description, DESCRIPTION_CHARS)}"]
    for key, facts in cast(dict[str, Any], tool.parameters.get("properties") or {}).items():
        words = facts.get("description") if isinstance(facts, dict) else None
        if isinstance(words, str) and words:
            lines.append(f"    # {_line(str(key), SENTENCE_CHARS)}: {_line(words, DESCRIPTION_CHARS)}")
    return "\n".join(lines)


def stubs_of(named: Mapping[str, Tool]) -> str:
    """Return the stubs of functions for the type check."""
    return HEADER + "\n".join(signature_of(name, tool) for name, tool in named.items())


def type_of(schema: object, depth: int = 0) -> str:  # noqa: PLR0911  # one return for each kind
    """Return a schema as an annotation; ``Any`` without one."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return "Any"
    if isinstance(choices := schema.get("enum"), list) and 0 < len(choices) <= MAX_CHOICES:
        if all(isinstance(one, (str, int, bool)) or one is None for one in choices):
            return f"Literal[{', '.join(map(repr, choices))}]"
        return "Any"
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list) and options:
        return _union(type_of(one, depth + 1) for one in options[:MAX_CHOICES])
    kind: JSONValue = schema.get("type")
    if isinstance(kind, list) and kind:
        return _union(type_of({**schema, "type": one}, depth + 1) for one in kind)
    if kind == "array":
        return f"list[{type_of(schema.get('items'), depth + 1)}]"
    if kind == "object":
        return "dict[str, Any]"
    return _PLAIN.get(str(kind), "Any")


def _union(kinds: Iterable[str]) -> str:
    found = list(dict.fromkeys(kinds))
    return "Any" if "Any" in found else " | ".join(found)


def _identifier(name: str) -> str:
    word = "".join(char if char.isascii() and (char.isalnum() or char == "_") else "_" for char in name)
    word = f"tool_{word}" if not word or word[0].isdigit() else word
    return f"{word}_" if keyword.iskeyword(word) else word


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _first_sentence(words: str) -> str:
    line = " ".join(words.split())
    return line.partition(". ")[0].removesuffix(".")


def _line(words: str, most_chars: int) -> str:
    line = " ".join(harmless(words).split())
    return line if len(line) <= most_chars else f"{line[: most_chars - 3]}..."
