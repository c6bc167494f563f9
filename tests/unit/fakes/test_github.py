"""The parts of the fake GitHub that need no server."""

from __future__ import annotations

import pytest

from agentic.fakes.github.account import GithubAccount, GithubOrder
from agentic.fakes.github.archive import ATTIC, HARBOR, build_archive
from agentic.fakes.github.searching import fault_in, find_issues, find_repos


class World:
    """An account on a clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.account = GithubAccount(clock=lambda: self.now)

    def ask(self, who: str = "") -> int:
        """Ask once and return what is left."""
        return self.account.count(self.account.look(who, "core"), who).remaining


def test_requests_count_down_for_each_by_himself_until_the_window_ends() -> None:
    world = World()
    assert [world.ask(), world.ask(), world.ask("token")] == [59, 58, 4_999]
    world.now += 3_599
    assert world.ask() == 57
    world.now += 1
    assert world.ask() == 59


def test_an_order_leaves_so_many_until_the_window_ends_that_the_next_request_begins() -> None:
    world = World()
    world.ask()
    world.account.change(GithubOrder(remaining=1, reset_s=5))
    world.now += 60
    assert world.account.look("", "core").reset == 1_065
    assert [world.ask(), world.ask("token")] == [0, 0]
    world.now += 5
    assert world.ask() == 59


def test_a_secondary_limit_is_met_as_often_as_ordered() -> None:
    account = GithubAccount()
    account.change(GithubOrder(secondary=2, secondary_retry_after_s=3))
    orders = [account.take_secondary() for _ in range(3)]
    assert [order and order.secondary_retry_after_s for order in orders] == [3, 3, None]


@pytest.mark.parametrize("query", ["", "  ", "x" * 257, "a AND b OR c NOT d OR e OR f AND g"])
def test_a_query_that_asks_nothing_or_too_much_is_refused(query: str) -> None:
    assert fault_in(query)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        (f"repo:{ATTIC}", 1_100),
        (f"repo:{HARBOR} repo:{ATTIC}", 1_230),
        (f"repo:{HARBOR} is:open is:closed", 0),
        (f"repo:{HARBOR} no-such-word", 0),
        ('repo:octo/harbor "unbalanced', 0),
    ],
)
def test_issues_are_found_by_words_and_qualifiers(query: str, count: int) -> None:
    assert len(find_issues(build_archive(1).values(), query)) == count


@pytest.mark.parametrize(("query", "fits"), [("stars:>=0", True), ("stars:<0", False), ("stars:many", False)])
def test_repositories_are_found_by_stars(query: str, fits: bool) -> None:
    assert bool(find_repos(build_archive(1).values(), query)) is fits


def test_the_same_seed_gives_the_same_archive_and_another_one_another() -> None:
    one, same, other = (build_archive(seed)[HARBOR].issues for seed in (1, 1, 2))
    assert one == same
    assert one != other
