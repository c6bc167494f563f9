"""Workflows whose runs an older version began; both versions import this module, so it stays as it is."""

from __future__ import annotations

import enum
import operator
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import NamedTuple, cast

from pydantic import BaseModel

from agentic.core import (
    ExecutorFailure,
    ExecutorKind,
    ItemResult,
    RetryPolicy,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    executor,
)

HALT = "COMPAT_HALT"
"""Environment variable: the executor that ends its process."""


class Size(enum.Enum):
    """Of a thing."""

    SMALL = "s"
    LARGE = "l"


class Point(NamedTuple):
    """Where a thing lies."""

    x: int
    y: float


HERE = Point(1, 2.5)


class Line(BaseModel):
    """What is ordered."""

    name: str
    count: int
    size: Size = Size.SMALL


@dataclass(frozen=True)
class Order:
    """What is asked for."""

    number: int
    lines: tuple[Line, ...]
    at: datetime = datetime(2026, 11, 25, tzinfo=UTC)
    place: Point = HERE
    notes: dict[str, set[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What was found of an order."""

    passed: bool
    total: Decimal
    reason: str = ""


class Approval(BaseModel):
    """What a person says."""

    approved: bool


def order() -> Order:
    """Return an order of three lines, the second of which nobody can price."""
    lines = (Line(name="lamp", count=2), Line(name="?", count=1), Line(name="rug", count=3, size=Size.LARGE))
    return Order(7, lines, notes={"tags": {"a", "b"}})


def halt(name: str) -> None:
    """End this process as a kill would, if it is this executor's turn."""
    if os.environ.get(HALT) == name:
        os._exit(9)


@executor(id="intake")
async def intake(order: Order, ctx: WorkflowContext) -> list[Line]:
    """Split an order into its lines."""
    ctx.set_state("order", order)
    ctx.set_state("seen", {"intake"})
    return list(order.lines)


@executor(id="price", retry=RetryPolicy(max_attempts=2, first_delay_s=0.01))
async def price(line: Line) -> Decimal:
    """Price a line."""
    if line.name == "?":
        raise ValueError("nobody knows what this is")
    return Decimal("1.10") * line.count


@executor(id="total")
async def total(items: list[ItemResult], ctx: WorkflowContext) -> Decimal:
    """Add the prices."""
    halt("total")
    ctx.set_state("seen", {"total"})
    ctx.set_state("failures", [item.error for item in items if item.error])
    return sum((cast(Decimal, item.value) for item in items if item.ok), start=Decimal(0))


@executor(id="write")
async def write(amount: Decimal, ctx: WorkflowContext) -> Decimal:
    """Write a bill; each complaint makes it a cent cheaper."""
    return amount - Decimal("0.01") * len(ctx.previous_errors)


@executor(id="check", kind=ExecutorKind.VALIDATOR)
async def check(amount: Decimal) -> Verdict:
    """Accept what was written twice or more."""
    halt("check")
    return Verdict(amount < Decimal("5.49"), amount, "too dear")


@executor(id="gate")
async def gate(verdict: Verdict, ctx: WorkflowContext) -> str:
    """Ask a person."""
    approval = await ctx.request_info(verdict, Approval)
    return f"{'paid' if approval.approved else 'refused'}: {verdict.total}"


@executor(id="receipt")
async def receipt(text: str, ctx: WorkflowContext) -> str:
    """Say what became of the order, as the state has it."""
    order, failures, places = (ctx.get_state(key) for key in ("order", "failures", "seen"))
    assert isinstance(order, Order)
    assert isinstance(failures, list)
    assert isinstance(places, set)
    seen = ",".join(sorted(places))
    said = [failure.message for failure in failures if isinstance(failure, ExecutorFailure)]
    return f"order {order.number} {text}, {order.lines[2].size.name}, {order.place}, {seen}, {said}"


@executor(id="give_up")
async def give_up(verdict: Verdict) -> str:
    """End without a bill."""
    return f"gave up: {verdict.reason}"


def bill() -> Workflow:
    """Return what writes a bill: a workflow within another."""
    return (
        WorkflowBuilder("bill", version="1")
        .set_start(write)
        .add_edge(write, check)
        .add_retry_edge(
            check, write, when=lambda verdict: not verdict.passed, max_passes=3, exhausted=give_up
        )
        .add_edge(check, gate, condition=lambda verdict: verdict.passed)
        .build()
    )


def shop() -> Workflow:
    """Return orders that are mapped, priced, billed and approved."""
    billing = bill()
    return (
        WorkflowBuilder("shop", version="1")
        .add_state("seen", reducer=operator.or_)
        .set_start(intake)
        .add_map_edge(intake, price, total)
        .add_edge(total, billing)
        .add_edge(billing, receipt)
        .build()
    )
