"""The crawl step with Firecrawl as what it fetches with: for sites that are too large for one result."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select

from agentic.core.bus import MemoryBus
from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import run_execution
from agentic.fakes.server import FakeServer
from agentic.mappers import Database, add_agent, add_project, create_execution, find_project
from agentic.migrations.runner import upgrade
from agentic.plugins.web.models import WebPageModel

pytestmark = pytest.mark.integration


async def test_a_crawl_step_fetches_its_pages_with_firecrawl(
    tmp_path: Path, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_FIRECRAWL_URL", fakes.firecrawl_url)
    url = f"sqlite:///{tmp_path / 'web.db'}"
    upgrade(url, get_registry())
    database = Database(url)
    spec: dict[str, JSONValue] = {
        "name": "shop",
        "steps": [
            {
                "type": "crawl",
                "start": fakes.shop_url,
                "fetch": {"actor": "firecrawl_scrape"},
                "max_pages": 5,
            }
        ],
    }
    with database.writing() as session:
        add_project(session, "shops")
        agent = add_agent(
            session, find_project(session, "shops"), "crawler", "web", {"pipeline": spec, "inputs": {}}
        )
        execution_id = create_execution(session, agent).id
    outcome = await run_execution(execution_id, agent.id, database=database, bus=MemoryBus())
    with database.reading() as session:
        pages = list(session.scalars(select(WebPageModel)))
    database.dispose()
    assert outcome.status == "succeeded", outcome
    assert len(pages) == 5
    assert fakes.control.stats()["credits"] == 5
