"""The pure chooser of exits: fair, never a resting exit while another is free, longer and longer rests."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from agentic.core.http.exits.health import (
    FIRST_REST_S,
    LONGEST_REST_S,
    MAX_HOSTS,
    Choice,
    Health,
    Order,
    Rest,
    choose,
    next_rest,
)
from agentic.core.http.policy import Rotation

NOW = 1_000.0
HOST = "h.example:443"
ROTATIONS: tuple[Rotation, ...] = ("round_robin", "random", "sticky_host")

rests = st.one_of(
    st.none(),
    st.builds(
        Rest,
        began=st.just(NOW - 50),
        until=st.floats(NOW - 20, NOW + 100),
        strikes=st.integers(1, 5),
        failure_class=st.just("connect"),
        is_firm=st.booleans(),
    ),
)


@st.composite
def healths(draw: st.DrawFn) -> Health:
    found = Health(whole=draw(rests))
    for host in (HOST, "other:80"):
        if (rest := draw(rests)) is not None:
            found.hosts[host] = rest
    return found


def is_firmly_resting(health: Health, host: str | None) -> bool:
    kept = [health.whole, health.hosts.get(host) if host else None]
    return any(rest is not None and rest.is_firm and rest.until > NOW for rest in kept)


@given(
    st.lists(healths(), min_size=1, max_size=8),
    st.sampled_from(ROTATIONS),
    st.sampled_from([HOST, "other:80", "new:1", None]),
    st.randoms(use_true_random=False),
)
def test_no_exit_is_used_while_it_rests_if_another_is_free(
    health: list[Health], rotation: Rotation, host: str | None, random: Random
) -> None:
    order = Order([str(index) for index in range(len(health))], rotation, random.randrange)
    chosen = choose(health, order.for_site(lambda: "h.example"), host, NOW)
    resting = [is_firmly_resting(one, host) for one in health]
    if all(resting):
        ends = [rest.until for one in health if (rest := one.rest_at(host, NOW)) is not None]
        assert chosen.wait_s == min(ends) - NOW > 0
    else:
        assert chosen.wait_s == 0
        assert not resting[chosen.index]


@given(st.lists(healths(), min_size=1, max_size=8))
def test_a_doubtful_exit_is_used_only_if_no_other_is_free(health: list[Health]) -> None:
    chosen = choose(health, range(len(health)), HOST, NOW)
    assume(not chosen.wait_s)
    free = [
        one.rest_at(HOST, NOW) is None and one.rest_at(HOST, NOW, is_firm=False) is None for one in health
    ]
    assert free[chosen.index] or not any(free)


@given(st.integers(1, 9), st.sets(st.integers(0, 8)), st.integers(1, 200))
def test_round_robin_gives_all_free_exits_the_same_share(count: int, broken: set[int], requests: int) -> None:
    health = [Health() for _ in range(count)]
    for index in broken & set(range(count)):
        health[index].whole = Rest(NOW, NOW + 60, 1, "connect", True)
    free = count - len(broken & set(range(count)))
    assume(free)
    order, used = (
        Order([str(index) for index in range(count)], "round_robin", Random(1).randrange),
        Counter[int](),
    )
    for _ in range(requests):
        chosen = choose(health, order.for_site(str), HOST, NOW)
        order.used(chosen.index)
        used[chosen.index] += 1
    assert not any(used[index] for index in broken)
    shares = [used[index] for index in range(count) if index not in broken]
    assert max(shares) - min(shares) <= 1


def test_random_gives_the_share_of_a_resting_exit_to_all_others() -> None:
    health = [Health() for _ in range(5)]
    health[2].whole = Rest(NOW, NOW + 60, 1, "connect", True)
    order, used = Order("abcde", "random", Random(27).randrange), Counter[int]()
    for _ in range(4_000):
        used[choose(health, order.for_site(str), HOST, NOW).index] += 1
    assert used[2] == 0
    assert all(850 < used[index] < 1_150 for index in (0, 1, 3, 4))


@given(st.lists(st.uuids(), min_size=2, max_size=12, unique=True), st.text(min_size=1))
def test_a_site_keeps_its_exit_and_only_moves_when_that_one_rests(ids: list[object], site: str) -> None:
    names = [str(one) for one in ids]
    health = [Health() for _ in names]
    order = Order(names, "sticky_host", Random(1).randrange)
    first = choose(health, order.for_site(lambda: site), HOST, NOW).index
    for index in range(len(names)):
        if index != first:
            health[index].whole = Rest(NOW, NOW + 60, 1, "connect", True)
    assert choose(health, order.for_site(lambda: site), HOST, NOW) == Choice(first)
    # The order of the list, and the process, do not matter.
    turned = Order(names[::-1], "sticky_host", Random(2).randrange)
    assert names[::-1][next(iter(turned.for_site(lambda: site)))] == names[first]


def test_sites_are_spread_over_all_exits() -> None:
    order = Order([f"exit-{number}" for number in range(4)], "sticky_host", Random(1).randrange)
    used = Counter(order.for_name(f"site{number}.example")[0] for number in range(400))
    assert all(60 < used[index] < 140 for index in range(4))


def test_each_rest_is_twice_as_long_up_to_the_longest() -> None:
    rest: Rest | None = None
    now, found = NOW, []
    for _ in range(10):
        rest = next_rest(rest, sent_at=now, now=now, failure_class="connect")
        found.append(rest.until - now)
        now = rest.until
    assert found[:4] == [FIRST_REST_S * factor for factor in (1, 2, 4, 8)]
    assert found[-1] == LONGEST_REST_S


def test_requests_that_fail_together_are_one_fault() -> None:
    first = next_rest(None, sent_at=NOW - 1, now=NOW, failure_class="connect")
    rest = first
    for late_s in range(1, 10):
        rest = next_rest(rest, sent_at=NOW - 1, now=NOW + late_s * 0.1, failure_class="connect")
    assert (rest.strikes, rest.until) == (1, first.until)


@given(rests, st.floats(-100, 0), st.booleans(), st.one_of(st.none(), st.floats(0.1, 5_000)))
def test_a_fault_never_shortens_a_rest(
    earlier: Rest | None, sent: float, is_firm: bool, asked_s: float | None
) -> None:
    rest = next_rest(
        earlier, sent_at=NOW + sent, now=NOW, failure_class="connect", is_firm=is_firm, asked_s=asked_s
    )
    if earlier is not None and earlier.until > NOW:
        assert rest.until >= earlier.until
        assert rest.is_firm >= earlier.is_firm
    if asked_s is not None:
        assert rest.until >= NOW + asked_s


def test_a_success_ends_the_rests_that_it_disproves() -> None:
    rest = Rest(NOW, NOW + 60, 3, "connect", True)
    health = Health(whole=rest, failures=3)
    health.rest(HOST, rest)
    health.answered(NOW - 1)
    health.welcomed(HOST, NOW - 1)  # sent before the fault: says nothing
    assert (health.whole, health.hosts[HOST], health.failures) == (rest, rest, 0)
    health.answered(NOW + 1)
    health.welcomed(HOST, NOW + 1)
    assert (health.whole, len(health.hosts)) == (None, 0)


def test_an_exit_forgets_the_hosts_that_refused_it_long_ago() -> None:
    health = Health()
    for number in range(MAX_HOSTS + 10):
        health.rest(f"h{number}:80", Rest(NOW, NOW + 60, 1, "blocked", True))
    assert len(health.hosts) == MAX_HOSTS
    assert "h9:80" not in health.hosts
