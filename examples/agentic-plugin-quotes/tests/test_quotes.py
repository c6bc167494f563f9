"""The graph alone, then a whole agent: file to rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agentic_plugin_quotes.executor import quotes_workflow
from agentic_plugin_quotes.models import QuoteModel
from sqlalchemy import select

from agentic.core.bus import MemoryBus
from agentic.core.hooks import get_registry
from agentic.executors.runner import Host, run_execution
from agentic.mappers import Database, ExecutionStatus, add_agent, add_project, create_execution
from agentic.migrations.runner import upgrade

QUOTES = [
    {"id": "1", "text": "Simplicity is prerequisite for reliability.", "author": "E. W. Dijkstra"},
    {"text": "has no id"},
    {"id": "3", "text": "Anonymous, too."},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "quotes.json"
    path.write_text(json.dumps(QUOTES), encoding="utf-8")
    return path


async def test_a_bad_entry_is_a_warning_and_the_others_are_quotes(path: Path) -> None:
    found = (await quotes_workflow().run(path)).output(dict)
    assert [quote["id"] for quote in found["quotes"]] == ["1", "3"]
    assert len(found["warnings"]) == 1
    assert found["warnings"][0].startswith("entry 1: ")


async def test_a_file_that_holds_no_list_says_so(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="holds no list of quotes"):
        await quotes_workflow().run(path)


async def test_an_agent_stores_the_quotes_of_its_file(path: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'quotes.db'}"
    upgrade(url, get_registry())
    database = Database(url)
    with database.writing() as session:
        project = add_project(session, "reading")
        agent = add_agent(session, project, "daily", "quotes", {"path": str(path)})
        execution = create_execution(session, agent)
    host = Host(database=database, bus=MemoryBus(), worker="test")
    outcome = await run_execution(execution.id, agent.id, host=host)
    assert outcome.status is ExecutionStatus.SUCCEEDED
    with database.reading() as session:
        authors = session.scalars(select(QuoteModel.author).order_by(QuoteModel.id)).all()
    assert authors == ["E. W. Dijkstra", None]
    database.dispose()
