"""Values to JSON and back: exact for what can be stored, refused or marked otherwise, never fooled."""

from __future__ import annotations

import dataclasses
import enum
import math
import pickle
import sys
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import InitVar, dataclass, field, make_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    PostgresDsn,
    PrivateAttr,
    RootModel,
    SecretStr,
    computed_field,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass

from agentic.core.graph.codec.codec import MAX_DEPTH, Codec, describe, describe_fields, from_text, to_text
from agentic.core.graph.errors import CorruptContentError, UnencodableError
from agentic.core.graph.model.messages import ExecutorFailure, ItemResult
from agentic.core.graph.versions.type_registry import ENGINE_TYPES
from agentic.core.types import ExecutorId, JSONValue

ItemT = TypeVar("ItemT")


class Color(Enum):
    RED = 1
    ALSO_RED = 1  # noqa: PIE796  # an alias
    BLUE = "blue"


class Level(StrEnum):
    LOW = "low"


class Size(IntEnum):
    BIG = 3


class Rights(Flag):
    READ = enum.auto()
    WRITE = enum.auto()


class Mode(IntFlag):
    A = 1
    B = 2


class Pair(NamedTuple):
    left: object
    right: object = None


@dataclass
class Point:
    x: object
    y: object = 0


class Inner(Point):
    """Not declared anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    items: tuple[Point, ...] = ()


@dataclass
class Total:
    parts: list[int]
    total: int = field(init=False)
    calls: int = 0

    def __post_init__(self) -> None:
        if any(part < 0 for part in self.parts):
            raise ValueError("no part may be negative")
        self.total = sum(self.parts)
        self.calls += 1


@dataclass
class Wrapped(Generic[ItemT]):
    item: ItemT


@dataclass
class Empty:
    pass


@dataclass
class Scaled:
    value: int
    scale: InitVar[int] = 1


@dataclass
class Keyed(dict[str, int]):
    name: str = ""


class Person(BaseModel):
    name: str
    age: int = Field(default=0, ge=0)
    best: Color = Color.RED
    seen: datetime | None = None
    tags: list[float] = []


class Aliased(BaseModel):
    """Is given by one name and kept under another."""

    model_config = ConfigDict(frozen=True)

    user_id: int = Field(alias="userId")
    group: str = Field(default="", validation_alias="g", exclude=True)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    id: int
    _visits: int = PrivateAttr(default=0)
    _best: Point | None = PrivateAttr(default=None)


class Box(BaseModel, Generic[ItemT]):
    item: ItemT


class Names(RootModel[list[str]]):
    pass


class Summed(BaseModel):
    """Has a constructor of its own, and something computed."""

    parts: list[int]

    def __init__(self, *parts: int) -> None:
        super().__init__(parts=list(parts))

    @computed_field
    def total(self) -> int:
        return sum(self.parts)


class Grown(BaseModel):
    """Its validator does not leave alone what it made."""

    size: int

    @field_validator("size")
    @classmethod
    def grow(cls, size: int) -> int:
        return size + 1


class Account(BaseModel):
    owner: str
    password: SecretStr


class Span(BaseModel):
    start: int
    end: int

    @model_validator(mode="after")
    def check_order(self) -> Span:
        if self.end < self.start:
            raise ValueError("the end is before the start")
        return self


@pydantic_dataclass
class Measured:
    meters: float = Field(alias="m")
    count: int = dataclasses.field(default=0, init=False)


@pydantic_dataclass
class Measure:
    value: int
    scale: InitVar[int] = 1


class Turned(BaseModel):
    """Its validator makes something else of it."""

    @model_validator(mode="wrap")
    @classmethod
    def turn(cls, value: object, handler: Callable[[object], object]) -> Any:
        return Point(value)


class Plain:
    """No data: nobody may ask it for its text."""

    def __repr__(self) -> str:
        raise AssertionError("asked for its text")

    __str__ = __repr__


class Text(str):
    __slots__ = ()


class Odd(tzinfo):
    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(hours=1)

    def dst(self, _: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, _: datetime | None) -> str:
        return "odd"


DECLARED: tuple[type, ...] = (
    Color, Level, Size, Rights, Mode, Pair, Point, Frozen, Total, Wrapped, Empty, Person, Aliased, Open,
    Box[int], Box[Point], Names, Summed, Grown, Span, Measured, Turned, *ENGINE_TYPES,
)  # fmt: skip
CODEC = Codec(DECLARED)


def there_and_back(value: object) -> object:
    return CODEC.decode(from_text(to_text(CODEC.encode(value))))


def assert_same(made: object, value: object) -> None:
    """Check equality of values and of all types inside; NaN equals NaN."""
    assert type(made) is type(value)
    assert to_text(CODEC.encode(made)) == to_text(CODEC.encode(value))


def opened(id: int, **extra: object) -> Open:
    return Open.model_validate({"id": id, **extra})


def with_private(model: Open) -> Open:
    model._visits = 7
    model._best = Point(1, 2)
    return model


# What is stored comes back.


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**70),
        1.5,
        "",
        "a\ud800b",
        [],
        {},
        [1, "a", None, 2.5, [True]],
        {"a": {"b": [1]}},
    ],
)
def test_json_values_stay_as_they_are(value: JSONValue) -> None:
    assert CODEC.encode(value) == value
    assert_same(there_and_back(value), value)


@pytest.mark.requirement("EX02")
@pytest.mark.parametrize(
    "value",
    [
        10**5000,
        [10**5000] * 20,
        -0.0,
        math.inf,
        -math.inf,
        [math.inf] * 20,
        {1: "a", "1": "b", None: "c", (1, 2): "d"},
        {"$": "tuple", "v": []},
        {"$x": 1},
        {"a$": 1},
        (),
        (1, (2, [3])),
        {1, 2, 3},
        {"b", 1, None, (1,)},
        frozenset({frozenset({1}), frozenset()}),
        b"\x00\xff",
        bytearray(b"ab"),
        complex(-0.0, math.inf),
        Decimal("1.500"),
        Decimal("-0E-10"),
        Decimal("Infinity"),
        UUID(int=5),
        Path("a/b"),
        PurePosixPath("/a"),
        PureWindowsPath("c:/a"),
        date(2024, 2, 29),
        timedelta(days=-1, microseconds=1),
        timedelta.max,
        datetime.min,  # noqa: DTZ901  # a naive one is a value, too
        datetime(2024, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001
        datetime(2024, 1, 2, tzinfo=UTC),
        datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=5, seconds=1))),
        time(1, 2, 3, 4, tzinfo=timezone(timedelta(hours=-3))),
        AnyUrl("ftp://example.org"),
        HttpUrl("https://example.org/a b?q=ü#x"),
        PostgresDsn("postgres://a@b,c/d"),
        Color.BLUE,
        Level.LOW,
        Size.BIG,
        Rights.READ | Rights.WRITE,
        Rights(0),
        Mode.A | Mode.B,
        {Level.LOW: 1, Size.BIG: 2},
        Pair(1, Pair("x")),
        Point([1], {"a": Point(2)}),
        Frozen(items=(Point(1), Point(2))),
        Wrapped(Wrapped(1)),
        Empty(),
        Person(name="Ada", age=5, seen=datetime(2024, 1, 1, tzinfo=UTC), tags=[1.0, 2.0]),
        Aliased.model_validate({"userId": 5, "g": "x"}),
        Box[int](item=5),
        Box[Point](item=Point(1)),
        Names(["a", "b"]),
        Summed(1, 2, 3),
        opened(1, other=Point(2), __="x", **{"$": 1, "v": 2}),
        with_private(opened(1)),
        ItemResult(index=0, item=Point(1), value=[(1, 2)]),
        ItemResult(
            index=1,
            item=None,
            error=ExecutorFailure(executor_id=ExecutorId("a"), error_type="ValueError", message="x"),
        ),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_a_stored_value_comes_back_equal_and_of_the_same_types(value: object) -> None:
    made = there_and_back(value)
    assert made == value
    assert_same(made, value)


def test_nan_comes_back() -> None:
    made = there_and_back(
        [math.nan] * 20 + [complex(0, math.nan), Decimal("NaN"), Person(name="", tags=[math.nan])]
    )
    assert isinstance(made, list)
    assert all(math.isnan(number) for number in made[:20])
    assert math.isnan(made[20].imag)
    assert made[21].is_nan()
    assert math.isnan(made[22].tags[0])


def test_the_order_of_a_dict_is_kept() -> None:
    made = there_and_back({"b": 1, "a": 2, 3: 4})
    assert isinstance(made, dict)
    assert list(made) == ["b", "a", 3]


def test_a_set_has_one_text_whatever_order_it_was_filled_in() -> None:
    names = [f"name {n}" for n in range(50)]
    assert to_text(CODEC.encode(set(names))) == to_text(CODEC.encode({*names[25:], *names}))
    assert CODEC.encode({3, 1, 2}) == {"$": "set", "v": [1, 2, 3]}


def test_the_second_time_of_an_hour_that_is_there_twice_comes_back_as_such() -> None:
    second = datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"), fold=1)
    made = there_and_back(second)
    assert isinstance(made, datetime)
    assert made.fold == 1
    assert made.tzinfo is second.tzinfo
    assert made.utcoffset() == second.utcoffset()


def test_of_a_time_zone_without_a_name_the_offset_is_kept() -> None:
    made = there_and_back(datetime(2024, 1, 1, 12, tzinfo=Odd()))
    assert isinstance(made, datetime)
    assert made == datetime(2024, 1, 1, 12, tzinfo=Odd())
    assert made.utcoffset() == timedelta(hours=1)


def test_members_of_string_and_number_enums_do_not_become_strings_and_numbers() -> None:
    made = [there_and_back(member) for member in (Level.LOW, Size.BIG, Color.ALSO_RED)]
    assert made == [Level.LOW, Size.BIG, Color.RED]
    assert [type(member) for member in made] == [Level, Size, Color]


def test_what_post_init_made_of_a_dataclass_is_not_made_of_it_again() -> None:
    total = Total([1, 2])
    total.total = 10
    made = there_and_back(total)
    assert made == total
    assert isinstance(made, Total)
    assert (made.total, made.calls) == (10, 1)


def test_a_pydantic_model_knows_which_fields_were_given() -> None:
    made = there_and_back(Person(name="Ada", tags=[]))
    assert isinstance(made, Person)
    assert made.model_fields_set == {"name", "tags"}


def test_extras_of_a_pydantic_model_count_as_given() -> None:
    made = there_and_back(opened(1, other=2))
    assert isinstance(made, Open)
    assert made.model_fields_set == {"id", "other"}


def test_private_attributes_of_a_pydantic_model_come_back() -> None:
    made = there_and_back(with_private(opened(1)))
    assert isinstance(made, Open)
    assert (made._visits, made._best) == (7, Point(1, 2))


def test_a_pydantic_dataclass_comes_back_by_its_field_names() -> None:
    measured = Measured(m=1.5)
    measured.count = 3
    made = there_and_back(measured)
    assert made == measured
    assert isinstance(made, Measured)
    assert made.count == 3


def test_an_encoded_value_shares_nothing_with_the_value() -> None:
    value: dict[str, list[int]] = {"short": [1], "long": list(range(20))}
    data = CODEC.encode(value)
    value["short"].append(2)
    value["long"].append(2)
    assert data == {"short": [1], "long": list(range(20))}


def test_a_decoded_value_shares_nothing_with_the_data() -> None:
    data: dict[str, JSONValue] = {"long": list(range(20))}
    made = CODEC.decode(data)
    assert isinstance(made, dict)
    made["long"].append(2)
    assert data == {"long": list(range(20))}


def test_names_are_those_of_the_declared_types_and_of_the_types_of_their_fields() -> None:
    names = Codec([Frozen, ItemResult]).names
    assert names[f"{__name__}.Frozen"] is Frozen
    assert names[f"{__name__}.Point"] is Point
    assert names["agentic.core.graph.messages.ItemResult"] is ItemResult


def test_parametrised_models_have_names_of_their_own() -> None:
    assert f"{__name__}.Box[{__name__}.Point]" in CODEC.names
    assert f"{__name__}.Box[builtins.int]" in CODEC.names


def test_two_types_of_one_name_are_refused() -> None:
    def another() -> type:
        @dataclass
        class Twin:
            pass

        return Twin

    with pytest.raises(UnencodableError, match="Twin cannot be stored: another declared type has this name"):
        Codec([another(), another()])


# What cannot be stored is refused, naming the type, the place and the way out.


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Plain(), "use a dataclass or a pydantic model"),
        (threading.Lock(), "use a dataclass or a pydantic model"),
        (Plain, "builtins.type"),
        (len, "use a dataclass or a pydantic model"),
        (Inner(1), "does not declare it; name Inner in an annotation"),
        (Text("a"), "only str itself can be stored"),
        (OrderedDict(), "only dict itself can be stored"),
        (defaultdict(list), "only dict itself can be stored"),
        (type("Number", (int,), {})(1), "only int itself can be stored"),
        (Keyed(), "only dict itself can be stored"),
        (Scaled(1), "its constructor does not take exactly its fields"),
        (Measure(1), "its constructor does not take exactly its fields"),
        (SecretStr("hidden"), "secrets are never stored"),
        (Box(item=1), "does not declare it"),
        (Box[str](item=""), "does not declare it"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_stored_is_refused_with_the_way_out(value: object, said: str) -> None:
    with pytest.raises(UnencodableError, match=said):
        CODEC.encode(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (Plain(), ""),
        ([1, Plain()], "[1]"),
        ([0] * 30 + [Plain()], "[30]"),
        ({"a": (Plain(),)}, "['a'][0]"),
        ({1: Plain()}, "[0]"),
        (Point(1, y=[Frozen(items=(Point(Plain()),))]), ".y[0].items[0].x"),
        (Pair(1, Plain()), ".right"),
        (opened(1, more={"a": Plain()}), ".more['a']"),
        (Box[Point](item=Point(Plain())), ".item.x"),
    ],
)
def test_the_error_names_the_place_of_the_part(value: object, path: str) -> None:
    with pytest.raises(UnencodableError) as caught:
        CODEC.encode(value)
    assert caught.value.path == path
    assert caught.value.type_name == f"{__name__}.Plain"
    assert f"{__name__}.Plain at {path}" in str(caught.value) or not path


def test_a_secret_in_a_model_is_neither_stored_nor_shown() -> None:
    account = Account(owner="Ada", password=SecretStr("hidden"))
    with pytest.raises(UnencodableError, match=r"SecretStr at \.password cannot be stored: secrets"):
        Codec([Account]).encode(account)
    assert describe(account) == {
        "$": f"{__name__}.Account",
        "v": {"owner": "Ada", "password": {"$": "opaque", "v": "pydantic.types.SecretStr"}},
    }


def test_a_list_that_holds_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(UnencodableError, match="nested more than 100 levels deep, or contains itself"):
        CODEC.encode(endless)


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def test_how_deep_a_value_may_be_is_the_same_for_writing_and_reading() -> None:
    assert there_and_back(nested(MAX_DEPTH)) == nested(MAX_DEPTH)
    with pytest.raises(UnencodableError, match="nested more than"):
        CODEC.encode(nested(MAX_DEPTH + 1))


def test_a_value_that_fails_when_it_is_read_is_refused() -> None:
    half_made = object.__new__(Frozen)
    with pytest.raises(
        UnencodableError, match=r"Frozen at \[0\] cannot be stored: reading it raised AttributeError"
    ):
        CODEC.encode([half_made])


def test_the_errors_survive_pickling() -> None:
    for error in (UnencodableError("a.B", "no", ".c"), CorruptContentError("bad", ".c")):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.path, again.reason) == (str(error), error.path, error.reason)


# What was not made by a codec is refused.


def record(cls: type, content: object, **others: object) -> JSONValue:
    return {"$": f"{__name__}.{cls.__qualname__}", "v": content, **others}  # type: ignore[dict-item]  # crafted


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"$": "os.system", "v": "true"}, "declares no type 'os.system'"),
        ({"$": "builtins.eval", "v": "1"}, "declares no type 'builtins.eval'"),
        (record(Plain, {}), "declares no type"),
        (record(Inner, {"x": 1, "y": 2}), "declares no type"),
        ({"$": "a." + "b" * 10_000, "v": 1}, "declares no type 'a.bbb"),
        ({"$": "pickle", "v": ""}, "tag 'pickle' is not a known type"),
        ({"$": "opaque", "v": "a.B"}, "only a description was stored"),
        ({"$": 5, "v": 1}, "tag a int is not a known type"),
        ({"$": ["tuple"], "v": 1}, "tag a list is not a known type"),
        ({"$x": 5}, "is not a known type"),
        ({"a": 1, "$": "tuple", "v": []}, "'tuple' needs a list as its 'v', and nothing else"),
        ({"$": "tuple"}, "'tuple' needs a list"),
        ({"$": "tuple", "v": "ab"}, "'tuple' needs a list"),
        ({"$": "str", "v": "ab"}, "plain JSON needs no tag"),
        ({"$": "dict", "v": [[1, 2], [1, 3]]}, "a dict has a duplicate key"),
        ({"$": "dict", "v": [[[], 3]]}, "cannot be read as 'dict': TypeError"),
        ({"$": "dict", "v": [[1, 2, 3]]}, "cannot be read as 'dict': ValueError"),
        ({"$": "set", "v": [1, 1]}, "a set has a duplicate element"),
        ({"$": "set", "v": [{}]}, "cannot be read as 'set': TypeError"),
        ({"$": "bytes", "v": "*"}, "cannot be read as 'bytes'"),
        ({"$": "int", "v": "x"}, "cannot be read as 'int'"),
        ({"$": "UUID", "v": "x"}, "cannot be read as 'UUID'"),
        ({"$": "Decimal", "v": "x"}, "cannot be read as 'Decimal'"),
        ({"$": "HttpUrl", "v": "file:///etc"}, "cannot be read as 'HttpUrl'"),
        ({"$": "date", "v": "2024-13-01"}, "cannot be read as 'date'"),
        ({"$": "datetime", "v": ["2024-01-01", 2, None]}, "cannot be read as 'datetime'"),
        ({"$": "datetime", "v": ["2024-01-01", 0, "No/Where"]}, "cannot be read as 'datetime'"),
        (
            {"$": "datetime", "v": ["2024-01-01", 0, "../../etc/passwd"]},
            "the name of a time zone has invalid characters",
        ),
        (
            {"$": "datetime", "v": ["2024-01-01", 0, "os.path/x"]},
            "the name of a time zone has invalid characters",
        ),
        ({"$": "timedelta", "v": [1, 2]}, "cannot be read as 'timedelta'"),
        (record(Color, "GREEN"), "cannot be read as"),
        (record(Color, "__class__"), "cannot be read as"),
        (record(Rights, 64), "cannot be read as"),
        (record(Pair, {"right": 1}), "its field 'left' is missing"),
        (record(Point, {"x": 1, "y": 2, "z": 3}), "its field 'z' is unknown"),
        (record(Point, {"x": 1, "__class__": 2}), "its field '__class__' is unknown"),
        (record(Point, [1, 2]), "needs a dict"),
        (record(Point, {"x": 1, "y": 2}, extra={}), "and nothing else"),
        (record(Total, {"parts": [-1], "total": -1, "calls": 0}), "cannot be read as"),
        (record(Person, {"age": 3}), "its field 'name' is missing"),
        (record(Span, {"start": 1}), "its field 'end' is missing"),
        (record(Span, {"start": "1", "end": 2}), "validation changes 'start'"),
        (record(Span, {"start": 1.5, "end": 2}), "the validation of start failed"),
        (record(Span, {"start": 3, "end": 2}), "the end is before the start"),
        (record(Span, {"start": 1, "end": 2}, extra={"a": 1}), "validation changes 'a'"),
        (record(Span, {"start": 1, "end": 2}, private={"a": 1}), "private attribute 'a' does not exist"),
        (record(Span, {"start": 1, "end": 2}, unset="start"), "a pydantic model consists of"),
        (record(Span, {"start": 1, "end": 2}, other={}), "a pydantic model consists of"),
        (record(Open, {"id": 1}, extra={"id": 2}), "validation changes 'id'"),
        (record(Turned, {}), "its validators return another type"),
        (record(Measured, {"meters": "far", "count": 0}), "the validation of meters failed"),
        ([1, {"$": "x", "v": 1}], r"\(at \[1\]\)"),
        ({"a": record(Point, {"x": [{"$": "x"}], "y": 1})}, r"\(at \['a'\]\.x\[0\]\)"),
        (math.nan, "this float is not JSON"),
        ((1,), "this tuple is not JSON"),
        ({1: 2}, "is not a known type"),
    ],
    ids=str,
)
def test_crafted_content_is_refused(data: JSONValue, said: str) -> None:
    with pytest.raises(CorruptContentError, match=said):
        CODEC.decode(data)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (record(Pair, {"left": 1}), Pair(1)),
        (record(Point, {"x": 1}), Point(1)),
        (record(Person, {"name": "Ada"}), Person(name="Ada")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_field_that_was_added_since_has_its_default(data: JSONValue, value: object) -> None:
    found = CODEC.decode(data)
    assert found == value
    assert not isinstance(found, BaseModel) or found.model_fields_set == {"name"}


@dataclass
class Moved:
    """Was called ``shop.orders.Order`` once."""

    __wire_name__: ClassVar[str] = "shop.orders.Order"
    number: int


class MovedColor(Enum):
    """Was called ``shop.Color`` once."""

    __wire_name__ = "shop.Color"
    RED = 1


class MovedLine(BaseModel):
    """Was called ``shop.Line`` once."""

    __wire_name__: ClassVar[str] = "shop.Line"
    name: str


class HeirOfMoved(Moved):
    """Has a name of its own."""


class Namesake(BaseModel):
    """Claims the name of another."""

    __wire_name__: ClassVar[str] = "shop.Line"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Moved(7), "shop.orders.Order"),
        (MovedColor.RED, "shop.Color"),
        (MovedLine(name="lamp"), "shop.Line"),
        (HeirOfMoved(7), f"{__name__}.HeirOfMoved"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_wire_name_stands_for_a_type_wherever_it_lives(value: object, name: str) -> None:
    codec = Codec([type(value)])
    data = codec.encode(value)
    assert isinstance(data, dict)
    assert data["$"] == name
    assert codec.decode(data) == value


def test_two_types_of_one_wire_name_are_refused() -> None:
    with pytest.raises(UnencodableError, match=r"shop\.Line .*rename one"):
        Codec([MovedLine, Namesake])


class Order(BaseModel):
    """As versions before the lean form stored it, and read it."""

    __wire_name__: ClassVar[str] = "shop.Order"

    number: int
    note: str = ""
    tags: dict[str, int] = Field(default_factory=dict)
    is_paid: bool = False
    heirs: tuple[str, ...] = ()


class LeanOrder(Order):
    """Today's."""

    __wire_name__: ClassVar[str] = "shop.Order"
    __stored_lean__: ClassVar[bool] = True


