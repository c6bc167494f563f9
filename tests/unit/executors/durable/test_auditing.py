"""Decisions on their way to a stream that takes what it can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from structlog.testing import capture_logs
from tests.clocks import Clock

from agentic.core.audit import Decision, DecisionKind, decided
from agentic.core.bus import BusMessage, MemoryBus, StreamFullError
from agentic.core.bus.decisions import published_decision
from agentic.core.ledger import MemoryLedger
from agentic.executors.durable.publish.auditing import RETRY_S, AuditOutbox
from agentic.executors.durable.worker.ledger_executor import LedgerExecutor

pytestmark = [pytest.mark.requirement("NA21"), pytest.mark.requirement("LG15")]


class SmallBus(MemoryBus):
    """Takes so many messages, and then no more."""

    room = 600
    asked = 0

    async def publish(self, messages: Sequence[BusMessage]) -> None:
        self.asked += 1
        if (await self.state()).count + len(messages) > self.room:
            raise StreamFullError("AGENTIC_AUDIT", "maximum bytes exceeded")
        await super().publish(messages)


@pytest.fixture
def ledger_executor() -> Iterator[LedgerExecutor]:
    found = LedgerExecutor(MemoryLedger())
    yield found
    found.close()


def made(count: int, reason: str = "") -> list[Decision]:
    return [
        decided(DecisionKind.RUN_PAUSED, f"run-{number}", "rests", who="anna", reason=reason)
        for number in range(count)
    ]


async def ids(bus: MemoryBus) -> list[str]:
    until = (await bus.state()).last
    return [published_decision(message).decision.id async for message in bus.read(until=until)]


async def test_what_the_stream_has_room_for_is_stored_and_the_rest_is_given_back(
    ledger_executor: LedgerExecutor,
) -> None:
    bus, decisions = SmallBus(), made(1200)
    refused = await AuditOutbox(ledger_executor, "shop", bus).publish(decisions)
    assert list(refused) == decisions[500:]
    assert await ids(bus) == [one.id for one in decisions[:500]]


async def test_rows_are_marked_once_the_stream_has_them(ledger_executor: LedgerExecutor) -> None:
    decisions = made(700)
    await ledger_executor.do(lambda ledger: ledger.add_decisions(decisions))
    assert await AuditOutbox(ledger_executor, "shop", SmallBus()).publish_kept(decisions) == 500
    left = await ledger_executor.do(lambda ledger: ledger.decisions(unpublished=True))
    assert list(left) == decisions[500:]


async def test_a_full_stream_is_left_alone_for_a_while_and_told_of_once(
    ledger_executor: LedgerExecutor,
) -> None:
    bus, clock, decisions = SmallBus(), Clock(100.0), made(1)
    bus.room = 0
    outbox = AuditOutbox(ledger_executor, "shop", bus, clock)
    with capture_logs() as logs:
        for _ in range(3):
            assert await outbox.publish(decisions) == decisions
        assert bus.asked == 1
        clock.now += RETRY_S
        assert await outbox.publish(decisions) == decisions
        bus.room = 10
        clock.now += RETRY_S
        assert not await outbox.publish(decisions)
    assert [line["event"] for line in logs] == ["decisions.waiting", "decisions.resumed"]


async def test_a_decision_that_is_too_large_holds_up_no_other(ledger_executor: LedgerExecutor) -> None:
    bus = MemoryBus(max_message_bytes=1000)
    decisions = [*made(1), *made(1, reason="r" * 500), *made(1)]
    with capture_logs() as logs:
        assert not await AuditOutbox(ledger_executor, "shop", bus).publish(decisions)
    assert await ids(bus) == [decisions[0].id, decisions[2].id]
    assert [line["event"] for line in logs] == ["decision.dropped"]
