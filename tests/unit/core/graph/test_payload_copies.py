"""Copies of messages: equal, with nothing mutable in common, and as connected as the original."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, PrivateAttr

from agentic.core.graph.codec.payload import pack
from agentic.core.graph.errors import MessageCopyError


class Model(BaseModel):
    model_config = {"extra": "allow"}
    held: object = None
    _private: list[int] = PrivateAttr(default_factory=list)


class Proud(BaseModel):
    held: list[int]

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Proud:
        return Proud(held=[*self.held, 99])


@dataclass
class Record:
    held: object


ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
KEYS = st.text(max_size=2) | st.tuples(st.integers(), st.text(max_size=1))


def around(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.tuples(inner, inner)
        | inner.map(lambda held: Model.model_validate({"held": held, "more": held}))
        | inner.map(Record)
        | inner.map(lambda held: [held, {"again": held}])
    )


def shape(value: object, seen: dict[int, int]) -> object:
    """Return a description of all parts that tells which of them are the same object."""
    if isinstance(value, str | int | float | type(None)):
        return repr(value)
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    if isinstance(value, dict):
        return ["dict", *([shape(key, {}), shape(part, seen)] for key, part in value.items())]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *(shape(part, seen) for part in value)]
    extra = [shape(value.__pydantic_extra__, seen)] if isinstance(value, BaseModel) else []
    return [type(value).__name__, shape(vars(value), seen), *extra]


def mutable_parts(value: object) -> set[int]:
    found: dict[int, int] = {}
    shape(value, found)
    return found.keys() - {id(part) for part in _immutable(value)}


def _immutable(value: object) -> list[object]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    inner = [vars(value), getattr(value, "__pydantic_extra__", None)] if hasattr(value, "__dict__") else []
    within = [one for part in (*parts, *inner) for one in _immutable(part)]
    return [value, *within] if isinstance(value, tuple) else within


@given(st.recursive(ATOMS, around, max_leaves=12))
def test_a_copy_is_what_deepcopy_makes(value: object) -> None:
    copied = pack(value).copy_value()
    assert copied == value
    assert shape(copied, {}) == shape(copy.deepcopy(value), {}) == shape(value, {})
    assert not mutable_parts(copied) & mutable_parts(value)


def test_a_value_that_contains_itself_does_so_in_the_copy() -> None:
    held: dict[str, object] = {"parts": []}
    held["parts"] = [held, {"above": held}]
    copied = _copy_of(held)
    assert isinstance(copied, dict)
    assert copied is not held
    assert copied["parts"][0] is copied["parts"][1]["above"] is copied


def test_private_attributes_and_own_ways_to_copy_are_kept() -> None:
    model = Model(held=[1])
    model._private.append(7)
    copied = _copy_of({"model": model, "proud": Proud(held=[1])})
    assert isinstance(copied, dict)
    assert copied["model"]._private == [7]
    assert copied["model"]._private is not model._private
    assert copied["proud"].held == [1, 99]


def test_a_part_that_cannot_be_copied_is_told() -> None:
    with pytest.raises(MessageCopyError, match="generator"):
        pack({"parts": [(part for part in "x")]})


def _copy_of(value: object) -> object:
    from agentic.core.graph.codec.payload import Payload

    return Payload(value).copy_value()
