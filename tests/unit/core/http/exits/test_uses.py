"""Requests through proxies are counted for the work that sent them, and add up in any order."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.http.exits.test_pool import World, fault, outcome, reply

from agentic.core.http import HttpRequest, HttpResponse
from agentic.core.http.exits.uses import (
    MAX_PROXIES,
    OTHERS,
    ProxyTally,
    ProxyUse,
    added_uses,
    counting_proxies,
    dump_uses,
    in_list_order,
    load_uses,
    take_uses,
)

COUNTS = st.integers(min_value=0, max_value=9)
FAILURES = st.dictionaries(st.sampled_from(["timeout", "connect", "http_404"]), st.integers(1, 9))
USES = st.builds(
    ProxyUse,
    id=st.sampled_from(["a", "b", "c", OTHERS]),
    requests=COUNTS,
    received_bytes=COUNTS,
    failures=FAILURES.map(lambda found: tuple(sorted(found.items()))),
)


async def test_two_works_that_share_a_pool_count_their_own_requests() -> None:
    world = World()
    fetcher, exits = world.fetcher("ab")

    async def work(count: int) -> tuple[ProxyUse, ...]:
        with counting_proxies(True) as tally:
            await asyncio.gather(*(outcome(fetcher, "http://h.example/") for _ in range(count)))
        return tally.take()

    few, many = await asyncio.gather(work(3), work(20))
    await outcome(fetcher, "http://h.example/")  # belongs to neither
    assert sum(use.requests for use in few) == 3
    assert sum(use.requests for use in many) == 20
    assert sum(one.requests for one in exits.all) == 24


async def test_counts_are_those_of_the_pool_and_are_taken_once() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        if name == "b":
            raise fault(request)
        return reply(request, body=b"12345")

    world = World(answer)
    fetcher, exits = world.fetcher("ab")
    with counting_proxies(True):
        for _ in range(4):
            await outcome(fetcher, "http://h.example/")
        taken = take_uses()
        assert take_uses() == ()
        await outcome(fetcher, "http://h.example/")
        [rest] = take_uses()
    assert take_uses() == ()
    assert [use.to_dict() for use in taken] == [
        {"proxy": 1, "id": exits.all[0].id, "requests": 3, "failures": {}, "received_bytes": 15},
        {"proxy": 2, "id": exits.all[1].id, "requests": 1, "failures": {"connect": 1}, "received_bytes": 0},
    ]
    assert (rest.id, rest.requests, rest.received_bytes) == (exits.all[0].id, 1, 5)
    assert taken[1].name == f"proxy 2 ({exits.all[1].id})"


async def test_a_missing_robots_txt_is_a_request_and_no_failure() -> None:
    def answer(world: World, name: str, request: HttpRequest) -> HttpResponse:
        return reply(request, status=404 if request.url.endswith("robots.txt") else 200)

    world = World(answer)
    fetcher, _ = world.fetcher("a", obey_robots=True)
    with counting_proxies(True) as tally:
        await outcome(fetcher, "http://h.example/")
    [use] = tally.take()
    assert (use.requests, use.failures) == (2, ())


def test_without_several_proxies_nothing_is_counted() -> None:
    with counting_proxies(False) as tally:
        assert take_uses() == ()
    assert tally.take() == ()
    assert dump_uses(()) is None
    assert load_uses(None) == ()


@given(st.lists(USES), st.integers(min_value=0))
def test_any_split_adds_up_to_the_same(uses: list[ProxyUse], cut: int) -> None:
    first, rest = uses[: cut % (len(uses) + 1)], uses[cut % (len(uses) + 1) :]
    stored = load_uses(dump_uses(added_uses((), first)))
    assert added_uses(stored, added_uses((), rest)) == added_uses((), uses)


@given(st.lists(st.integers(min_value=0, max_value=3 * MAX_PROXIES), max_size=4 * MAX_PROXIES))
def test_the_first_proxies_are_counted_separately_and_all_others_together(numbers: list[int]) -> None:
    tally = ProxyTally(ProxyUse(id=str(number), number=number + 1, requests=1) for number in numbers)
    first = [str(number) for number in dict.fromkeys(numbers)][:MAX_PROXIES]
    counted = {use.id: use.requests for use in tally.uses if use.id != OTHERS}
    assert counted == {name: numbers.count(int(name)) for name in first}
    assert sum(use.requests for use in tally.uses) == len(numbers)
    assert [use.number for use in in_list_order(tally.uses) if use.number == 0] in ([], [0])
    assert len(tally.uses) <= MAX_PROXIES + 1
