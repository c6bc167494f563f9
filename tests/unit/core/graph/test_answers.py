"""What a handler may ask for, and what becomes of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest

from agentic.core import MemoryCheckpointStore, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.graph import AnswerError, HandlerError


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: int


def asking(wanted: Any, seen: list[object]) -> Workflow:
    """Return a workflow that asks for a value of a type."""

    @executor(id="ask")
    async def ask(text: str, ctx: WorkflowContext) -> None:
        seen.append(await ctx.request_info(text, wanted))

    @executor(id="know")
    async def know(known: Colour | Point) -> None:
        """Declare what an answer may hold."""

    return WorkflowBuilder("asks").set_start(ask).add_edge(ask, know).build()


async def answered(wanted: object, answer: object) -> object:
    """Return what the handler gets."""
    seen: list[object] = []
    flow, store = asking(wanted, seen), MemoryCheckpointStore()
    waiting = await flow.run("x", run_id="r", checkpoints=store)
    (request,) = waiting.pending_requests
    await flow.resume("r", checkpoints=store, responses={request.id: answer})
    return seen[0]


@pytest.mark.parametrize(
    ("wanted", "answer", "value"),
    [
        (int | None, None, None),
        (int | None, "3", 3),
        (Literal["yes", "no | maybe"], "no | maybe", "no | maybe"),
        (list[int], ["1", 2], [1, 2]),
        (dict[str, list[Point]], {"a": [{"x": 1}]}, {"a": [Point(1)]}),
        (tuple[str, int], ["a", "1"], ("a", 1)),
        (set[str] | Literal[1, 2], 2, 2),
        (Colour, "red", Colour.RED),
        (Point | str, {"x": 2}, Point(2)),
        (Any, {"any": ["thing"]}, {"any": ["thing"]}),
    ],
)
async def test_answer_becomes_a_value_of_the_type_that_was_asked_for(
    wanted: object, answer: object, value: object
) -> None:
    assert await answered(wanted, answer) == value


@pytest.mark.parametrize(
    ("wanted", "answer", "reason"),
    [
        (list[int], ["1", "many"], "1: Input should be a valid integer"),
        (Literal["yes", "no"], "maybe", "'yes' or 'no'"),
        (Point | None, 7, "Point"),
        (bool, None, "valid boolean"),
    ],
)
async def test_answer_of_another_type_is_refused_with_the_reason(
    wanted: object, answer: object, reason: str
) -> None:
    with pytest.raises(AnswerError, match=reason):
        await answered(wanted, answer)


async def test_type_that_no_answer_can_be_named_by_cannot_be_asked_for() -> None:
    with pytest.raises(HandlerError, match="cannot ask for"):
        await answered(type[int], int)
