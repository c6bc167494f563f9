from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from agentic.core.bus import BusMessage, BusUnavailableError, MemoryBus
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.types import JSONValue, RunId

MakeEvent = Callable[..., WorkflowEvent]


class FlakyBus(MemoryBus):
    """A bus that can be switched off, and says how often it was asked."""

    def __init__(self, *, max_message_bytes: int = 4096) -> None:
        super().__init__(max_message_bytes=max_message_bytes)
        self.is_down = False
        self.attempt_count = 0
        self.attempted = asyncio.Event()

    async def publish(self, messages: Sequence[BusMessage]) -> None:
        self.attempt_count += 1
        self.attempted.set()
        if self.is_down:
            raise BusUnavailableError("nats://user:secret@example.org:4222", "connection refused")
        await super().publish(messages)


@pytest.fixture
def bus() -> FlakyBus:
    return FlakyBus()


@pytest.fixture
def make_event() -> MakeEvent:
    """Return a function that makes the event number ``sequence`` of a run."""

    def make(
        sequence: int,
        *,
        run_id: str = "r1",
        kind: EventKind = EventKind.EXECUTOR_COMPLETED,
        data: dict[str, JSONValue] | None = None,
    ) -> WorkflowEvent:
        return WorkflowEvent(
            kind=kind, run_id=RunId(run_id), time=1.5, sequence=sequence, path="fetch", data=data or {}
        )

    return make
