"""Settings, initial state and rows: what goes in and what comes out, without a database."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from agentic.core.types import JSONValue
from agentic.executors.errors import AgentConfigError
from agentic.mappers import AgentModel
from agentic.plugins.hackernews.executor import HackerNewsAgentExecutor
from agentic.plugins.hackernews.items import HackerNewsItem, RankedItem
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
