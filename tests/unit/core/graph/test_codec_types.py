"""Which types annotations lead to, and which of them can never be stored."""

from __future__ import annotations

import abc
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    Optional,
    Protocol,
    TypeVar,
    Union,
)

import pytest
from pydantic import BaseModel, HttpUrl, JsonValue, PrivateAttr, RootModel, SecretStr
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypeAliasType, TypedDict

from agentic.core.graph.codec.types import collect_types, why_never_stored
from agentic.core.types import ExecutorId

if TYPE_CHECKING:
    from collections import OrderedDict as Missing

ItemT = TypeVar("ItemT")
BoundT = TypeVar("BoundT", bound="Leaf")


class Color(Enum):
    RED = 1


@dataclass
class Leaf:
    x: int


class SubLeaf(Leaf):
    pass


@dataclass
class Node:
    """Refers to itself, and to what is defined further down."""

    leaf: Leaf
    children: list[Node]
    later: Later | None = None


@dataclass
class Later:
    color: Color


class Pair(NamedTuple):
    left: Leaf
    right: int


class Record(TypedDict, total=False):
    leaf: Leaf


class Order(BaseModel):
    items: tuple[Pair, ...]
    note: Record | None = None
    _kept: Color = PrivateAttr(default=Color.RED)


class Roots(RootModel[list[Leaf]]):
    pass


class Opened(BaseModel, extra="allow"):
    # As pydantic wants it.
    __pydantic_extra__: dict[str, Leaf]  # pyright: ignore[reportIncompatibleVariableOverride]


class Box(BaseModel, Generic[ItemT]):
    item: ItemT


@dataclass
class Wrapped(Generic[ItemT]):
    item: ItemT


@pydantic_dataclass
class Checked:
    leaf: Leaf


@dataclass
class Unresolved:
    missing: Missing[str, int]
    leaf: Leaf


class Plain:
    pass


@dataclass
class Holder:
    lock: threading.Lock
    plain: Plain | None


@dataclass
class Shadowed:
    """Its field has the name of the type."""

    Leaf: Leaf | None = None


@dataclass
class Scaled:
    value: int
    scale: InitVar[int] = 1


class Account(BaseModel):
    password: SecretStr


class HasName(Protocol):
    name: str


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...


LeafId = NewType("LeafId", Leaf)
Tree = TypeAliasType("Tree", "dict[str, Tree] | Leaf")


@pytest.mark.parametrize(
    ("annotation", "found"),
    [
        (int, set()),
        (Any, set()),
        (None, set()),
        (Leaf, {Leaf}),
        (SubLeaf, {SubLeaf}),
        (Leaf | None, {Leaf}),
        (Optional[Leaf], {Leaf}),  # noqa: UP045  # not the same object at run time
        (Union[Leaf, Color], {Leaf, Color}),  # noqa: UP007
        (list[Leaf], {Leaf}),
        (dict[Color, tuple[Leaf, ...]], {Color, Leaf}),
        (Mapping[str, Sequence[Leaf]], {Leaf}),
        (Annotated[Leaf, "a note"], {Leaf}),
        (Literal[Color.RED, "a"], {Color}),
        (LeafId, {Leaf}),
        (ExecutorId, set()),
        (Tree, {Leaf}),
        (JsonValue, set()),
        (BoundT, {Leaf}),
        (Node, {Node, Leaf, Later, Color}),
        (Pair, {Pair, Leaf}),
        (Record, {Leaf}),
        (Order, {Order, Pair, Leaf, Color}),
        (Roots, {Roots, Leaf}),
        (Opened, {Opened, Leaf}),
        (Box[Leaf], {Box[Leaf], Leaf}),
        (Wrapped[Leaf], {Wrapped, Leaf}),
        (Checked, {Checked, Leaf}),
        (Unresolved, {Unresolved, Leaf}),
        (Shadowed, {Shadowed, Leaf}),
        (Callable[[Leaf], Color], {Leaf, Color}),
        (BaseModel, set()),
        (Enum, set()),
        (Plain, set()),
        (tuple, set()),
    ],
    ids=lambda part: "" if isinstance(part, set) else str(part),  # sets have no order
)
def test_the_types_that_an_annotation_leads_to_are_found(annotation: object, found: set[type]) -> None:
    assert collect_types([annotation]) == found


