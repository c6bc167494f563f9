"""YAML and JSON written by people, as data, with limits on the size that a small text can expand to.

A text within the limits costs time and memory in proportion to its length.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import yaml

from agentic.core.errors import AgenticError
from agentic.core.types import JSONValue

ValuePath = tuple[str | int, ...]
Mark = tuple[int, int]
"""Line and column, from 1."""

MAX_DEPTH = 100
"""Nested lists and mappings."""

MAX_ALIASED_CHARS = 1_000_000
"""Characters of all aliases of a text, expanded."""

MAX_DIGITS = 100
"""Digits of a number."""


@dataclass(frozen=True, slots=True)
class TextFault:
    """The problem of a text, and its place; None if unknown."""

    message: str
    line: int | None = None
    column: int | None = None
    place: ValuePath = ()


class DataTextError(AgenticError, ValueError):
    """A text that is not YAML or JSON, or that is beyond a limit."""

    def __init__(self, *faults: TextFault) -> None:
        super().__init__("; ".join(f"{_position(fault)}{fault.message}" for fault in faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class DataText:
    """Parsed text.

    Attributes:
        data: Its content; None if it holds comments only.
        marks: Path -> line and column of every key and list element.
        is_empty: It holds comments only.
    """

    data: object
    marks: Mapping[ValuePath, Mark]
    is_empty: bool = False


def read_data(text: str) -> DataText:
    """Parse YAML, or JSON, which most of YAML is.

    Raises:
        DataTextError: It is neither, names a key twice, nests too deep, has a number that programs read in
            different ways, or aliases that expand to too much.
    """
    try:
        loader = _Loader(text)
    except yaml.YAMLError as exc:  # because of a character that YAML does not accept
        raise DataTextError(TextFault(f"it is not valid YAML: {' '.join(str(exc).split())}")) from None
    try:
        node = loader.get_single_node()
        if node is None:
            return DataText(None, {}, is_empty=True)
        # Merge keys put the keys of other mappings into one, so places are read before data is made.
        places = list(_places(node))
        data = loader.construct_document(node)
    except yaml.MarkedYAMLError as exc:
        raise DataTextError(_syntax_fault(exc)) from None
    except DataTextError:
        raise
    except (yaml.YAMLError, ValueError, TypeError) as exc:
        raise DataTextError(TextFault(f"it is not valid YAML: {exc}")) from None
    finally:
        loader.dispose()
    if twice := [
        TextFault("duplicate key; keep one", *mark, place=place) for place, mark, again in places if again
    ]:
        raise DataTextError(*twice)
    marks = {place: mark for place, mark, _ in places}
    if text.lstrip().startswith("{"):
        with suppress(ValueError):  # YAML reads some numbers and dates of JSON differently
            data = json.loads(text)
    check_data(data, marks)
    return DataText(data, marks)


def read_json(text: str) -> JSONValue:
    """Parse JSON.

    Raises:
        DataTextError: Its syntax is valid, but it is beyond a limit: nested too deep, or a number too long.
        ValueError: It is not JSON.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise DataTextError(TextFault(_too_deep())) from None
    except ValueError as exc:
        if "integer string conversion" in str(exc):
            raise DataTextError(TextFault(_too_long())) from None
        raise
    check_data(data, {})
    return cast(JSONValue, data)


def check_data(data: object, marks: Mapping[ValuePath, Mark] | None = None) -> None:
    """Check that data is within the limits for texts.

    Raises:
        DataTextError: It nests too deep, or has a number that is too long, infinite or NaN.
    """
    waiting: list[tuple[object, ValuePath]] = [(data, ())]
    while waiting:
        value, place = waiting.pop()
        if len(place) >= MAX_DEPTH and isinstance(value, Mapping | list | tuple):
            raise DataTextError(_fault_at(_too_deep(), place, marks))
        if isinstance(value, Mapping):
            waiting.extend((part, (*place, key)) for key, part in value.items())
        elif isinstance(value, list | tuple):
            waiting.extend((part, (*place, index)) for index, part in enumerate(value))
        elif isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
            raise DataTextError(_fault_at(_too_long(), place, marks))
        elif isinstance(value, float) and not math.isfinite(value):
            raise DataTextError(_fault_at(f"{value} is not a JSON number; leave it out", place, marks))


