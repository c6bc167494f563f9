"""Which handler a message goes to, and which signatures are refused."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NewType, TypedDict

import pytest
from pydantic import BaseModel

from agentic.core import Executor, WorkflowBuilder, WorkflowContext, executor, handler
from agentic.core.graph import HandlerError


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


Name = NewType("Name", str)


class Loose(TypedDict):
    """Cannot be told from any other dict."""

    x: int


@pytest.mark.parametrize(
    ("annotation", "taken", "refused"),
    [
        (Name, ["x"], [1]),
        (Annotated[str, "note"], ["x"], [1]),
        (Sequence[str], [["a"], ("a",), "text"], [[1], 1]),
        (Sequence[int], [[1], []], ["text", ["a"]]),
        (Mapping[str, int], [{"a": 1}, {}], [{"a": "b"}, {1: 1}, "x"]),
        (tuple[int, ...], [(1, 2), ()], [(1, "a"), [1]]),
        (tuple[int, str], [(1, "a")], [(1,), ("a", 1)]),
        (int | None, [1, None], ["x"]),
        (set[int], [{1}], [{"a"}]),
    ],
)
def test_annotation_decides_what_is_taken(
    annotation: Any, taken: list[object], refused: list[object]
) -> None:
    async def take(m: object) -> None:
        pass

    take.__annotations__["m"] = annotation
    node = executor(id="x")(take)
    assert [node.accepts(value) for value in taken] == [True] * len(taken)
    assert [node.accepts(value) for value in refused] == [False] * len(refused)


def test_annotation_that_cannot_be_checked_and_callable_that_is_no_function_are_refused() -> None:
    async def loose(m: Loose) -> None:
        pass

    with pytest.raises(HandlerError, match=r"cannot check messages against .*Loose"):
        executor(id="x")(loose)
    with pytest.raises(HandlerError, match="give a function or a method"):
        executor(id="x")(functools.partial(loose))


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
        (lambda: Many("a/b"), "must not be empty or hold '/'"),
        (lambda: Many(""), "must not be empty"),
        (lambda: Many("x", max_parallel=0), "max_parallel is 0"),
    ],
)
def test_executor_that_cannot_work_is_refused_when_it_is_made(make: Any, message: str) -> None:
    with pytest.raises(HandlerError, match=message):
        make()


def test_function_with_a_wrong_signature_is_refused() -> None:
    with pytest.raises(HandlerError, match="must take"):

        @executor(id="x")
        async def none() -> None:
            pass

    with pytest.raises(HandlerError, match="runs in a thread, without ctx"):

        @executor(id="y")
        def sync(m: str, ctx: WorkflowContext) -> None:
            pass
