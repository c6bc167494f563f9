"""The service is left alone for as long as it wants, by everybody who shares the memory."""

from __future__ import annotations

import pytest
from tests.clocks import Clock

from agentic.core.actors import ActorError
from agentic.core.actors.stores import MemoryOfProcess
from agentic.plugins.firecrawl.pause import Pause


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory() -> MemoryOfProcess:
    return MemoryOfProcess()


@pytest.fixture
def pause(clock: Clock, memory: MemoryOfProcess) -> Pause:
    return Pause(memory, "h.example", 60, clock=clock, sleep=clock.sleep)


async def test_nobody_waits_for_a_service_that_wants_no_peace(pause: Pause, clock: Clock) -> None:
    await pause.wait("scrape it")
    assert clock.slept == []


async def test_another_worker_waits_too(pause: Pause, clock: Clock, memory: MemoryOfProcess) -> None:
    await pause.begin(7)
    await Pause(memory, "h.example", 60, clock=clock, sleep=clock.sleep).wait("scrape it")
    await Pause(memory, "other.example", 60, clock=clock, sleep=clock.sleep).wait("scrape it")
    assert clock.slept == [7]


async def test_a_shorter_wish_does_not_end_a_longer_one(pause: Pause, clock: Clock) -> None:
    await pause.begin(50)
    await pause.begin(1)
    await pause.wait("scrape it")
    assert clock.slept == [50]


async def test_a_wish_that_comes_meanwhile_is_heard(
    pause: Pause, clock: Clock, memory: MemoryOfProcess
) -> None:
    async def told_again(seconds: float) -> None:
        await clock.sleep(seconds)
        if len(clock.slept) == 1:
            await pause.begin(5)

    await pause.begin(2)
    await Pause(memory, "h.example", 60, clock=clock, sleep=told_again).wait("scrape it")
    assert clock.slept == [2, 5]


async def test_too_long_a_wish_is_a_failure_that_says_when_to_come_again(pause: Pause, clock: Clock) -> None:
    await pause.begin(61)
    clock.now += 0.5
    with pytest.raises(ActorError, match=r"did not scrape it \(rate_limited, account\)") as caught:
        await pause.wait("scrape it")
    assert (caught.value.retry_after_s, caught.value.detail) == (60.5, "account")
    assert clock.slept == []