class HeirOfLeanOrder(LeanOrder):
    """Has defaults of its own."""

    note: str = "of an heir"


LEAN_ORDERS = (
    {"number": 1},
    {"number": 1, "note": "", "is_paid": False},
    {"number": 1, "tags": {"red": 1}, "heirs": ("a",)},
)


def test_a_lean_model_is_stored_without_the_fields_that_were_not_set() -> None:
    codec = Codec([LeanOrder])
    assert codec.encode(LeanOrder(number=1)) == {"$": "shop.Order", "v": {"number": 1}}
    assert codec.encode(LeanOrder(number=1, note="")) == {"$": "shop.Order", "v": {"number": 1, "note": ""}}


@pytest.mark.parametrize("facts", LEAN_ORDERS, ids=["none", "defaults", "values"])
@pytest.mark.parametrize(
    ("writes", "reads"), [(LeanOrder, LeanOrder), (LeanOrder, Order), (Order, LeanOrder)], ids=str
)
def test_workers_before_and_after_the_lean_form_read_the_values_of_each_other(
    writes: type[Order], reads: type[Order], facts: dict[str, Any]
) -> None:
    found = Codec([reads]).decode(Codec([writes]).encode(writes(**facts)))
    assert found == reads(**facts)
    assert isinstance(found, reads)
    assert found.model_fields_set == facts.keys()


