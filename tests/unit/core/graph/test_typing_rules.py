"""Which types can meet on an edge, and which of two is the more specific one."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import GenericAlias
from typing import Annotated, Any, Generic, Literal, NewType, Protocol, TypedDict, TypeVar, runtime_checkable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from typing_extensions import TypeAliasType

from agentic.core.graph.codec.matching import matches
from agentic.core.graph.codec.typing_rules import can_fit, is_narrower
from agentic.core.types import JSONValue

ItemT = TypeVar("ItemT")
Name = NewType("Name", str)
Tree = TypeAliasType("Tree", "int | list[Tree]")
Forest = TypeAliasType("Forest", "str | list[Forest]")


class Base:
    pass


class Sub(Base):
    pass


class Other:
    pass


class Color(Enum):
    RED = 1


@dataclass
class Crate(Generic[ItemT]):
    content: ItemT


class Cell(BaseModel, Generic[ItemT]):
    value: ItemT


class Page(TypedDict):
    url: str


class Titled(Page):
    title: str


class Counted(TypedDict):
    url: int


@runtime_checkable
class HasUrl(Protocol):
    url: str


class Closes(Protocol):
    def close(self) -> None: ...


@dataclass
class Link:
    url: str


class Quiet:
    def __init__(self) -> None:
        self.url = ""


class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...


class Saved(ABC):
    @abstractmethod
    def save(self) -> None: ...


@pytest.mark.requirement("BU11")
@pytest.mark.parametrize(
    ("sent", "accepted", "fits"),
    [
        (int, int, True),
        (int, str, False),
        (Any, str, True),
        (str, object, True),
        (object, str, True),
        (Sub, Base, True),
        (Base, Sub, True),
        (Sub, Other, False),
        (int, float, True),
        (str, float, False),
        (int | str, bytes | str, True),
        (int | str, bytes | None, False),
        (Name, str, True),
        (Annotated[str, []], Name, True),
        (list[int], list[str], False),
        (list[Sub], list[Base], True),
        (list, list[str], True),
        (list[int], Sequence[float], True),
        (tuple[int, ...], Sequence[int], True),
        (tuple[int, str], Sequence[int], False),
        (tuple[int, str], tuple[int, ...], False),
        (tuple[int, int], tuple[int, ...], True),
        (tuple[int, ...], tuple[int, int], True),
        (tuple[int, ...], tuple[int, str], False),
        (tuple[int], tuple[int, int], False),
        (Sequence[int], tuple[int, str], False),
        (dict[str, int], Mapping[str, str], False),
        (dict[str, int], Iterable[str], True),
        (dict[str, int], Iterable[int], False),
        (dict[str, int], list[str], False),
        (str, Sequence[str], True),
        (str, Sequence[int], False),
        (bytes, Iterable[int], True),
        (Literal["a"], str, True),
        (Literal["a"], Literal["a", "b"], True),
        (Literal["a"], Literal["b"], False),
        (Literal[1], Literal[True], False),
        (str, Literal["a"], True),
        (str, Literal[1], False),
        (Literal[Color.RED], Color, True),
        (type[Sub], type[Base], True),
        (type[Sub], type[Other], False),
        (Crate[int], Crate[str], False),
        (Crate[int], Crate, True),
        (Cell[int], Cell[str], False),
        (Cell[int], Cell, True),
        (Cell, Cell[int], True),
        (Page, dict[str, str], True),
        (Page, Mapping[int, str], False),
        (dict[str, object], Page, True),
        (list[str], Page, False),
        (Page, Counted, True),
        (Link, HasUrl, True),
        (Quiet, HasUrl, True),
        (Closes, Other, True),
        (Shape, Saved, True),
        (int, Shape, False),
        (Callable[[int], str], Callable[[str], str], True),
        (ItemT, int, True),
        (GenericAlias(list, (ItemT,)), list[int], True),
        (JSONValue, list[str], True),
        (set[int], JSONValue, False),
        (Tree, Forest, True),
        (Tree, bytes, False),
    ],
)
def test_types_fit_if_some_value_could_be_of_both(sent: object, accepted: object, fits: bool) -> None:
    assert can_fit(sent, accepted) is fits


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Sub, Base),
        (int, float),
        (bool, int),
        (str, object),
        (list[int], list),
        (list[Sub], Sequence[Base]),
        (tuple[int, int], tuple[int, ...]),
        (tuple[int, str], Sequence[int | str]),
        (dict[str, int], Mapping[str, float]),
        (dict[str, int], Iterable[str]),
        (str, Sequence[str]),
        (Literal["a"], str),
        (Literal["a"], Literal["a", "b"]),
        (Link, HasUrl),
        (Titled, Page),
        (Page, dict),
        (Page, Mapping[str, Any]),
        (int, int | str),
    ],
)
def test_assignable_type_is_the_narrower_one(one: object, other: object) -> None:
    assert is_narrower(one, other)
    assert not is_narrower(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Base, Other),
        (list[int], list[str]),
        (tuple[int, int], tuple[int]),
        (Page, Counted),
        (HasUrl, Shape),
        (Literal["a"], Literal["b"]),
        (int | str, int | bytes),
    ],
)
def test_unrelated_types_have_no_order(one: object, other: object) -> None:
    assert not is_narrower(one, other)
    assert not is_narrower(other, one)


def test_no_value_is_known_to_be_of_a_type_variable() -> None:
    assert not matches(ItemT, 1)


ATOMS: list[object] = [int, bool, float, str, bytes, Base, Sub, Literal["a", 1], object]
VALUES = st.recursive(
    st.one_of(
        st.integers(), st.booleans(), st.floats(), st.sampled_from(["a", "b", b"", None, Base(), Sub()])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.tuples(inner, inner),
        st.tuples(inner),
        st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    ),
    max_leaves=5,
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[object]:
    return st.one_of(
        st.builds(lambda t: GenericAlias(list, (t,)), inner),
        st.builds(lambda t: GenericAlias(Sequence, (t,)), inner),
        st.builds(lambda t: GenericAlias(tuple, (t, ...)), inner),
        st.builds(lambda t, u: GenericAlias(tuple, (t, u)), inner, inner),
        st.builds(lambda t: GenericAlias(Mapping, (str, t)), inner),
        st.builds(operator.or_, inner, inner),
    )


TYPES = st.recursive(st.sampled_from(ATOMS), containers, max_leaves=4)


@given(one=TYPES, other=TYPES, value=VALUES)
def test_every_value_of_a_narrower_type_is_of_the_wider_one(
    one: object, other: object, value: object
) -> None:
    if is_narrower(one, other) and matches(one, value):
        assert matches(other, value)


@given(one=TYPES, two=TYPES, three=TYPES)
def test_being_narrower_is_a_partial_order(one: object, two: object, three: object) -> None:
    assert is_narrower(one, one)
    if is_narrower(one, two) and is_narrower(two, three):
        assert is_narrower(one, three)


@given(one=TYPES, other=TYPES)
def test_narrower_type_fits_the_wider_one(one: object, other: object) -> None:
    if is_narrower(one, other):
        assert can_fit(one, other)
        assert can_fit(other, one)
