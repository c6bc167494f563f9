"""A fake language model that answers by the words of a text: the same answer each time, and for nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from agentic.core.linear import LinearPattern
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from agentic.core.llm import FunctionModel, ModelRequest

_WORD = LinearPattern(r"\w+")
_NUMBER = LinearPattern(r"-?[0-9]+(?:\.[0-9]+)?")
_HINT = LinearPattern(r"(?m)^- ([^:\n]+): (.*)$")

SUMMARY_CHARS = 120

_Schema = Mapping[str, JSONValue]


def word_model(model: str) -> FunctionModel:
    """Return the model ``fake:words``.

    For output with a schema it chooses the value that shares most words with the text; a line
    ``- value: words`` of the instructions gives more of them. Texts and numbers come from the line
    ``name: value``, or else from the beginning. Without a schema it repeats the beginning of the text.

    Args:
        model: Its name; ``words``.
    """
    from agentic.core.llm import FunctionModel

    return FunctionModel(_reply, name=f"fake:{model}")


def _reply(request: ModelRequest) -> str:
    text = request.messages[0].text
    if request.output is None:
        return _beginning(text)
    reader = _Reader(text, {found[1].strip(): found[2] for found in _HINT.finditer(request.instructions)})
    return json.dumps(reader.value("", request.output.schema_), ensure_ascii=False)


class _Reader:
    """Fills a schema from a text.

    Args:
        text: The text.
        hints: More words for values.
    """

    def __init__(self, text: str, hints: Mapping[str, str]) -> None:
        self._text = text
        self._words = set(_words(text))
        self._hints = hints

    def value(self, name: str, schema: _Schema) -> JSONValue:
        """Return the value of a part of the schema."""
        kind = schema.get("type")
        may_be_null = isinstance(kind, list) and "null" in kind
        kinds: Sequence[JSONValue] = kind if isinstance(kind, list) else [kind]
        values = schema.get("enum")
        if isinstance(values, list):
            return self._chosen([one for one in values if isinstance(one, str)], may_be_null=may_be_null)
        properties, items = schema.get("properties"), schema.get("items")
        if isinstance(properties, dict):
            parts = {key: part for key, part in properties.items() if isinstance(part, dict)}
            return {key: self.value(key, part) for key, part in parts.items()}
        if isinstance(items, dict):
            known = items.get("enum")
            choices = [one for one in known if isinstance(one, str)] if isinstance(known, list) else []
            return [one for one in choices if self._shared(one)]
        return self._plain(name, kinds, may_be_null=may_be_null)

    def _plain(self, name: str, kinds: Sequence[JSONValue], *, may_be_null: bool) -> JSONValue:
        line = self._line(name)
        if "boolean" in kinds:
            return line is not None or name.casefold() in self._words
        if "number" in kinds or "integer" in kinds:
            found = _NUMBER.search(line or self._text)
            number = float(found[0]) if found is not None else 0.0
            if found is None and may_be_null:
                return None
            return int(number) if "integer" in kinds else number
        return line if line is not None or may_be_null else _beginning(self._text)

    def _chosen(self, values: list[str], *, may_be_null: bool) -> JSONValue:
        best = max(values, key=self._shared)
        if self._shared(best):
            return best
        return None if may_be_null else "unknown" if "unknown" in values else values[0]

    def _shared(self, value: str) -> int:
        return len(self._words.intersection(_words(f"{value} {self._hints.get(value, '')}")))

    def _line(self, name: str) -> str | None:
        prefix = f"{name}:"
        lines = (line for line in self._text.splitlines() if line.startswith(prefix))
        return next((line.removeprefix(prefix).strip() for line in lines), None)


def _words(text: str) -> Iterator[str]:
    return (found[0].casefold() for found in _WORD.finditer(text))


def _beginning(text: str) -> str:
    line = " ".join(text.split())
    return line[:SUMMARY_CHARS].rpartition(" ")[0] if len(line) > SUMMARY_CHARS else line