def test_a_field_of_a_lean_model_that_got_its_value_without_being_set_is_stored() -> None:
    codec = Codec([LeanOrder])
    values: dict[str, Any] = {"number": 1, "is_paid": True, "tags": {}, "note": "new", "heirs": ()}
    odd = LeanOrder.model_construct({"number"}, **values)
    found = codec.decode(codec.encode(odd))
    assert found == odd
    assert isinstance(found, LeanOrder)
    assert found.model_fields_set == {"number"}


def test_a_subclass_of_a_lean_model_is_stored_whole() -> None:
    data = Codec([HeirOfLeanOrder]).encode(HeirOfLeanOrder(number=1))
    assert isinstance(data, dict)
    assert data["v"] == {
        "number": 1,
        "note": "of an heir",
        "tags": {},
        "is_paid": False,
        "heirs": {"$": "tuple", "v": []},
    }


@pytest.mark.parametrize("name", ["", "Order", "os path", 7])
def test_a_wire_name_is_a_dotted_name(name: object) -> None:
    odd = make_dataclass("Odd", ["x"], namespace={"__wire_name__": name})
    with pytest.raises(UnencodableError, match="__wire_name__"):
        Codec([odd])


def test_content_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(CorruptContentError, match="nested more than"):
        CODEC.decode(nested(MAX_DEPTH + 1))  # type: ignore[arg-type]  # lists in lists are JSON


