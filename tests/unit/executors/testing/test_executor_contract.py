"""Executors of two kinds keep the contract of all executors."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from agentic.core.graph import Executor, WorkflowContext, executor, handler
from agentic.executors.testing import ExecutorContract


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be counted."""

    name: str
    count: int


class Counter(Executor):
    """Sends numbers."""

    def __init__(self) -> None:
        super().__init__("counter")

    @handler
    async def count(self, order: Order, ctx: WorkflowContext[str]) -> None:
        for number in range(order.count):
            await asyncio.sleep(0)
            await ctx.send_message(f"{order.name} {number}")


@executor(id="double")
def double(number: int) -> int:
    """Return twice as much."""
    return number * 2


class TestCounter(ExecutorContract):
    @pytest.fixture
    def executor(self) -> Executor:
        return Counter()

    @pytest.fixture
    def message(self) -> Order:
        return Order("lamp", 2)

    @pytest.fixture
    def outputs(self) -> list[object]:
        return ["lamp 0", "lamp 1"]


class TestDouble(ExecutorContract):
    @pytest.fixture
    def executor(self) -> Executor:
        return double

    @pytest.fixture
    def message(self) -> int:
        return 2

    @pytest.fixture
    def outputs(self) -> list[object]:
        return [4]