def test_a_type_that_refers_to_itself_where_it_is_defined_is_found() -> None:
    @dataclass
    class Local:
        leaf: Leaf
        next: Local | None = None

    assert collect_types([Local]) == {Local, Leaf}


LOCK = f"_thread.{threading.Lock.__qualname__}"
NO_DATA = "it is not a data type; use a dataclass or a pydantic model"


@dataclass
class Storable(Plain):
    pass


class Base:
    """Messages are its subclasses."""


@dataclass
class Heir(Base):
    number: int


def opened() -> socket.socket:
    return socket.socket()


@dataclass
class Lazy:
    plain: socket.socket | None
    other: socket.socket = field(default_factory=opened)
    more: socket.socket = None  # type: ignore[assignment]  # as people write it


@dataclass
class Guarded:
    number: int
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class Chain:
    account: Account
    next: Chain | None = None


@pytest.mark.parametrize(
    "annotation",
    [
        Any, object, None, str | int | None, list[dict[str, tuple[bytes, ...]]],
        Sequence[int] | Mapping[str, Path] | datetime | HttpUrl, JsonValue,
        Node | Order | Pair | Color | Record, Box[int] | Wrapped[int] | Checked, Unresolved, HasName, Shape,
        BaseModel | Enum, ItemT, list[socket.socket], dict[str, socket.socket], socket.socket | str, Lazy,
        Base, Plain, Iterator[int], Callable[[int], int], tuple[socket.socket, ...], Tree, Literal["a"],
        Annotated[str, "a note"], LeafId,
    ],
    ids=str,
)  # fmt: skip
def test_a_type_of_which_some_value_can_be_stored_is_not_refused(annotation: object) -> None:
    assert why_never_stored(annotation) is None


@pytest.mark.parametrize(
    ("annotation", "type_name", "path", "said"),
    [
        (socket.socket, "socket.socket", "", NO_DATA),
        (threading.Lock, LOCK, "", NO_DATA),
        (Annotated[socket.socket, "a note"], "socket.socket", "", NO_DATA),
        (NewType("Wire", socket.socket), "socket.socket", "", NO_DATA),
        (socket.socket | threading.Event, "socket.socket", "", NO_DATA),
        (tuple[int, socket.socket], "socket.socket", "", NO_DATA),
        (deque[int], "collections.deque", "", NO_DATA),
        (type[Leaf], "builtins.type", "", NO_DATA),
        (Account, "pydantic.types.SecretStr", ".password", "secrets are never stored; send the name"),
        (Chain, "pydantic.types.SecretStr", ".account.password", "secrets are never stored"),
        (Guarded, LOCK, ".lock", NO_DATA),
        (Scaled, f"{__name__}.Scaled", "", "its constructor does not take exactly its fields"),
    ],
    ids=str,
)
def test_a_type_of_which_no_value_can_be_stored_is_named(
    annotation: object, type_name: str, path: str, said: str
) -> None:
    why = why_never_stored(annotation)
    assert why is not None
    assert (why.type_name, why.path) == (type_name, path)
    assert why.reason.startswith(said)


def test_a_reference_is_followed_as_soon_as_its_class_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass
    class Ordered:
        article: Article  # type: ignore[name-defined]  # noqa: F821 - not there yet

    @dataclass
    class Made:
        price: int

    assert collect_types([Ordered]) == {Ordered}
    monkeypatch.setitem(globals(), "Article", Made)
    assert collect_types([Ordered]) == {Ordered, Made}


def test_a_reference_in_a_notebook_leads_to_the_class_that_was_defined_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @dataclass
    class Ordered:
        article: Article  # type: ignore[name-defined]  # noqa: F821 - each cell defines another one

    @dataclass
    class First:
        price: int

    @dataclass
    class Second:
        price: float

    Ordered.__module__ = "__main__"
    for made in (First, Second):
        monkeypatch.setattr(sys.modules["__main__"], "Article", made, raising=False)
        assert collect_types([Ordered]) == {Ordered, made}
