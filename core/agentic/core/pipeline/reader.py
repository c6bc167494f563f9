"""Text to data, with the line and column each part begins at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import yaml

from agentic.core.pipeline.errors import Fault, SpecError
from agentic.core.pipeline.references import Place

Mark = tuple[int, int]
"""Line and column, from 1."""


@dataclass(frozen=True, slots=True)
class Document:
    """Parsed text: the data, and place -> line and column (from 1) where the text is known."""

    data: object
    marks: Mapping[Place, Mark]

    def locate(self, fault: Fault) -> Fault:
        """Return ``fault`` with line and column of its place, or of the nearest part around it."""
        for length in range(len(fault.place), 0, -1):
            if mark := self.marks.get(fault.place[:length]):
                return replace(fault, line=mark[0], column=mark[1])
        return fault


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
    document = _read_yaml(text, source)
    if text.lstrip().startswith("{"):
        try:  # YAML reads some numbers and dates of JSON as something else
            return Document(json.loads(text), document.marks)
        except ValueError:
            pass  # a YAML mapping in braces
    return document


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
        Fault(place=place, message="this key is there twice; keep one", line=mark[0], column=mark[1])
        for place, mark, is_repeated in places
        if is_repeated
    ]
    if twice:
        raise SpecError(source, twice)
    return Document(data, {place: mark for place, mark, _ in places})


def _syntax_fault(exc: yaml.MarkedYAMLError) -> Fault:
    mark = exc.problem_mark or exc.context_mark
    context = f" ({exc.context})" if exc.context else ""
    message = f"it is no valid YAML: {exc.problem or 'cannot be read'}{context}"
    line, column = _mark(mark) if mark else (None, None)
    return Fault(message=message, line=line, column=column)


def _mark(mark: yaml.Mark) -> Mark:
    return mark.line + 1, mark.column + 1


def _places(node: yaml.Node, place: Place, around: set[int]) -> Iterator[tuple[Place, Mark, bool]]:
    """Yield (place, line and column, whether the key was there before) of every key and list element."""
    if id(node) in around:  # an alias to a node it stands in
        return
    inner = around | {id(node)}
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            yield (*place, name), _mark(key.start_mark), name in seen
            seen.add(name)
            yield from _places(value, (*place, name), inner)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*place, index), _mark(value.start_mark), False
            yield from _places(value, (*place, index), inner)
