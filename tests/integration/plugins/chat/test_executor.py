"""Chat agents as executions: durable turns, threads in SQL, rows of turns."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select
from tests.integration.plugins.chat.conftest import Desk, done

from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.agents.workflows import flow_builder
from agentic.executors.celery import make_app
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.schedules.firing import Timekeeper
from agentic.executors.workers.dispatch import CeleryDispatcher
from agentic.mappers import AgentModel, ExecutionModel, ExecutionStatus, SqlThreadStore, add_schedule
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.mappers.runs.requests import open_requests
from agentic.plugins.chat.node import TRIES

if TYPE_CHECKING:
    from tests.integration.plugins.chat.conftest import Write

pytestmark = pytest.mark.integration

TALK = "- call: {find_order: {number: 7}}\n- Order 7 is a lamp.\n- You asked about order 7.\n"
REFUND = "- call: {refund: {number: 7}}\n- I paid it back.\n"


async def answer(desk: Desk, agent: AgentModel, value: JSONValue) -> None:
    """Answer the only open request of the project, as ``agentic requests answer`` does."""
    with desk.database.reading() as session:
        (request,) = open_requests(session, project_id=agent.project_id)
    store = SqlLedger(desk.database, project_id=agent.project_id)
    catalog = WorkflowCatalog({}, builders={"agent": flow_builder(desk.database, agent.project_id, "here")})
    async with LocalRuns(store, catalog, sweep_s=60) as runs:
        await runs.handle(request.run_id).answer({request.id: value}, "ada")


async def test_an_execution_asks_its_prompt_and_its_turn_is_a_row(desk: Desk, write: Write) -> None:
    agent = desk.add(write(TALK, user="ada"))
    outcome = await desk.run(agent)
    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    (turn,) = desk.turns()
    assert (turn.prompt, turn.text, turn.status) == ("Order 7 broke.", "Order 7 is a lamp.", "complete")
    assert (turn.agent, turn.user_id, turn.agent_id) == ("help", "ada", agent.id)
    assert (turn.requests, turn.tool_calls, turn.cost_usd) == (2, 1, 0.0)
    assert turn.input_tokens > 0 < turn.output_tokens
    assert turn.model == agent.config["model"]
    store = SqlThreadStore(desk.database, project_id=agent.project_id)
    thread = await store.load(turn.thread_id)
    assert (thread.id, thread.metadata.user_id) == (f"run-{turn.execution_id}", "ada")


async def test_the_goals_are_the_prompt_of_an_agent_without_one(desk: Desk, write: Write) -> None:
    assert (await desk.run(desk.add(write(TALK, prompt=""), goals="Look after order 7."))).error is None
    assert desk.turns()[0].prompt == "Look after order 7."
    outcome = await desk.run(desk.add(write(TALK, prompt=""), name="idle"))
    assert outcome.status is ExecutionStatus.FAILED
    assert "set 'prompt', or goals" in str(outcome.error)


async def test_executions_of_an_agent_with_a_kept_thread_continue_one_conversation(
    desk: Desk, write: Write
) -> None:
    agent = desk.add(write(TALK, thread="kept"))
    for _ in range(2):
        assert (await desk.run(agent)).status is ExecutionStatus.SUCCEEDED
    first, second = desk.turns()
    assert first.thread_id == second.thread_id == f"kept-{agent.id}"
    assert [first.text, second.text] == ["Order 7 is a lamp.", "You asked about order 7."]


async def test_a_schedule_has_an_agent_take_a_turn_of_its_conversation(
    desk: Desk, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = desk.add(write(TALK, thread="kept"))
    monkeypatch.chdir(tmp_path)
    for text in ("Order 7 is a lamp.", "You asked about order 7."):
        with desk.database.writing() as session:
            due = add_schedule(session, agent, text, every_s=3600)
            due.settled_until -= timedelta(hours=1.5)
            due.anchor -= timedelta(hours=1.5)
        with make_app(load_settings(home=tmp_path, broker_url="memory://")) as app:
            Timekeeper(desk.database, CeleryDispatcher(app)).tick()
            app.control.purge()
        with desk.database.reading() as session:
            [execution] = session.scalars(select(ExecutionModel).filter_by(status=ExecutionStatus.QUEUED))
        assert (await desk.run(agent, execution.id)).status is ExecutionStatus.SUCCEEDED
        turn = desk.turns()[-1]
        assert (turn.text, turn.execution_id, turn.thread_id) == (text, execution.id, f"kept-{agent.id}")


async def test_an_approval_is_a_request_of_the_run_that_is_answered_later(
    desk: Desk, write: Write, shop: Path
) -> None:
    agent = desk.add(write(REFUND, thread="kept"))
    execution_id = desk.queue(agent)
    assert (await desk.run(agent, execution_id)).status is ExecutionStatus.RUNNING
    assert (done(shop), desk.turns()) == ([], [])
    await answer(desk, agent, {"approved": True})
    assert (await desk.run(agent, execution_id)).status is ExecutionStatus.SUCCEEDED
    assert (done(shop), desk.turns()[0].text) == (["refund 7"], "I paid it back.")


async def test_a_rejected_call_is_not_run(desk: Desk, write: Write, shop: Path) -> None:
    agent = desk.add(write(REFUND))
    execution_id = desk.queue(agent)
    await desk.run(agent, execution_id)
    await answer(desk, agent, {"approved": False, "reason": "it is old"})
    assert (await desk.run(agent, execution_id)).status is ExecutionStatus.SUCCEEDED
    assert done(shop) == []


async def test_another_execution_does_not_speak_into_an_open_turn(
    desk: Desk, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentic.plugins.chat.node.TRIES", replace(TRIES, first_delay_s=0.01))
    agent = desk.add(write(REFUND, thread="kept"))
    waiting = desk.queue(agent)
    await desk.run(agent, waiting)
    outcome = await desk.run(agent)
    assert outcome.status is ExecutionStatus.FAILED
    assert f"execution {waiting} has not ended its turn" in str(outcome.error)


async def test_a_kept_thread_of_another_agent_is_refused_at_once(desk: Desk, write: Write) -> None:
    agent = desk.add(write(TALK, thread="kept", name="one"))
    await desk.run(agent)
    with desk.database.writing() as session:
        session.merge(agent).config = {**agent.config, "name": "other"}
    outcome = await desk.run(agent)
    assert outcome.status is ExecutionStatus.FAILED
    assert "it belongs to agent 'one'" in str(outcome.error)


async def test_a_turn_whose_execution_failed_ends_when_the_next_one_begins(desk: Desk, write: Write) -> None:
    agent = desk.add(write("- error: bad_request\n- Order 7 is a lamp.\n", thread="kept"))
    assert (await desk.run(agent)).status is ExecutionStatus.FAILED
    with desk.database.writing() as session:
        session.merge(agent).config = {**agent.config, "model": write("- Order 7 is a lamp.")["model"]}
    assert (await desk.run(agent)).status is ExecutionStatus.SUCCEEDED
    store = SqlThreadStore(desk.database, project_id=agent.project_id)
    entries = (await store.load(f"kept-{agent.id}")).entries
    assert [entry.reason for entry in entries if entry.ended] == [
        "its execution ended before the answer",
        "",
    ]
    (turn,) = desk.turns()
    assert turn.prompt == "Order 7 broke."


async def test_a_turn_that_reaches_a_limit_is_stored_and_fails_its_execution(
    desk: Desk, write: Write
) -> None:
    agent = desk.add(write(TALK, limits={"max_model_calls": 1}))
    outcome = await desk.run(agent)
    assert outcome.status is ExecutionStatus.FAILED
    (turn,) = desk.turns()
    assert (turn.status, turn.reason, turn.requests) == ("stopped", "it reached max_model_calls=1", 1)


async def test_a_turn_without_an_answer_that_fits_is_stored_with_its_use_of_models(
    desk: Desk, write: Write
) -> None:
    output: dict[str, JSONValue] = {"type": "object", "required": ["fine"]}
    outcome = await desk.run(desk.add(write("- answer: {}\n" * 3, output=output)))
    assert outcome.status is ExecutionStatus.FAILED
    (turn,) = desk.turns()
    assert (turn.status, turn.requests) == ("stopped", 3)
    assert "'fine' is a required property" in str(turn.reason)


async def test_an_answer_with_a_schema_is_stored_as_data(desk: Desk, write: Write) -> None:
    output: dict[str, JSONValue] = {"type": "object", "required": ["fine"]}
    await desk.run(desk.add(write("- answer: {fine: true}", output=output)))
    assert desk.turns()[0].output == {"fine": True}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"toolz": []}, "toolz: unknown key 'toolz'; did you mean 'tools'?"),
        ({"model": "openia:x"}, "unknown provider 'openia'; did you mean 'openai'?"),
        ({"tools": ["./tools.py:find_ordr"]}, "tools.py has no function 'find_ordr'"),
        ({"options": {"api_key": "sk-0123456789"}}, "write ${secrets.NAME} here"),
    ],
)
async def test_a_wrong_config_is_refused_with_key_and_next_step(
    desk: Desk, write: Write, change: dict[str, Any], told: str
) -> None:
    outcome = await desk.run(desk.add({**write(TALK), **change}))
    assert outcome.status is ExecutionStatus.FAILED
    assert told in str(outcome.error)
    assert "sk-" not in str(outcome.error)
