from __future__ import annotations

from datetime import date

import pytest
from tests.clocks import Clock

from agentic.fakes.jobs.board import PER_PAGE, Board, page_of
from agentic.fakes.jobs.sessions import Sessions
from agentic.fakes.jobs.tokens import Tokens


def test_offers_come_newest_first_and_the_same_for_the_same_seed() -> None:
    jobs = [*Board(seed=4).jobs.values()]
    assert jobs == [*Board(seed=4).jobs.values()] != [*Board(seed=5).jobs.values()]
    dates: list[date] = [job.posted for job in jobs]
    assert dates == sorted(dates, reverse=True)
    assert {job.salary is None for job in jobs} == {True, False}


def test_a_search_wants_every_word_somewhere_in_the_offer() -> None:
    board = Board()
    found = board.search("PYTHON berlin")
    assert 0 < len(found) < len(board.jobs)
    for job in found:
        assert "python" in f"{job.title} {job.skills}".casefold()
        assert job.location == "Berlin"
    assert board.search("python cobol") == []
    assert len(board.search("")) == len(board.jobs)


def test_pages_of_a_search_hold_everything_once() -> None:
    found, seen, number = Board(jobs=25).search(""), list[int](), 1
    following: int | None = 1
    while following:
        number = following
        jobs, following = page_of(found, number)
        seen += [job.number for job in jobs]
        assert len(jobs) <= PER_PAGE
    assert number == 3
    assert sorted(seen) == [*range(1, 26)]


def test_a_session_admits_until_it_is_closed_or_expires() -> None:
    sessions = Sessions()
    one, other = sessions.open(), sessions.open()
    assert sessions.admit(one)
    assert sessions.admit(other)
    sessions.close(one)
    assert (sessions.admit(one), sessions.admit(other)) == (False, True)
    sessions.expire()
    assert not sessions.admit(other)
    assert not sessions.admit(None)


def test_a_limited_session_ends_after_so_many_requests() -> None:
    sessions = Sessions()
    sessions.limit(2)
    name = sessions.open()
    assert [sessions.admit(name) for _ in range(4)] == [True, True, False, False]
    sessions.reset()
    name = sessions.open()
    assert all(sessions.admit(name) for _ in range(4))


def test_an_access_token_ends_with_its_lifetime() -> None:
    clock = Clock(100.0)
    tokens = Tokens(clock)
    tokens.live(60)
    grant = tokens.issue()
    assert grant.expires_in == 60
    clock.now += 59.9
    assert tokens.admit(grant.access_token)
    clock.now += 0.2
    assert not tokens.admit(grant.access_token)


def test_a_refresh_token_is_good_once_and_outlives_expiry() -> None:
    tokens = Tokens()
    grant = tokens.issue()
    tokens.expire()
    assert not tokens.admit(grant.access_token)
    renewed = tokens.refresh(grant.refresh_token)
    assert renewed is not None
    assert tokens.admit(renewed.access_token)
    assert tokens.refresh(grant.refresh_token) is None


@pytest.mark.parametrize("token", [None, "", "guessed"])
def test_a_token_nobody_issued_opens_nothing(token: str | None) -> None:
    assert not Tokens().admit(token)
