"""The first scenario of the requirements: log in, search, read offers; a job board stands in for LinkedIn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from agentic.core.settings import load_settings
from agentic.fakes.jobs.credentials import PASSWORD, USERNAME
from agentic.fakes.server import FakeServer
from agentic.mappers import AgentModel, Database, ExecutionStatus
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import set_secret
from agentic.plugins.web.models import ItemModel

MakeAgent = Callable[..., AgentModel]
RunAgent = Callable[..., Any]

# As the requirement document has it, with a schema where that has dots.
SPEC: dict[str, Any] = {
    "steps": [
        {"actor": "InitialFetcher", "config": {"use_playwright": True}},
        {"actor": "Authenticate", "config": {"platform": "LinkedIn"}},
        {"actor": "SearchExecutor", "config": {"keywords": ["pm"]}},
        {"actor": "ExtractList", "config": {"item_selector": ".job-card"}},
        {
            "type": "loop",
            "source": "list_item_urls",
            "loop_steps": [
                {"actor": "FetchDetail", "config": {}},
                {"actor": "ExtractDetail", "config": {"schema": {"title": "h1"}}},
            ],
        },
        {"actor": "DataAggregator", "config": {}},
    ],
    "error_handling": {
        "403_error": {"retry_with_actor": "firecrawl_api"},
        "timeout": {"retry_count": 2},
    },
}


@pytest.fixture
def agent(
    fakes: FakeServer, database: Database, make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch
) -> AgentModel:
    monkeypatch.setenv("AGENTIC_SECRET_KEYS", SecretKeys.new_key())
    pipeline = {**SPEC, "http": {"allow_private_hosts": ["127.0.0.1"]}}
    made = make_agent(pipeline=pipeline, inputs={"url": fakes.jobs_url})
    login = {
        "strategy": "form",
        "login_url": f"{fakes.jobs_url}login",
        "fields": {"session_key": USERNAME, "session_password": PASSWORD},
    }
    with database.writing() as session:
        keys = SecretKeys.configured(load_settings())
        set_secret(session, made.project_id, keys, "LinkedIn", json.dumps(login))
    return made


@pytest.mark.requirement(
    "SP03", "SP07", "SP09", "SP11", "SP12", "SP14", "SP15", "SP16", "SP17", "SP18", "SP19", "SP20", "SP22"
)
async def test_the_spec_of_the_requirements_runs_as_it_is_written(
    fakes: FakeServer, database: Database, agent: AgentModel, run_agent: RunAgent
) -> None:
    outcome = await run_agent(agent)
    assert outcome.status is ExecutionStatus.SUCCEEDED
    with database.reading() as session:
        titles = [item.data["title"] for item in session.scalars(select(ItemModel))]
    assert len(titles) >= 5
    assert all("Product Manager" in str(title) for title in titles)
