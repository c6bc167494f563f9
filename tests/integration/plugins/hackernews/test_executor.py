"""Hacker News agents as executions: fake API, real HTTP, real database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select
from tests.databases import only_sqlite

from agentic.core.types import SaveCounts
from agentic.fakes.control import Fault
from agentic.fakes.hackernews.items import build_archive
from agentic.fakes.server import FakeServer
from agentic.mappers import AgentResultModel, Database, ExecutionStatus
from agentic.plugins.hackernews.models import HackerNewsItemModel
from agentic.plugins.hackernews.settings import MAX_PARALLEL

if TYPE_CHECKING:
    from tests.integration.plugins.hackernews.conftest import RunAgent

pytestmark = [pytest.mark.integration, only_sqlite]

STORY_COUNT = 120


@pytest.fixture
def fakes() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=STORY_COUNT) as server:
        yield server


def ids(database: Database) -> list[int]:
    with database.reading() as session:
        return list(session.scalars(select(HackerNewsItemModel.id).order_by(HackerNewsItemModel.rank)))


@pytest.mark.requirement("PL12", "PL15", "PL45")
async def test_top_stories_become_rows_in_the_order_of_the_front_page(
    database: Database, run_agent: RunAgent
) -> None:
    outcome = await run_agent(limit=30)
    archive = build_archive(seed=1, stories=STORY_COUNT)
    assert outcome.status is ExecutionStatus.SUCCEEDED
    assert outcome.counts == SaveCounts(inserted=29)
    assert ids(database) == [number for number in archive.front[:30] if number in archive.items]


async def test_the_graph_of_the_agent_is_part_of_the_execution(run_agent: RunAgent) -> None:
    around, inside = ["prepare", "execute", "save"], ["list_stories", "fetch_item", "collect"]
    assert (await run_agent(limit=3)).superstep_count == len(around) + len(inside)


async def test_the_story_that_is_gone_is_the_one_warning(database: Database, run_agent: RunAgent) -> None:
    outcome = await run_agent(limit=30)
    (warning,) = outcome.warnings
    assert warning.endswith("is gone; the next run reads the list again")
    with database.reading() as session:
        (summary,) = session.scalars(select(AgentResultModel.summary))
    assert summary == {"stories_count": 29, "unread_count": 1, "warnings": [warning]}


@pytest.mark.requirement("PL28")
async def test_running_the_agent_again_changes_no_row(database: Database, run_agent: RunAgent) -> None:
    outcome = await run_agent(times=2, limit=30)
    assert outcome.counts == SaveCounts(unchanged=29)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(HackerNewsItemModel)) == 29


@pytest.mark.parametrize("name", ["new", "best", "ask", "show", "job"])
async def test_other_lists_are_read_too(run_agent: RunAgent, name: str) -> None:
    outcome = await run_agent(list=name, limit=5)
    assert outcome.status is ExecutionStatus.SUCCEEDED
    assert outcome.counts.inserted + len(outcome.warnings) >= 1


async def test_items_are_read_twenty_at_a_time(run_agent: RunAgent, fakes: FakeServer) -> None:
    fakes.control.add(Fault(path="/hackernews/v0/item/*", delay_s=0.5, times=None))
    await run_agent(limit=25)
    assert fakes.control.stats()["peak_in_flight"] == MAX_PARALLEL


@pytest.mark.requirement("PL30", "PL46")
async def test_items_the_server_fails_on_for_good_are_warnings_and_counted(
    database: Database, run_agent: RunAgent, fakes: FakeServer
) -> None:
    first, second = build_archive(seed=1, stories=STORY_COUNT).front[:2]
    fakes.control.add(Fault(path=f"/hackernews/v0/item/{first}.json", status=500, times=None))
    fakes.control.add(Fault(path=f"/hackernews/v0/item/{second}.json", truncate=5, times=None))
    outcome = await run_agent(limit=10)
    assert outcome.status is ExecutionStatus.SUCCEEDED
    assert outcome.counts == SaveCounts(inserted=8)
    assert ["http_500" in warning for warning in outcome.warnings] == [True, False]
    with database.reading() as session:
        (summary,) = session.scalars(select(AgentResultModel.summary))
    assert summary["unread_count"] == 2


@pytest.mark.requirement("PL30", "PL46")
@pytest.mark.parametrize(
    "fault",
    [
        Fault(path="/hackernews/v0/topstories.json", status=503),
        Fault(path="/hackernews/v0/topstories.json", status=429, retry_after_s=1),
        Fault(path="/hackernews/v0/item/*", status=503, times=2),
        Fault(path="/hackernews/v0/item/*", truncate=5),
    ],
    ids=["list", "limit", "items", "broken off"],
)
async def test_what_passes_is_tried_again_and_nothing_is_missing(
    run_agent: RunAgent, fakes: FakeServer, fault: Fault
) -> None:
    fakes.control.add(fault)
    outcome = await run_agent(limit=5)
    assert (outcome.status, outcome.warnings) == (ExecutionStatus.SUCCEEDED, ())
    assert outcome.counts == SaveCounts(inserted=5)


@pytest.mark.requirement("PL46")
async def test_a_list_that_cannot_be_read_fails_the_execution_and_stores_nothing(
    database: Database, run_agent: RunAgent, fakes: FakeServer
) -> None:
    fakes.control.add(Fault(path="/hackernews/v0/topstories.json", status=503, times=None))
    outcome = await run_agent()
    assert outcome.status is ExecutionStatus.FAILED
    assert "topstories.json was not fetched (http_503)" in (outcome.error or "")
    assert ids(database) == []


async def test_loopback_is_refused_unless_the_agent_names_it(run_agent: RunAgent) -> None:
    outcome = await run_agent(allow_private_hosts=[])
    assert outcome.status is ExecutionStatus.FAILED
    assert "allow_private_hosts" in (outcome.error or "")


async def test_a_config_with_an_unknown_key_fails_before_anything_is_asked(
    run_agent: RunAgent, fakes: FakeServer
) -> None:
    outcome = await run_agent(lists="top")
    assert "unknown key 'lists'; did you mean 'list'?" in (outcome.error or "")
    assert fakes.control.stats()["total"] == 0