def test_a_model_that_its_own_validator_would_change_at_every_resume_is_refused() -> None:
    with pytest.raises(CorruptContentError, match="a validator changes its own results"):
        CODEC.decode(CODEC.encode(Grown(size=1)))


def test_a_refused_model_does_not_show_its_values() -> None:
    with pytest.raises(CorruptContentError) as caught:
        CODEC.decode(record(Span, {"start": "hidden", "end": 2}))
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_reading_imports_nothing_that_a_text_names() -> None:
    assert "this" not in sys.modules
    with pytest.raises(CorruptContentError):
        CODEC.decode({"$": "this.Zen", "v": {}})
    assert "this" not in sys.modules


# Text.


def test_text_is_ascii_and_keeps_what_is_no_valid_unicode() -> None:
    text = to_text({"a": "é\ud800"})
    assert text.isascii()
    assert from_text(text) == {"a": "é\ud800"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("1 2", "not JSON"),
        ("NaN", "NaN is not JSON"),
        ("[Infinity]", "Infinity is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ('{"a": 1, "a": 2}', "an object has a duplicate key"),
        ("9" * 5000, "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
    ],
    ids=lambda text: text[:20],
)
def test_text_that_was_not_written_here_is_refused(text: str, said: str) -> None:
    with pytest.raises(CorruptContentError, match=said):
        from_text(text)


def test_a_number_that_only_overflows_when_it_is_read_is_refused() -> None:
    with pytest.raises(CorruptContentError, match="this float is not JSON"):
        CODEC.decode(from_text("[1e999]"))


# Descriptions.


def opaque(name: str) -> JSONValue:
    return {"$": "opaque", "v": name}


class Broken:
    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


@dataclass
class Lazy:
    """Fails when it is read."""

    x: int = 1

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class Meta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(name)


class Hostile(metaclass=Meta):
    pass


@pytest.mark.parametrize(
    "value",
    [
        1,
        "a",
        [1, (2,)],
        {"a": 1},
        Point(Color.RED),
        opened(1, a={1}),
        with_private(opened(2)),
        {1: 2},
        b"x",
        10**5000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_description_of_what_can_be_stored_is_what_is_stored(value: object) -> None:
    assert describe(value) == CODEC.encode(value)


def test_types_that_nobody_declared_are_described() -> None:
    assert describe([Inner(1), Box[str](item="a")]) == [
        {"$": f"{__name__}.Inner", "v": {"x": 1, "y": 0}},
        {"$": f"{__name__}.Box[builtins.str]", "v": {"item": "a"}},
    ]


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (Plain(), opaque(f"{__name__}.Plain")),
        ([1, Plain(), "a"], [1, opaque(f"{__name__}.Plain"), "a"]),
        ({"a": {"b": Plain()}}, {"a": {"b": opaque(f"{__name__}.Plain")}}),
        (Point(Plain(), y=[SecretStr("x")]), None),
        ([Text("a")], [opaque(f"{__name__}.Text")]),
        ([Broken()], [opaque(f"{__name__}.Broken")]),
        ([Lazy()], [opaque(f"{__name__}.Lazy")]),
        ([Hostile()], [opaque("?")]),
        ([Hostile, Plain], [opaque(f"{__name__}.Meta"), opaque("builtins.type")]),
        ([object.__new__(Frozen)], [opaque(f"{__name__}.Frozen")]),
        ([BaseModel.__new__(Person)], [opaque(f"{__name__}.Person")]),
        (nested(5000), None),
    ],
    ids=lambda value: "",
)
def test_what_cannot_be_stored_is_marked_in_its_place(value: object, described: JSONValue) -> None:
    found = describe(value)
    assert described is None or found == described
    assert "opaque" in to_text(found)


def test_what_holds_itself_is_described_once() -> None:
    endless: list[object] = [1]
    endless.append({"self": endless})
    assert describe(endless) == [1, {"self": opaque("builtins.list")}]


def test_objects_that_all_refer_to_each_other_are_described_in_bounded_time() -> None:
    nodes = [Point(n, []) for n in range(30)]
    for node in nodes:
        node.y = nodes
    assert "opaque" in to_text(describe(nodes))


def test_fields_that_are_described_already_make_the_description_of_their_record() -> None:
    point = Point([1, 2], "a")
    fields = {name: describe(part) for name, part in vars(point).items()}
    assert describe_fields(Point, fields) == describe(point)


# Properties.


SCALARS: st.SearchStrategy[object] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=[])),
    st.binary(max_size=8),
    st.binary(max_size=8).map(bytearray),
    st.complex_numbers(allow_nan=False),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.dates(),
    st.timedeltas(),
    st.datetimes(timezones=st.none() | st.timezones(), allow_imaginary=True),
    st.times(timezones=st.none() | st.just(UTC)),
    st.sampled_from([*Color, *Level, *Size, Rights.READ, Rights.WRITE | Rights.READ, Mode.B]),
    st.sampled_from([Path("a"), PurePosixPath("/"), PureWindowsPath("c:\\x")]),
    st.sampled_from([AnyUrl("x:y"), HttpUrl("http://a.b")]),
)
HASHABLE = SCALARS.filter(lambda value: not isinstance(value, bytearray))


