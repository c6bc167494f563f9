"""Values as bytes: only types that are named here, by LangGraph or by the graph are made from stored data."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from contextvars import ContextVar
from typing import Any

from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agentic.plugins.langgraph.errors import UnknownStateTypeError

StateType = tuple[str, ...]
"""A type of values in states: its module, and its name there."""

_refused: ContextVar[list[str] | None] = ContextVar("agentic_langgraph_refused", default=None)

CHECKED_BYTES = 64 * 1_024
_MAX_CHECKED = 1_000


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serialiser, where a value of an unknown type is an error.

    By default LangGraph makes any importable type that stored data names. In its strict mode it returns
    the plain data of an unknown type, and the graph breaks later, or computes with it.

    Args:
        types: Types that a state may have besides those that LangGraph knows.
    """

    def __init__(self, types: Iterable[StateType] = ()) -> None:
        self.types = frozenset(types)
        super().__init__(allowed_msgpack_modules=sorted(self.types))
        self._checked: set[frozenset[type]] = set()

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[StateType | type]) -> StrictSerializer:
        """Return a serialiser with more types."""
        more = {
            (one.__module__, one.__name__) if isinstance(one, type) else tuple(one) for one in extra_allowlist
        }
        return self if more <= self.types else StrictSerializer(self.types | more)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:  # noqa: ANN401 - as LangGraph has it
        """Return a value as bytes. The first of each type, and of items of new types, is read again.

        So an error comes when a value is stored, not when a worker continues the graph.

        Raises:
            UnknownStateTypeError: It has a type that may not be read.
        """
        kind, data = super().dumps_typed(obj)
        types = _types_in(obj)
        if types not in self._checked and len(data) <= CHECKED_BYTES:
            self.loads_typed((kind, data))
            if len(self._checked) < _MAX_CHECKED:
                self._checked.add(types)
        return kind, data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:  # noqa: ANN401 - as LangGraph has it
        """Return a value from its bytes.

        Raises:
            UnknownStateTypeError: It has a type that may not be read.
        """
        refused: list[str] = []
        token = _refused.set(refused)
        try:
            found = super().loads_typed(data)
        finally:
            _refused.reset(token)
        if refused:
            raise UnknownStateTypeError(refused[0])
        return found


def _types_in(value: object) -> frozenset[type]:
    """Return the types of a value and of its items, but not of items of items."""
    items: Collection[object] = ()
    if isinstance(value, Mapping):
        items = value.values()
    elif isinstance(value, list | tuple | set | frozenset | deque):
        items = value
    return frozenset({type(value), *map(type, items)})


def _note(event: SerdeEvent) -> None:
    refused = _refused.get()
    if refused is not None and event["kind"] in {"msgpack_blocked", "msgpack_method_blocked"}:
        refused.append(f"{event['module']}:{event['name']}")


register_serde_event_listener(_note)
