"""What ``agentic doctor`` says of the feeds that agents watch, without asking any; on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from agentic.core.hooks import Finding, Severity
from agentic.core.http import url_key
from agentic.core.types import JSONValue
from agentic.mappers import (
    AgentModel,
    Database,
    add_agent,
    add_project,
    create_execution,
    find_project,
    get_result_mapper,
)
from agentic.mappers.vault.keys import SecretKeys
from agentic.plugins.feed.executor import AGENTS, MOST_TOLD, results_of
from agentic.plugins.feed.polls import FeedState, Poll, PollOutcome, Polls

pytestmark = pytest.mark.integration

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)


@pytest.fixture
def database(whole_url: str) -> Iterator[Database]:
    opened = Database(whole_url)
    with opened.writing() as session:
        add_project(session, "blogs")
        add_project(session, "others")
    yield opened
    opened.dispose()


def url(name: str) -> str:
    return f"https://{name}.test/feed?key=secret"


def state(name: str, **fields: object) -> FeedState:
    return FeedState.model_validate({"id": url_key(url(name)), "url": url(name), "title": name, **fields})


def failing(name: str, failures: int = 2) -> FeedState:
    return state(name, failures=failures, last_error="away", next_poll_at=NOW)


def add(database: Database, name: str = "watch", project: str = "blogs", **config: JSONValue) -> AgentModel:
    with database.writing() as session:
        return add_agent(session, find_project(session, project), name, "feed", config)


def polled(database: Database, agent: AgentModel, *feeds: FeedState) -> None:
    polls = Polls(polls=tuple(Poll(feed=feed, outcome=PollOutcome.FAILED) for feed in feeds))
    with database.joined() as session:
        execution = create_execution(session, agent)
        assert get_result_mapper("feed", session, execution.id, agent).save_results(results_of(polls))


def told(database: Database) -> list[Finding]:
    return list(AGENTS.findings_in(database, SecretKeys()))


def test_feeds_that_fail_or_are_gone_are_told_with_their_agent(database: Database) -> None:
    agent = add(database, feeds=[url("fine"), url("away"), url("gone"), url("new")])
    gone = state("gone", disabled_at=NOW, last_error="410")
    polled(database, agent, state("fine"), failing("away"), gone)
    away, off = told(database)
    assert {away.severity, off.severity} == {Severity.WARNING}
    start = "agent 'watch' of project 'blogs' watches feed "
    assert away.text.startswith(start)
    assert "'away' at https://away.test/feed, which failed (2 in a row)" in away.text
    assert "next attempt after 2026-11-02 09:00 UTC: away" in away.text
    assert "'gone' at https://gone.test/feed, which is gone (410) since 2026-11-02" in off.text
    assert "remove it from the list, or set ask_disabled" in off.text
    assert "secret" not in away.text + off.text


def test_feeds_that_nobody_watches_any_more_are_not_told(database: Database) -> None:
    agent = add(database, feeds=[url("fine")])
    polled(database, agent, failing("dropped"))
    stranger = add(database, "theirs", "others", feeds=[url("fine")])
    polled(database, stranger, failing("fine"))
    (finding,) = told(database)
    assert "agent 'theirs' of project 'others'" in finding.text


def test_feeds_of_an_opml_are_those_that_its_agent_asked(database: Database) -> None:
    agent = add(database, opml="https://lists.test/feeds.opml")
    polled(database, agent, failing("away"))
    assert ["'away'" in finding.text for finding in told(database)] == [True]


def test_the_worst_feeds_are_told_and_the_others_counted(database: Database) -> None:
    names = [f"f{number}" for number in range(MOST_TOLD + 2)]
    agent = add(database, feeds=[url(name) for name in names])
    polled(database, agent, *(failing(name, failures) for failures, name in enumerate(names, start=1)))
    *shown, rest = told(database)
    assert len(shown) == MOST_TOLD
    assert f"failed ({MOST_TOLD + 2} in a row)" in shown[0].text
    assert rest.text == "agent 'watch' of project 'blogs' watches 2 more feeds that fail or are gone"
