"""Text to data, with the line each part stands in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from agentic.core.pipeline.errors import Fault, SpecError
from agentic.core.pipeline.references import Place


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed text: the data, and place -> line (from 1) where the format tells."""

    data: object
    lines: Mapping[Place, int]

    def line_of(self, place: Place) -> int | None:
        """Return the line of ``place``, or of the nearest part around it."""
        for length in range(len(place), 0, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return None


def read_text(text: str, source: str) -> Document:
    """Parse YAML, or JSON, which most of YAML is.

    Args:
        text: Of the file.
        source: Names it in errors.

    Raises:
        SpecError: It is empty, no valid YAML, or names a key twice; line and column are told.
    """
    if not text.strip():
        raise SpecError(source, [Fault(message="it is empty; a pipeline needs at least 'steps'")])
    if text.lstrip().startswith("{"):
        try:
            return Document(json.loads(text), {})
        except ValueError:
            pass  # a YAML mapping in braces; the YAML reader tells line and column
    return _read_yaml(text, source)


def _read_yaml(text: str, source: str) -> Document:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        data = loader.construct_document(node) if node is not None else None
    except yaml.MarkedYAMLError as exc:
        raise SpecError(source, [_syntax_fault(exc)]) from None
    except (yaml.YAMLError, ValueError) as exc:
        raise SpecError(source, [Fault(message=f"it is no valid YAML: {exc}")]) from None
    finally:
        loader.dispose()
    if node is None:
        raise SpecError(source, [Fault(message="it holds only comments; a pipeline needs at least 'steps'")])
    places = list(_places(node, (), set()))
    twice = [
        Fault(place=place, message="this key is there twice; keep one", line=line)
        for place, line, is_repeated in places
        if is_repeated
    ]
    if twice:
        raise SpecError(source, twice)
    return Document(data, {place: line for place, line, _ in places})


def _syntax_fault(exc: yaml.MarkedYAMLError) -> Fault:
    mark = exc.problem_mark or exc.context_mark
    where = f"column {mark.column + 1}: " if mark else ""
    context = f" ({exc.context})" if exc.context else ""
    message = f"it is no valid YAML: {where}{exc.problem or 'cannot be read'}{context}"
    return Fault(message=message, line=mark.line + 1 if mark else None)


def _places(node: yaml.Node, place: Place, around: set[int]) -> Iterator[tuple[Place, int, bool]]:
    """Yield (place, line, whether the key was there before) of every key and list element."""
    if id(node) in around:  # an alias to a node it stands in
        return
    inner = around | {id(node)}
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            yield (*place, name), key.start_mark.line + 1, name in seen
            seen.add(name)
            yield from _places(value, (*place, name), inner)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*place, index), value.start_mark.line + 1, False
            yield from _places(value, (*place, index), inner)
