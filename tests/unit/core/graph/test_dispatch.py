"""Which handler a message goes to, and which signatures are refused."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import GenericAlias
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    LiteralString,
    Never,
    NewType,
    NotRequired,
    Protocol,
    TypedDict,
    TypeVar,
    Union,
    cast,
    runtime_checkable,
)

import pytest
from pydantic import BaseModel
from typing_extensions import TypeAliasType

from agentic.core import Executor, RetryPolicy, WorkflowBuilder, WorkflowContext, executor, handler
from agentic.core.graph import HandlerError, SendTypeError
from agentic.core.graph.definition.function import FunctionExecutor
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from decimal import Decimal


class Base:
    pass


class Sub(Base):
    pass


class Color(Enum):
    RED = 1


@dataclass
class Point:
    x: int


class Order(BaseModel):
    id: int


class Many(Executor):
    @handler
    async def any_base(self, m: Base) -> str:
        return "base"

    @handler
    async def zz_sub(self, m: Sub) -> str:
        return "sub"

    @handler
    async def number_or_text(self, m: int | str) -> str:
        return "number or text"

    @handler
    async def flag(self, m: bool) -> str:
        return "flag"

    @handler
    async def numbers(self, m: list[int]) -> str:
        return "numbers"

    @handler
    async def texts(self, m: list[str]) -> str:
        return "texts"

    @handler
    async def point(self, m: Point | Order | Color) -> str:
        return "record"

    @handler
    async def rest(self, m: Any) -> str:
        return "rest"


@pytest.mark.requirement("EX11")
@pytest.mark.parametrize(
    ("message", "chosen"),
    [
        (Base(), "base"),
        (Sub(), "sub"),
        (3, "number or text"),
        ("x", "number or text"),
        (True, "flag"),
        ([1, 2], "numbers"),
        (["a"], "texts"),
        ([1, "a"], "rest"),
        (Point(1), "record"),
        (Order(id=1), "record"),
        (Color.RED, "record"),
        (3.5, "rest"),
    ],
)
async def test_most_specific_handler_is_chosen(message: object, chosen: str) -> None:
    flow = WorkflowBuilder("w").set_start(Many("many")).build()
    for _ in range(2):  # the second time from the cache
        assert (await flow.run(message)).outputs == (chosen,)


class Strict(Executor):
    @handler
    async def only(self, m: Literal["yes", "no"], ctx: WorkflowContext) -> str:
        return m


async def test_literals_are_told_apart() -> None:
    node = Strict("strict")
    assert node.accepts("yes")
    assert not node.accepts("maybe")


async def test_input_of_the_wrong_type_is_refused_naming_what_is_taken() -> None:
    with pytest.raises(TypeError, match=r"executor 'strict' takes Literal\['yes', 'no'\], not int"):
        await WorkflowBuilder("w").set_start(Strict("strict")).build().run(1)


def node_of(annotation: Any) -> FunctionExecutor:
    async def take(m: object) -> None:
        pass

    take.__annotations__["m"] = annotation
    return executor(id="x")(take)


Name = NewType("Name", str)
ItemT = TypeVar("ItemT")
Nested = TypeAliasType("Nested", "int | list[Nested]")
Pair = TypeAliasType("Pair", tuple[ItemT, ItemT], type_params=(ItemT,))


class Page(TypedDict):
    url: str
    links: NotRequired[list[str]]


class Rows(TypedDict, Generic[ItemT]):
    rows: list[Any]


class Cell(BaseModel, Generic[ItemT]):
    value: ItemT


@dataclass
class Crate(Generic[ItemT]):
    content: ItemT


class Plain(Protocol):
    url: str


@runtime_checkable
class HasUrl(Protocol):
    url: str


class Link:
    def __init__(self, url: str) -> None:
        self.url = url


class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...


class Square(Shape):
    def area(self) -> float:
        return 1.0


@pytest.mark.requirement("EX02")
@pytest.mark.parametrize(
    ("annotation", "taken", "refused"),
    [
        (Name, ["x"], [1]),
        (Annotated[str, ["note without a hash"]], ["x"], [1]),
        (list[Annotated[str, ["note"]]], [["x"]], [[1]]),
        (Sequence[str], [["a"], ("a", "b"), "text"], [[1], 1]),
        (Sequence[int], [[1], [], (1, 2, 3), b"bytes"], ["text", ["a"]]),
        (Mapping[str, int], [{"a": 1}, {}], [{"a": "b"}, {1: 1}, "x"]),
        (Iterable[str], [{"a": 1}, (x for x in [1])], [{1: 1}, [1]]),
        (tuple[int, ...], [(1, 2), ()], [(1, "a"), [1]]),
        (tuple[int, str], [(1, "a")], [(1,), ("a", 1)]),
        (tuple[()], [()], [(1,)]),
        (Union[int, "str"], [1, "a"], [None]),  # a string within an annotation
        (int | None, [1, None], ["x"]),
        (None, [None], [0]),
        (set[int], [{1}], [{"a"}]),
        (dict[str, list[int]], [{"a": [1]}], [{"a": ["b"]}]),
        (list[int | str], [[1, "a"]], [[None]]),
        (float, [1.5, 1], ["1"]),
        (Literal[1, "a"], [1, "a"], [True, 2, "b"]),
        (Literal[Color.RED], [Color.RED], [1]),
        (type[Base], [Base, Sub], [int, Base()]),
        (Nested, [1, [1, [2, [3]]]], ["a", [1, ["a"]]]),
        (JSONValue, [{"a": [1, None, "b"]}], [{"a": {1}}, object()]),
        (Pair[int], [(1, 2)], [(1, "a"), (1,)]),
        (Page, [{"url": "u"}, {"url": "u", "links": ["a"]}], [{}, {"url": 1}, {"url": "u", "links": [1]}]),
        (Rows[int], [{"rows": [1]}, {"rows": ["parameters leave no trace"]}], [{}]),
        (Cell[int], [Cell[int](value=1)], [Cell[str](value="a"), Cell(value=1)]),
        (Crate[int], [Crate(1)], [1]),
        (HasUrl, [Link("u")], [object()]),
        (Shape, [Square()], [1]),
        (Callable[[int], str], [print], [1]),
    ],
)
def test_annotation_decides_what_is_taken(
    annotation: Any, taken: list[object], refused: list[object]
) -> None:
    node = node_of(annotation)
    for _ in range(2):  # the second time from what is kept
        assert [node.accepts(value) for value in taken] == [True] * len(taken)
        assert [node.accepts(value) for value in refused] == [False] * len(refused)


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (ItemT, "ItemT is a type variable; give the type it stands for"),
        (GenericAlias(list, (ItemT,)), "ItemT is a type variable"),
        (Plain, "the protocol Plain is not @runtime_checkable; make it so"),
        (dict[str, Plain], "the protocol Plain is not @runtime_checkable"),
        (Never, "Never has no values"),
        (LiteralString, "LiteralString cannot be checked at run time"),
        ("Missing", r"the type 'Missing' of 'm' cannot be resolved \(name 'Missing' is not defined\)"),
        ("not an expression", "cannot be resolved"),
    ],
)
def test_annotation_that_cannot_be_checked_is_refused_with_the_reason(annotation: Any, reason: str) -> None:
    with pytest.raises(HandlerError, match=reason):
        node_of(annotation)


class Specific(Executor):
    """Declared from the general to the special, and named so that sorting by name would mislead."""

    @handler
    async def a_anything(self, m: object) -> str:
        return "anything"

    @handler
    async def b_sequence(self, m: Sequence[object]) -> str:
        return "sequence"

    @handler
    async def c_numbers(self, m: list[float]) -> str:
        return "floats"

    @handler
    async def d_flags(self, m: list[bool]) -> str:
        return "flags"

    @handler
    async def e_with_url(self, m: HasUrl) -> str:
        return "url"

    @handler
    async def f_yes(self, m: Literal["yes"]) -> str:
        return "yes"

    @handler
    async def g_text(self, m: str) -> str:
        return "text"

    @handler
    async def h_page(self, m: Page) -> str:
        return "page"

    @handler
    async def i_mapping(self, m: Mapping[str, Any]) -> str:
        return "mapping"


@pytest.mark.requirement("EX11")
@pytest.mark.parametrize(
    ("message", "chosen"),
    [
        ("yes", "yes"),
        ("no", "text"),
        ([True], "flags"),
        ([1, 2.5], "floats"),
        ([None], "sequence"),
        ({"url": "u"}, "page"),
        ({"other": 1}, "mapping"),
        ({1: 1}, "anything"),
        (Link("u"), "url"),
        (1, "anything"),
    ],
)
async def test_assignable_type_goes_before_the_one_it_is_assignable_to(message: object, chosen: str) -> None:
    assert await called(Specific("x"), message) == chosen


async def called(node: Executor, message: object) -> object:
    """Return what the run of a single executor comes to."""
    [output] = (await WorkflowBuilder("w").set_start(node).build().run(message)).outputs
    return output


@runtime_checkable
class Opens(Protocol):
    def open(self) -> None: ...


@runtime_checkable
class Closes(Protocol):
    def close(self) -> None: ...


class Door:
    def open(self) -> None:
        pass

    def close(self) -> None:
        pass


async def test_of_two_equally_specific_handlers_the_one_declared_first_is_chosen() -> None:
    class ClosesFirst(Executor):
        @handler
        async def z(self, m: Closes) -> str:
            return "closes"

        @handler
        async def a(self, m: Opens) -> str:
            return "opens"

    class OpensFirst(ClosesFirst):
        @handler
        async def opens(self, m: Opens) -> str:
            return "opens"

        a = None  # type: ignore[assignment]  # how a handler is taken away

    assert await called(ClosesFirst("x"), Door()) == "closes"
    assert await called(OpensFirst("x"), Door()) == "opens"


class Parent(Executor):
    @handler
    async def text(self, m: str) -> str:
        return f"parent {m}"

    @handler
    async def number(self, m: int) -> str:
        return "number"


class Mixin:
    @handler
    async def flag(self, m: bool) -> str:
        return "flag"


class Child(Mixin, Parent):
    async def text(self, m: str) -> str:
        return f"child of {await super().text(m)}"


async def test_handlers_are_inherited_and_an_overriding_method_is_a_handler_too() -> None:
    node = Child("x")
    assert [await called(node, m) for m in ("a", 1, True)] == ["child of parent a", "number", "flag"]


class Mute(Parent):
    text = None  # type: ignore[assignment]  # how a handler is taken away


def test_handler_is_taken_away_by_none() -> None:
    assert Mute("x").input_types == (int,)


async def test_local_types_are_found_though_annotations_are_strings() -> None:
    class Early:
        pass

    class Takes(Executor):
        @handler
        async def early(self, m: Early) -> str:
            return "early"

        @handler
        async def late(self, m: list[Late]) -> str:
            return "late"

    class Late:
        pass

    assert await called(Takes("x"), Early()) == "early"
    assert await called(Takes("x"), [Late()]) == "late"

    @executor(id="f")
    async def function(m: Early) -> int:
        return 1

    assert await called(function, Early()) == 1


def make_late(base: type[Executor]) -> Executor:
    return base("elsewhere")


def test_local_type_is_found_through_the_closure_when_its_function_has_ended() -> None:
    def define() -> type[Executor]:
        class Takes(Executor):
            @handler
            async def late(self, m: Late) -> object:
                return Late

        class Late:
            pass

        return Takes

    assert [getattr(t, "__name__", "") for t in make_late(define()).input_types] == ["Late"]


def test_name_that_only_type_checkers_import_hides_what_is_sent_and_no_more() -> None:
    @executor(id="x")
    async def function(m: str, ctx: WorkflowContext[Decimal, str]) -> Decimal:
        raise NotImplementedError

    assert function.input_types == (str,)
    assert (function.send_types, function.return_types) == (None, None)


class Sends(Protocol):
    async def send_message(self, message: Any, target: str | None = None) -> None: ...


class Recorder:
    def __init__(self) -> None:
        self.sent: list[object] = []

    async def send_message(self, message: Any, target: str | None = None) -> None:
        self.sent.append((message, target))


class Narrow(Executor):
    @handler
    async def run(self, m: str, ctx: Sends) -> None:
        await ctx.send_message(m, "next")


@pytest.mark.requirement("EX08")
async def test_handler_may_name_the_part_of_the_context_it_needs_and_be_given_a_fake() -> None:
    fake = Recorder()
    await Narrow("x").handle("a", cast(WorkflowContext, fake))
    await Narrow("x").run("b", fake)
    assert fake.sent == [("a", "next"), ("b", "next")]


class Greeter:
    def __init__(self, word: str) -> None:
        self.word = word

    async def greet(self, name: str, ctx: WorkflowContext) -> str:
        return f"{self.word} {name} at {ctx.superstep}"

    async def __call__(self, name: str) -> str:
        return f"{self.word} {name}"


async def optional(text: str, ctx: WorkflowContext | None = None) -> str:
    return "no context" if ctx is None else ctx.executor_id


def repeat(text: str, times: int = 2) -> str:
    return text * times


@pytest.mark.requirement("EX10")
@pytest.mark.parametrize(
    ("function", "output"),
    [
        (Greeter("hi").greet, "hi x at 0"),
        (Greeter("ho"), "ho x"),
        (functools.partial(repeat, times=3), "xxx"),
        (repeat, "xx"),
        (optional, "x"),
    ],
)
async def test_methods_partials_and_callable_objects_are_functions_too(function: Any, output: str) -> None:
    assert await called(executor(id="x")(function), "x") == output


async def generator(m: str) -> AsyncIterator[str]:
    yield m


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda m: m, "annotate 'm'"),
        (len, "annotate 'obj'"),
        (Point, "Point is a class; give a function"),
        (generator, "is a generator; return one value"),
        (print, "must take"),
        (max, "has no readable signature; wrap it"),
    ],
)
def test_what_cannot_be_called_with_one_typed_message_is_refused(function: Any, message: str) -> None:
    with pytest.raises(HandlerError, match=message):
        executor(id="x")(function)


class NoHandler(Executor):
    pass


class SyncHandler(Executor):
    @handler  # type: ignore[type-var]  # refused at run time, too
    def run(self, m: str) -> str:
        return m


class NoAnnotation(Executor):
    @handler
    async def run(self, m) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001  # the point of the test
        pass


class Static(Executor):
    @handler
    @staticmethod
    async def run(m: str, ctx: WorkflowContext) -> None:
        pass


class WrongContext(Executor):
    @handler  # type: ignore[type-var]  # refused at run time, too
    async def run(self, m: str, times: int) -> None:
        pass


class Yields(Executor):
    @handler  # type: ignore[type-var]  # refused at run time, too
    async def run(self, m: str) -> AsyncIterator[str]:
        yield m


class SameAtRunTime(Executor):
    @handler
    async def one(self, m: Crate[int]) -> None:
        pass

    @handler
    async def two(self, m: Crate[str]) -> None:
        pass


class Twins(Executor):
    @handler
    async def one(self, m: str) -> None:
        pass

    @handler
    async def two(self, m: str | int) -> None:
        pass


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NoHandler("x"), "has no handler"),
        (lambda: SyncHandler("x"), "must be `async def`"),
        (lambda: NoAnnotation("x"), "annotate 'm'"),
        (lambda: Twins("x"), "both take str"),
        (
            lambda: SameAtRunTime("x"),
            r"both take .*Crate\[str\], because .*Crate\[int\] is the same at run time",
        ),
        (lambda: Static("x"), "run is a staticmethod; handlers must be plain methods"),
        (lambda: WrongContext("x"), "'times' receives the WorkflowContext, not 'int'"),
        (lambda: Yields("x"), "run is a generator"),
        (lambda: Many("a/b"), "must not be empty or contain '/'"),
        (lambda: Many(""), "must not be empty"),
        (lambda: Many("x", max_parallel=0), "max_parallel is 0"),
    ],
)
def test_executor_that_cannot_work_is_refused_when_it_is_made(make: Any, message: str) -> None:
    with pytest.raises(HandlerError, match=message):
        make()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"timeout_s": 0}, "timeout_s of executor 'x' is 0; give more than 0 seconds or None"),
        ({"timeout_s": math.nan}, "timeout_s of executor 'x' is nan"),
        ({"retry": 3}, "retry of executor 'x' is 3; give a RetryPolicy or None"),
    ],
)
def test_limit_that_makes_no_sense_is_refused_naming_executor_and_value(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Many("x", **settings)


def test_executor_keeps_its_policy_and_limit() -> None:
    policy = RetryPolicy(max_attempts=2)

    @executor(id="x", retry=policy, timeout_s=2.5)
    async def function(m: str) -> None:
        pass

    assert (function.retry, function.timeout_s) == (policy, 2.5)


@pytest.mark.requirement("EX05")
async def test_executor_may_handle_everything_itself() -> None:
    class Raw(Executor):
        async def handle(self, message: object, ctx: WorkflowContext) -> str:
            return f"{type(message).__name__} at {ctx.superstep}"

    assert await called(Raw("x"), 1) == "int at 0"
    assert Raw("x").return_types == (str,)


async def no_message() -> None:
    pass


async def three(m: str, ctx: WorkflowContext, more: int) -> None:
    pass


async def needs_keyword(m: str, *, more: int) -> None:
    pass


def sync_with_context(m: str, ctx: WorkflowContext) -> None:
    pass


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_message, r"must take \(message\) or \(message, ctx\)"),
        (three, "must take"),
        (needs_keyword, "must take"),
        (sync_with_context, "runs in a thread, without ctx"),
    ],
)
def test_function_with_a_wrong_signature_is_refused(function: Any, message: str) -> None:
    with pytest.raises(HandlerError, match=message):
        executor(id="x")(function)


class Chooses(Executor):
    @handler
    async def text(self, m: str, ctx: WorkflowContext[int, Never]) -> list[int]:
        await ctx.send_message(cast(int, m))
        return []

    @handler
    async def number(self, m: int, ctx: WorkflowContext[Point, str]) -> int | None:
        await ctx.yield_output(cast(str, m))
        return None

    @handler
    async def flag(self, m: bool) -> Literal["yes"]:
        return cast(Literal["yes"], "no")


@pytest.mark.requirement("EX02", "EX12")
def test_executor_tells_what_its_handlers_declare() -> None:
    node = Chooses("x")
    assert node.input_types == (str, bool, int)
    assert node.send_types == (int, Point)
    assert node.output_types == (str,)
    assert node.return_types == (list[int], int, Literal["yes"])


def test_one_handler_without_declaration_leaves_the_executor_without() -> None:
    class Some(Chooses):
        @handler
        async def any(self, m: list[str], ctx: WorkflowContext):  # type: ignore[no-untyped-def]  # noqa: ANN202
            pass

    node = Some("x")
    assert (node.send_types, node.output_types, node.return_types) == (None, None, None)


@pytest.mark.requirement("EX02", "EX12")
@pytest.mark.parametrize(
    ("message", "error"),
    [
        (
            "a",
            "executor 'x' sent a value of type str, but declares int or Point; change",
        ),
        (1, "executor 'x' yielded a value of type int, but declares str"),
        (True, r"executor 'x' returned a value of type str, but declares Literal\['yes'\]"),
    ],
)
async def test_what_is_sent_yielded_or_returned_must_be_what_is_declared(message: object, error: str) -> None:
    with pytest.raises(SendTypeError, match=error):
        await called(Chooses("x"), message)


async def test_handler_that_declares_never_may_send_nothing() -> None:
    @executor(id="x")
    async def quiet(m: str, ctx: WorkflowContext[Never, Never]) -> None:
        await ctx.send_message(cast(Never, m))

    with pytest.raises(SendTypeError, match="sent a value of type str, but declares nothing"):
        await called(quiet, "a")


async def test_elements_of_what_is_returned_are_looked_at_each_time() -> None:
    @executor(id="x")
    def numbers(m: list[object]) -> list[int]:
        return cast(list[int], m)

    assert await called(numbers, [1]) == [1]
    with pytest.raises(SendTypeError, match=r"returned a value of type list, but declares list\[int\]"):
        await called(numbers, ["a"])
