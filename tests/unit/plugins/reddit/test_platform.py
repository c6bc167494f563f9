"""Settings, initial state and targets: what goes in and what is read for it, without a database."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import ValidationError

from agentic.core.http import HttpPolicy
from agentic.core.types import JSONValue
from agentic.mappers import AgentModel
from agentic.plugins.reddit.executor import RedditAgentExecutor, query_of
from agentic.plugins.reddit.planning import targets_of, trees_of
from agentic.plugins.reddit.reading.items import Found
from agentic.plugins.reddit.settings import RedditSettings

LOGIN: dict[str, JSONValue] = {"client_id": "app", "client_secret": "${secrets.s}", "contact": "ada"}
OAUTH: dict[str, JSONValue] = {"mode": "oauth", **LOGIN}


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({}, "mode"),
        ({"mode": "json", "subreddits": ["a1"]}, "'oauth', 'feed', 'archive' or 'browser'"),
        ({"mode": "oauth", "subreddits": ["a1"]}, "needs client_id, client_secret, contact"),
        ({**OAUTH, "grant": "password", "subreddits": ["a1"]}, "needs username, password"),
        ({**OAUTH, "grant": "refresh_token", "subreddits": ["a1"]}, "needs refresh_token"),
        ({**OAUTH, "client_secret": "s3cr3t", "subreddits": ["a1"]}, "name a stored secret"),
        ({**OAUTH, "password": "s3cr3t", "subreddits": ["a1"]}, "name a stored secret"),
        (OAUTH, "read posts needs subreddits, users or a query"),
        ({**OAUTH, "subreddits": ["a1"], "ids": ["x"]}, "and no ids"),
        ({**OAUTH, "subreddits": ["r/a1"]}, "pattern"),
        ({**OAUTH, "subreddits": ["a1+"]}, "pattern"),
        ({**OAUTH, "users": ["a/b"]}, "pattern"),
        ({**OAUTH, "subreddits": ["a1"], "limit": 1_001}, "1000"),
        ({**OAUTH, "subreddits": ["a1"], "sort": "relevance"}, "sort relevance is not available here"),
        ({**OAUTH, "query": "x", "sort": "rising"}, "sort rising is not available here"),
        ({**OAUTH, "users": ["ada"], "sort": "rising"}, "sort rising is not available here"),
        ({**OAUTH, "subreddits": ["a1"], "t": "day"}, "t is for sort top"),
        ({**OAUTH, "users": ["ada"], "query": "x"}, "author:NAME"),
        ({**OAUTH, "subreddits": ["a1"], "days": 3}, "days are for read scores"),
        ({**OAUTH, "read": "comments"}, "read comments needs either ids"),
        ({**OAUTH, "read": "comments", "ids": ["x"], "subreddits": ["a1"]}, "either ids"),
        ({**OAUTH, "read": "comments", "ids": ["t1_x"]}, "ids of posts"),
        ({**OAUTH, "read": "comments", "subreddits": ["a1"], "limit": 100}, "20,000 rows in one run"),
        ({**OAUTH, "subreddits": [f"a{n}" for n in range(10, 16)], "limit": 1_000}, "6,000 rows in one run"),
        ({**OAUTH, "read": "scores"}, "read scores needs either ids or days"),
        ({**OAUTH, "read": "scores", "ids": ["x"], "days": 3}, "either ids or days"),
        ({**OAUTH, "read": "scores", "days": 3, "sort": "new"}, "read scores has no sort"),
        ({**OAUTH, "read": "subreddits"}, "read subreddits needs a list of single subreddits"),
        ({**OAUTH, "read": "subreddits", "subreddits": ["a1+b1"]}, "single subreddits only"),
        ({"mode": "feed", "read": "comments", "ids": ["x"]}, "feed cannot read comments; archive and oauth"),
        ({"mode": "archive", "read": "subreddits", "subreddits": ["a1"]}, "oauth can"),
        ({"mode": "browser", "query": "x"}, "mode browser cannot search"),
        ({"mode": "feed", "subreddits": ["a1"], "limit": 101}, "a feed has 100 entries at most"),
        ({"mode": "feed", "subreddits": ["a1"], "feed_user": "ada"}, "need each other"),
        ({"mode": "archive", "query": "x"}, "searches in subreddits only"),
        ({"mode": "archive", "subreddits": ["a1+b1"]}, "the archive needs single subreddits"),
        ({"mode": "archive", "subreddits": ["a1"], "sort": "top"}, "sort new only"),
        ({"mode": "feed", "subreddits": ["a1"], "base_url": "https://u:s3cr3t@h"}, "pattern"),
        ({"mode": "feed", "subreddits": ["a1"], "subreddit": "x"}, "Extra"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_without_a_secret_in_the_reason(
    config: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        RedditSettings.model_validate(config)
    assert reason in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


def test_the_policy_has_reddits_user_agent_and_asks_one_after_the_other() -> None:
    policy = RedditSettings.model_validate({**OAUTH, "subreddits": ["a1"], "app": "news.bot"}).policy()
    assert policy.user_agent == f"{sys.platform}:news.bot:1 (by /u/ada)"
    assert (policy.max_connections_per_host, policy.obey_robots, policy.max_wait_s) == (1, False, 30)
    assert HttpPolicy.model_validate(policy.model_dump()) == policy


def test_feeds_keep_a_minute_apart_and_only_pages_ask_robots_txt() -> None:
    feed = RedditSettings(mode="feed", subreddits=("a1",)).policy()
    assert feed.requests_per_second == pytest.approx(1 / 60)
    assert not feed.obey_robots
    assert RedditSettings(mode="browser", subreddits=("a1",)).policy().obey_robots
    assert not RedditSettings(mode="browser", subreddits=("a1",), obey_robots=False).policy().obey_robots


def test_credentials_are_named_and_never_part_of_the_state() -> None:
    config: dict[str, JSONValue] = {**OAUTH, "subreddits": ["a1"], "sort": "top", "t": "day"}
    agent = AgentModel(id="a", project_id="p", agent_name="rd", agent_platform="reddit", config=config)
    executor = RedditAgentExecutor(agent, "e")
    assert executor.account() == "reddit/app"
    assert executor.create_initial_state() == {
        "agent_name": "rd",
        "goals": [],
        "query": {"subreddits": ["a1"], "sort": "top", "t": "day"},
    }


def test_each_place_is_a_target_and_each_once() -> None:
    settings = RedditSettings(mode="feed", subreddits=("Python", "python", "b1+c1"), users=("ada",), limit=7)
    found = [(one.what, one.name, one.sort, one.limit) for one in targets_of(query_of(settings))]
    assert found == [
        ("listing", "python", "new", 7),
        ("listing", "b1+c1", "new", 7),
        ("user", "ada", "new", 7),
    ]


def test_a_query_is_a_search_in_each_subreddit_or_everywhere() -> None:
    within = RedditSettings(mode="feed", subreddits=("a1", "b1"), query="x", sort="relevance", t="week")
    found = targets_of(query_of(within))
    assert [(one.what, one.name, one.query, one.sort, one.t) for one in found] == [
        ("search", "a1", "x", "relevance", "week"),
        ("search", "b1", "x", "relevance", "week"),
    ]
    everywhere = targets_of(query_of(RedditSettings(mode="feed", query="x")))
    assert [(one.what, one.name) for one in everywhere] == [("search", "")]


def test_scores_are_read_a_hundred_at_a_time() -> None:
    settings = RedditSettings.model_validate({**OAUTH, "read": "scores", "days": 3})
    known = tuple(f"t3_{number}" for number in range(230))
    assert [len(one.ids) for one in targets_of(query_of(settings, known))] == [100, 100, 30]
    assert targets_of(query_of(settings)) == []


def test_trees_are_those_of_the_posts_that_were_found() -> None:
    found = Found(
        posts=({"name": "t3_a"}, {"id": "b"}, {"name": "t3_a"}, {"title": "no id"}, {"name": ["x"]})
    )
    assert [(one.what, one.name) for one in trees_of(found)] == [("tree", "t3_a"), ("tree", "t3_b")]


def test_finding_the_plugin_loads_neither_database_nor_http_library() -> None:
    code = "import sys, agentic.plugins.reddit; print({'sqlalchemy', 'aiohttp'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
