"""Tests of somebody else's, who has our wheel alone: what the example's own ones leave out.

``test_wheels.py`` copies this file to where nothing else of this project is, and runs both there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from agentic_plugin_quotes.executor import read
from agentic_plugin_quotes.models import QuoteModel
from sqlalchemy import select

from agentic.core.actors.aggregate import AggregateActor
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.graph import Executor
from agentic.core.types import JSONValue
from agentic.executors.testing import (
    ActorContract,
    ExecutorContract,
    Home,
    PlatformContract,
    RunAgent,
    Secrets,
    Site,
)
from agentic.mappers import Database, add_project, find_project

if TYPE_CHECKING:
    from agentic.fakes.server import FakeServer

QUOTES: list[dict[str, JSONValue]] = [{"id": "1", "text": "One"}, {"id": "2", "text": "Two"}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "quotes.json"
    path.write_text(json.dumps(QUOTES), encoding="utf-8")
    return path


class TestRead(ExecutorContract):
    @pytest.fixture
    def executor(self) -> Executor:
        return read

    @pytest.fixture
    def message(self, path: Path) -> object:
        return path

    @pytest.fixture
    def outputs(self) -> list[object]:
        return [QUOTES]


class TestAggregate(ActorContract):
    actor = AggregateActor

    @pytest.fixture
    def given(self) -> dict[str, JSONValue]:
        return {"items": [*QUOTES], "key": "id"}


class Nowhere(PlatformContract):
    platform = "nowhere"


def test_a_contract_that_is_broken_shows_what_it_found() -> None:
    with pytest.raises(AssertionError, match=r"'nowhere' in \{"):
        Nowhere().test_it_is_found_with_nothing_wrong()


def test_a_database_has_the_tables_of_our_plugin_and_no_row(agentic_database: Database) -> None:
    with agentic_database.reading() as session:
        assert session.scalars(select(QuoteModel)).all() == []


def test_each_kind_of_database_is_an_empty_one(agentic_each_database: Database) -> None:
    with agentic_each_database.writing() as session:
        assert find_project(session, add_project(session, "ours").name).name == "ours"


def test_a_platform_is_given_a_secret_and_asks_a_site_with_it(
    agentic_secrets: Secrets, agentic_site: Site, run_agent: RunAgent
) -> None:
    agentic_secrets.set("theirs", "a-token")
    agentic_site.fail("/repos/them/it", status=404)
    config: dict[str, JSONValue] = {
        "base_url": agentic_site.url,
        "allow_private_hosts": [agentic_site.host],
        "repos": ["them/it"],
        "token": "${secrets.theirs}",
    }

    ran = run_agent("github", config)

    assert "a-token" in agentic_site.headers[0]["authorization"]
    assert "a-token" not in str(ran.outcome)


async def test_a_nats_server_is_there(agentic_nats: str) -> None:
    bus = NatsBus(agentic_nats)
    assert (await bus.state()).count == 0
    await bus.aclose()


def test_the_fakes_are_read(agentic_fakes: FakeServer, run_agent: RunAgent) -> None:
    config: dict[str, JSONValue] = {
        "base_url": agentic_fakes.hackernews_url,
        "allow_private_hosts": ["127.0.0.1"],
        "limit": 5,
    }

    assert run_agent("hackernews", config).outcome.counts.inserted == 5


def test_a_worker_runs_an_agent_of_ours(agentic_home: Home, path: Path) -> None:
    agentic_home.agentic("agents", "add", "ours", "--platform", "quotes", "--config", f"path={path}")
    queued = json.loads(agentic_home.agentic("run", "ours", "--dispatcher", "celery", "--json"))

    watched = agentic_home.agentic("executions", "watch", queued["execution_id"])

    assert "is completed" in watched
