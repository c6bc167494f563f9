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
from agentic.plugins.feed.executor import FeedAgentExecutor, doctor
from agentic.plugins.feed.identity import entry_key
from agentic.plugins.feed.mapper import entry_row
from agentic.plugins.feed.settings import FeedSettings

URL = "https://blog.test/feed.xml"


def agent(**config: JSONValue) -> AgentModel:
    return AgentModel(
        id="a", project_id="p", agent_name="blogs", agent_platform="feed", goals="ai, db", config=config
    )


@pytest.mark.requirement("PL39")
@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ({}, "no feeds to watch"),
        ({"feeds": [URL], "feed": 1}, "feed"),
        ({"feeds": ["blog.test"]}, "feed 0: "),
        ({"feeds": [URL, "ftp://blog.test/"]}, "feed 1: "),
        ({"feeds": ["https://me:secret@blog.test/"]}, "feed 0 has a user name"),
        ({"feeds": [URL], "min_interval_s": 899}, "min_interval_s"),
        ({"feeds": [URL], "min_interval_s": 86_401}, "min_interval_s"),
        ({"feeds": [URL], "max_entries": 0}, "max_entries"),
        ({"opml": ""}, "opml"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_by_name(config: dict[str, object], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        FeedSettings.model_validate(config)


def test_policy_is_polite_unless_told_otherwise() -> None:
    assert FeedSettings(feeds=(URL,)).policy().obey_robots
    policy = FeedSettings(feeds=(URL,), obey_robots=False, timeout_s=5, requests_per_second=2).policy()
    assert (policy.obey_robots, policy.timeout_s, policy.requests_per_second) == (False, 5, 2)


@pytest.mark.requirement("PL43")
def test_initial_state_tells_name_goals_and_which_feeds_are_wanted() -> None:
    assert FeedAgentExecutor(agent(feeds=[URL], ignore_schedule=True), "e").create_initial_state() == {
        "agent_name": "blogs",
        "goals": ["ai", "db"],
        "watch": {
            "feeds": [URL],
            "opml": None,
            "ignore_schedule": True,
            "ask_disabled": False,
            "max_polls": 250,
        },
    }


def test_without_its_libraries_an_agent_is_refused_and_the_doctor_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert list(doctor()) == []
    monkeypatch.setitem(sys.modules, "feedparser", None)
    with pytest.raises(AgentConfigError, match=r"pip install 'agentic-pipelines\[feeds\]'"):
        FeedAgentExecutor(agent(feeds=[URL]), "e").validate()
    (finding,) = doctor()
    assert (finding.severity, "agentic-pipelines[feeds]" in finding.text) == ("warning", True)


@pytest.mark.parametrize(
    ("item", "key"),
    [
        ({"id": "tag:1", "url": "https://b.test/1"}, "tag:1"),
        ({"id": None, "url": "https://b.test/1", "title": "T"}, "https://b.test/1"),
        ({"title": "T", "published": "2026-11-02"}, "sha256:"),
        ({"id": "x" * 256}, "sha256:"),
        ({"id": "x" * 255}, "x" * 255),
    ],
)
def test_an_entry_is_known_by_its_id_else_its_link_else_by_title_and_time(
    item: dict[str, JSONValue], key: str
) -> None:
    assert entry_key(item).startswith(key)
    assert len(entry_key(item)) <= 255


def test_entries_of_one_title_at_two_times_are_two() -> None:
    keys = {entry_key({"title": "Notes", "published": day}) for day in ("2026-11-01", "2026-11-02", None)}
    assert len(keys) == 3


@pytest.mark.requirement("PL43")
def test_a_row_has_utc_times_and_leaves_out_what_the_feed_does_not_say() -> None:
    item: dict[str, JSONValue] = {
        "id": "1",
        "url": "https://b.test/1",
        "published": "2026-11-02T10:00:00+01:00",
        "updated": "yesterday",
        "tags": [],
        "enclosures": [{"url": "https://b.test/1.mp3", "type": "audio/mpeg", "length": 3}],
        "content": "<p>long</p>",
    }
    row = entry_row("f", item)
    assert row["published_at"] == datetime(2026, 11, 2, 9, tzinfo=UTC)
    assert (row["updated_at"], row["categories"], row["title"]) == (None, None, None)
    assert row["enclosures"] == item["enclosures"]
    assert row["raw"] == {name: value for name, value in item.items() if name != "content"}


def test_finding_the_plugin_loads_neither_database_nor_http_library() -> None:
    code = "import sys, agentic.plugins.feed; print({'sqlalchemy', 'aiohttp'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
