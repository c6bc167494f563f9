"""Settings, initial state and rows: what goes in and what comes out, without a database."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel, ValidationError

from agentic.core.types import JSONValue
from agentic.executors.errors import AgentConfigError
from agentic.mappers import AgentModel
from agentic.plugins.hackernews.executor import HackerNewsAgentExecutor, query_of
from agentic.plugins.hackernews.items import (
    HackerNewsItem,
    RankedItem,
    SearchQuery,
    StoryQuery,
    TreeQuery,
    UserQuery,
)
from agentic.plugins.hackernews.mapper import row_of
from agentic.plugins.hackernews.settings import HackerNewsSettings


def agent(**config: JSONValue) -> AgentModel:
    return AgentModel(
        id="a",
        project_id="p",
        agent_name="front page",
        agent_platform="hackernews",
        goals="ai, db",
        config=config,
    )


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"lists": "top"}, "lists"),
        ({"list": "front"}, "list"),
        ({"limit": 0}, "limit"),
        ({"limit": 501}, "limit"),
        ({"base_url": "ftp://example.org"}, "base_url"),
        ({"base_url": "https://user:secret@example.org"}, "base_url"),
        ({"requests_per_second": 0}, "requests_per_second"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_by_name(config: dict[str, object], key: str) -> None:
    with pytest.raises(ValidationError) as caught:
        HackerNewsSettings.model_validate(config)
    assert [fault["loc"] for fault in caught.value.errors()] == [(key,)]


@pytest.mark.parametrize(
    ("config", "advice"),
    [
        ({"mode": "search"}, "needs a query or tags"),
        ({"query": "db"}, "query is for a search"),
        ({"mode": "comments", "min_points": 3}, "min_points is for a search"),
        ({"mode": "users"}, "which needs them"),
        ({"users": ["pg"]}, "for mode users"),
        ({"items": [1]}, "for mode comments"),
        ({"mode": "comments", "items": [1], "tags": ["story"]}, "without a search"),
        ({"mode": "search", "tags": ["story"], "limit": 2_000, "sort": "relevance"}, "sort by date for more"),
        ({"mode": "search", "tags": ["story"], "days": 1, "since": "2026-01-01T00:00:00Z"}, "not both"),
        ({"mode": "search", "tags": ["story,poll"]}, "pattern"),
        ({"mode": "comments", "limit": 501}, "one run reads as many trees"),
    ],
)
def test_a_config_that_says_two_things_is_refused_with_advice(config: dict[str, object], advice: str) -> None:
    with pytest.raises(ValidationError, match=advice):
        HackerNewsSettings.model_validate(config)


def test_whatever_asks_algolia_keeps_to_ten_thousand_requests_an_hour() -> None:
    search: dict[str, object] = {"mode": "search", "query": "db"}

    def rate(**config: object) -> float | None:
        return HackerNewsSettings.model_validate({**search, **config}).policy().requests_per_second

    assert rate() == pytest.approx(10_000 / 3_600)
    assert rate(requests_per_second=50) == pytest.approx(10_000 / 3_600)
    assert rate(requests_per_second=1) == 1
    assert rate(algolia_url="http://127.0.0.1:8000/api/v1") is None
    assert HackerNewsSettings().policy().requests_per_second is None


@pytest.mark.parametrize(
    ("config", "query"),
    [
        (
            {"mode": "search", "query": "db", "days": 2, "until": "2026-01-03T00:00:00Z"},
            SearchQuery(query="db", since=1_767_139_200, until=1_767_398_400),
        ),
        ({"mode": "comments", "items": [3, 4]}, TreeQuery(items=(3, 4))),
        ({"mode": "comments", "list": "ask"}, TreeQuery(stories=StoryQuery(list="ask", limit=30))),
        ({"mode": "comments", "query": "db"}, TreeQuery(search=SearchQuery(query="db", tags=("story",)))),
        ({"mode": "users", "users": ["pg"]}, UserQuery(names=("pg",))),
    ],
)
def test_each_mode_asks_for_something_of_its_own(config: dict[str, object], query: BaseModel) -> None:
    settings = HackerNewsSettings.model_validate(config)
    assert query_of(settings, datetime(2026, 1, 2, tzinfo=UTC)) == query


def test_policy_carries_the_limits_of_the_settings() -> None:
    settings = HackerNewsSettings(
        requests_per_second=2, timeout_s=5, allow_private_hosts=("127.0.0.1:80",), list="new", limit=1
    )
    policy = settings.policy()
    assert (policy.requests_per_second, policy.timeout_s) == (2, 5)
    assert policy.allow_private_hosts == ("127.0.0.1:80",)


@pytest.mark.requirement("PL12", "PL43")
def test_initial_state_tells_name_goals_and_which_stories_are_wanted() -> None:
    executor = HackerNewsAgentExecutor(agent(list="show", limit=7), "e")
    assert executor.create_initial_state() == {
        "agent_name": "front page",
        "goals": ["ai", "db"],
        "query": {"list": "show", "limit": 7},
    }


def test_a_misconfigured_agent_is_named_with_the_key_that_is_wrong() -> None:
    with pytest.raises(AgentConfigError, match=r"'front page' .* limit: "):
        HackerNewsAgentExecutor(agent(limit=1000), "e").create_initial_state()


@pytest.mark.requirement("PL15", "PL43")
def test_a_row_has_plain_title_utc_time_and_the_answer_as_it_came() -> None:
    answer = {"id": 7, "title": "R&amp;D", "time": 1_700_000_000, "url": "", "kids": [8], "type": "job"}
    row = row_of(RankedItem(rank=3, item=HackerNewsItem.model_validate(answer)))
    assert row["title"] == "R&D"
    assert row["time"] == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert (row["url"], row["rank"], row["deleted"]) == (None, 3, False)
    assert row["raw"] == answer


def test_finding_the_plugin_loads_neither_database_nor_http_library() -> None:
    code = "import sys, agentic.plugins.hackernews; print({'sqlalchemy', 'aiohttp'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
