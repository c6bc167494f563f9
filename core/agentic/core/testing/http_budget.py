"""The contract of every host budget, on a real clock."""

from __future__ import annotations

import asyncio
import time
from itertools import combinations, count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.core.http import HostBudget

Clients = tuple[HostBudget, HostBudget]

INTERVAL_S = 0.02
LONG_S = 30.0

# The budget is the same in all examples; each has its own host, and none depends on its `self`.
on_a_real_clock = settings(
    max_examples=10,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
_hosts = (f"host-{number}.example:443" for number in count())


async def take_in_turn(client: HostBudget, host: str, interval_s: float) -> tuple[float, float]:
    """Wait for a turn; return the times before and after the answer that granted it."""
    while True:
        before = time.monotonic()
        turn = await client.take(host, interval_s)
        if turn.wait_s <= 0:
            return before, time.monotonic()
        await asyncio.sleep(turn.wait_s)


@pytest.mark.asyncio
class HostBudgetContract:
    """Inherit from this and provide a fixture ``clients``: two budgets that share their state::

        class TestMyBudget(HostBudgetContract):
            @pytest.fixture
            async def clients(self) -> AsyncIterator[tuple[HostBudget, HostBudget]]:
                async with MyBudget(url) as first, MyBudget(url) as second:
                    yield first, second

    No test depends on the speed of the machine: a delay never looks like an early turn.
    """

    async def test_the_first_turn_is_taken_at_once(self, clients: Clients) -> None:
        turn = await clients[0].take(next(_hosts), LONG_S)
        assert (turn.wait_s, turn.blocked_s) == (0, 0)

    async def test_the_next_turn_waits_for_an_interval_whoever_takes_it(self, clients: Clients) -> None:
        host = next(_hosts)
        await clients[0].take(host, LONG_S)
        for client in clients:
            turn = await client.take(host, LONG_S)
            assert 0 < turn.wait_s <= LONG_S
            assert turn.blocked_s == 0

    async def test_without_an_interval_every_turn_is_taken_at_once(self, clients: Clients) -> None:
        host = next(_hosts)
        assert [(await client.take(host, 0)).wait_s for client in clients * 5] == [0] * 10

    async def test_a_slow_client_delays_the_others_by_their_own_interval_at_most(
        self, clients: Clients
    ) -> None:
        host = next(_hosts)
        await clients[0].take(host, 3_600)
        for client in clients:
            assert (await client.take(host, 0)).wait_s == 0
            assert 1 < (await client.take(host, LONG_S)).wait_s <= LONG_S
            assert LONG_S < (await client.take(host, 3_600)).wait_s <= 3_600

    async def test_a_quick_client_does_not_keep_a_slow_one_from_its_turn(self, clients: Clients) -> None:
        host = next(_hosts)
        await clients[0].take(host, 0.001)
        await take_in_turn(clients[1], host, LONG_S)
        await take_in_turn(clients[0], host, 0.001)
        assert LONG_S - 10 < (await clients[1].take(host, LONG_S)).wait_s <= LONG_S

    async def test_one_host_does_not_wait_for_another(self, clients: Clients) -> None:
        host = next(_hosts)
        await clients[0].block(host, LONG_S)
        assert (await clients[1].take(next(_hosts), LONG_S)).wait_s == 0

    async def test_a_block_holds_for_everybody(self, clients: Clients) -> None:
        host = next(_hosts)
        await clients[0].block(host, LONG_S)
        for client in clients:
            turn = await client.take(host, 0)
            assert LONG_S - 10 < turn.blocked_s <= LONG_S
            assert turn.wait_s >= turn.blocked_s

    async def test_a_longer_block_stands(self, clients: Clients) -> None:
        host = next(_hosts)
        for client, seconds in zip(clients, (LONG_S, 0.001), strict=True):
            await client.block(host, seconds)
        assert (await clients[1].take(host, 0)).blocked_s > 1
        await clients[1].block(host, 2 * LONG_S)
        assert (await clients[0].take(host, 0)).blocked_s > LONG_S / 2

    async def test_a_block_ends(self, clients: Clients) -> None:
        host = next(_hosts)
        started = time.monotonic()
        await clients[0].block(host, 0.1)
        _, granted_at = await take_in_turn(clients[1], host, 0)
        assert granted_at - started >= 0.1

    async def test_a_turn_taken_before_a_block_still_counts_after_it(self, clients: Clients) -> None:
        host = next(_hosts)
        await clients[0].take(host, LONG_S)
        await clients[1].block(host, 0.001)
        turn = await clients[1].take(host, LONG_S)
        assert turn.wait_s > 1
        assert turn.blocked_s <= 0.001

    async def test_many_hosts_are_asked_about_at_once(self, clients: Clients) -> None:
        hosts = [next(_hosts) for _ in range(200)]
        await asyncio.gather(*(clients[0].block(host, LONG_S) for host in hosts[::2]))
        turns = await asyncio.gather(*(clients[1].take(host, 0) for host in hosts))
        assert [turn.blocked_s > 0 for turn in turns] == [True, False] * 100

    @pytest.mark.parametrize("name", ["[::1]:80", "xn--bcher-kva.example:443", "a" * 300, "é 漢:1", "*"])
    async def test_hosts_are_taken_as_they_are(self, clients: Clients, name: str) -> None:
        await clients[0].block(name, LONG_S)
        assert (await clients[1].take(name, 0)).blocked_s > 0
        assert (await clients[1].take(name[:-1], 0)).blocked_s == 0

    @on_a_real_clock
    @given(askers=st.lists(st.sampled_from([0, 1]), min_size=2, max_size=6))
    async def test_turns_are_never_closer_than_the_interval(
        self, clients: Clients, askers: list[int]
    ) -> None:
        host = next(_hosts)
        moments = await asyncio.gather(
            *(take_in_turn(clients[number], host, INTERVAL_S) for number in askers)
        )
        # A turn is granted between its two times, so this holds for any two turns in one of the two orders.
        for (before, after), (other_before, other_after) in combinations(moments, 2):
            assert max(other_after - before, after - other_before) >= INTERVAL_S * 0.99

    @on_a_real_clock
    @given(blocks=st.lists(st.floats(min_value=0, max_value=0.05), min_size=1, max_size=5))
    async def test_there_is_no_turn_within_the_longest_block(
        self, clients: Clients, blocks: list[float]
    ) -> None:
        host, until = next(_hosts), 0.0
        for number, seconds in enumerate(blocks):
            until = max(until, time.monotonic() + seconds)
            await clients[number % 2].block(host, seconds)
        _, granted_at = await take_in_turn(clients[len(blocks) % 2], host, 0)
        assert granted_at >= until - 0.001  # a millisecond clock is enough