class _Loader(yaml.SafeLoader):
    """Composes nodes within the limits."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._sizes: dict[int, int] = {}
        self._aliased = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - as of yaml
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]  # as yaml has it
        if isinstance(event, yaml.AliasEvent):
            node = super().compose_node(parent, index)
            self._count_alias(node, event)
            return node
        self._depth += 1
        mark = event.start_mark
        if self._depth > MAX_DEPTH and isinstance(event, yaml.CollectionStartEvent):
            raise DataTextError(TextFault(_too_deep(), *_mark(mark)))
        node = super().compose_node(parent, index)
        self._depth -= 1
        self._sizes[id(node)] = self._size(node)
        return node

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        text = str(node.value)
        if ":" in text:
            raise DataTextError(TextFault(_base_60(text), *_mark(node.start_mark)))
        if len(text) > 4 * MAX_DIGITS:  # each digit may be four bits of 0b...
            raise DataTextError(TextFault(_too_long(), *_mark(node.start_mark)))
        return super().construct_yaml_int(node)

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        if ":" in str(node.value):
            raise DataTextError(TextFault(_base_60(str(node.value)), *_mark(node.start_mark)))
        return super().construct_yaml_float(node)

    def _count_alias(self, node: yaml.Node | None, event: Any) -> None:  # noqa: ANN401 - an event of yaml
        size = self._sizes.get(id(node))
        if size is None:
            message = f"the alias *{event.anchor} contains itself; write that out"
            raise DataTextError(TextFault(message, *_mark(event.start_mark)))
        self._aliased += size
        if self._aliased > MAX_ALIASED_CHARS:
            message = (
                f"its aliases expand to more than {MAX_ALIASED_CHARS:,} characters up to *{event.anchor}; "
                "write the text out"
            )
            raise DataTextError(TextFault(message, *_mark(event.start_mark)))

    def _size(self, node: yaml.Node | None) -> int:
        """Return how many characters a node takes written out, including its aliases."""
        if isinstance(node, yaml.MappingNode):
            return 2 + sum(self._sizes[id(part)] for pair in node.value for part in pair)
        if isinstance(node, yaml.SequenceNode):
            return 2 + sum(self._sizes[id(part)] for part in node.value)
        return 2 + len(str(node.value)) if node is not None else 0


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)


def _places(node: yaml.Node, place: ValuePath = ()) -> Iterator[tuple[ValuePath, Mark, bool]]:
    """Yield (place, line and column, whether the key is a repeated one) of every key and list element.

    The size of aliases is limited, and none contains itself, so they are included.
    """
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            yield (*place, name), _mark(key.start_mark), name in seen
            seen.add(name)
            yield from _places(value, (*place, name))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*place, index), _mark(value.start_mark), False
            yield from _places(value, (*place, index))


def _syntax_fault(exc: yaml.MarkedYAMLError) -> TextFault:
    mark = exc.problem_mark or exc.context_mark
    context = f" ({exc.context})" if exc.context else ""
    message = f"it is not valid YAML: {exc.problem or 'cannot be read'}{context}"
    if "'\\t'" in message:
        message += "; indent with spaces instead of tabs"
    return TextFault(message, *(_mark(mark) if mark else (None, None)))


def _fault_at(message: str, place: ValuePath, marks: Mapping[ValuePath, Mark] | None) -> TextFault:
    line, column = (marks or {}).get(place, (None, None))
    return TextFault(message, line, column, place)


def _mark(mark: yaml.Mark) -> Mark:
    return mark.line + 1, mark.column + 1


def _position(fault: TextFault) -> str:
    return "" if fault.line is None else f"line {fault.line}, column {fault.column}: "


def _too_deep() -> str:
    return f"lists and mappings are nested more than {MAX_DEPTH} levels deep; flatten them"


def _too_long() -> str:
    return f"a number has more than {MAX_DIGITS} digits; quote it to make it a text"


def _base_60(text: str) -> str:
    shown = text if len(text) <= 40 else f"{text[:40]}..."
    return f"{shown!r} is a base-60 number in YAML 1.1 and a text in YAML 1.2; quote it"
