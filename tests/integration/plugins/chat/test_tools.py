"""Actors and pipelines as tools of agents that run as executions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.integration.plugins.chat.conftest import Desk

from agentic.mappers import ExecutionStatus, SqlThreadStore, find_project

if TYPE_CHECKING:
    from tests.integration.plugins.chat.conftest import Write

pytestmark = pytest.mark.integration

PIPELINE = """
name: names
inputs: {things: {type: list}}
steps:
  - type: loop
    source: things
    item_as: thing
    loop_steps:
      - {actor: classify, config: {model: "fake:words", text: "${thing}", labels: [lamp, chair]}}
    collect: item
"""


async def test_a_pipeline_and_an_actor_are_parts_of_the_run_and_their_use_counts(
    desk: Desk, write: Write, shop: Path
) -> None:
    config = write(
        "- call: {names: {things: [a lamp, a chair]}}\n"
        "- call: {summarize: {text: A chair and a lamp., model: 'fake:words'}}\n"
        "- A lamp and a chair.\n",
    )
    (shop / "names.yaml").write_text(PIPELINE)
    outcome = await desk.run(desk.add({**config, "tools": ["pipeline:names.yaml", "actor:summarize"]}))
    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    (turn,) = desk.turns()
    assert (turn.text, turn.tool_calls) == ("A lamp and a chair.", 2)
    assert turn.requests == 3 + 2 + 1  # of the agent, the pipeline and the actor
    with desk.database.reading() as session:
        project_id = find_project(session, "shop").id
    thread = await SqlThreadStore(desk.database, project_id=project_id).load(turn.thread_id)
    results = [
        result.content for entry in thread.entries for one in entry.messages for result in one.tool_results
    ]
    assert results == [
        {"items": [{"label": "lamp"}, {"label": "chair"}], "item_count": 2},
        {"item": {"summary": "A chair and a lamp."}},
    ]