def containers(parts: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(
        st.lists(parts, max_size=12),
        st.lists(parts, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(["a", "b", "$", "$a", "a$", "", "v"]), parts, max_size=3),
        st.dictionaries(HASHABLE, parts, max_size=3),
        st.builds(Pair, parts, parts),
        st.builds(Point, parts, parts),
        st.builds(Wrapped, parts),
        st.builds(lambda x, y: Frozen(items=(Point(x), Point(y))), parts, parts),
        st.builds(lambda n, part: opened(n, more=part), st.integers(), parts),
        st.builds(lambda part: Box[Point](item=Point(part)), parts),
        st.builds(Total, st.lists(st.integers(0, 9), max_size=3)),
        st.builds(ItemResult, index=st.integers(0, 9), item=parts, value=parts),
    )


SETS = st.sets(HASHABLE, max_size=4) | st.frozensets(HASHABLE, max_size=4)
VALUES = st.recursive(SCALARS | SETS, containers, max_leaves=12)


@pytest.mark.requirement("EX02")
@given(VALUES)
def test_any_value_comes_back_equal_and_of_the_same_types(value: object) -> None:
    data = CODEC.encode(value)
    made = CODEC.decode(from_text(to_text(data)))
    assert made == value
    assert to_text(CODEC.encode(made)) == to_text(data)


@given(VALUES)
def test_any_value_is_described_as_it_is_stored(value: object) -> None:
    assert to_text(describe(value)) == to_text(CODEC.encode(value))


@given(
    st.recursive(SCALARS | st.builds(Plain) | st.builds(Lazy) | st.builds(Text), containers, max_leaves=12)
)
def test_any_value_is_described(value: object) -> None:
    from_text(to_text(describe(value)))


TAGS = st.sampled_from(
    [*CODEC.names, "tuple", "dict", "set", "int", "datetime", "HttpUrl", "opaque", "os.system"]
)
KEYS = st.text(max_size=3) | st.sampled_from(["$", "v", "x", "y", "item", "extra", "private", "unset"])


def json_containers(parts: st.SearchStrategy[JSONValue]) -> st.SearchStrategy[JSONValue]:
    objects = st.dictionaries(KEYS, parts, max_size=4)
    tagged: st.SearchStrategy[JSONValue] = st.builds(lambda tag, v: {"$": tag, "v": v}, TAGS, parts | objects)
    return st.lists(parts, max_size=4) | objects | tagged


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | TAGS,
    json_containers,
    max_leaves=12,
)


def try_to_decode(data: JSONValue) -> None:
    """Decode, or be told that the content is corrupt; what was decoded can be stored again."""
    try:
        made = CODEC.decode(data)
    except CorruptContentError:
        return
    CODEC.decode(CODEC.encode(made))


@given(JSON)
def test_whatever_the_content_is_it_is_read_or_refused(data: JSONValue) -> None:
    try_to_decode(data)


def places(data: JSONValue) -> list[tuple[Any, Any]]:
    """Return every container in ``data`` with every key or index in it."""
    keys = list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []
    inside = cast(Any, data)
    return [(inside, key) for key in keys] + [place for key in keys for place in places(inside[key])]


@given(VALUES, JSON, st.data())
def test_whatever_is_changed_in_stored_content_it_is_read_or_refused(
    value: object, other: JSONValue, data: st.DataObject
) -> None:
    content: JSONValue = [CODEC.encode(value)]
    container, key = data.draw(st.sampled_from(places(content)))
    match data.draw(st.sampled_from(["replace", "remove", "add", "cut"])):
        case "replace":
            container[key] = other
        case "remove":
            del container[key]
        case "add" if isinstance(container, dict):
            container["v" + key] = other
        case _:
            container[key] = str(container[key])[:3]
    try_to_decode(content)


@given(st.text(max_size=20) | VALUES.map(lambda value: to_text(CODEC.encode(value))), st.integers(0, 40))
def test_any_text_is_read_or_refused(text: str, cut: int) -> None:
    for part in (text, text[:cut], text[cut:]):
        with suppress(CorruptContentError):
            from_text(part)
