"""Agents in durable runs: the size of what is stored, and its cost."""

from __future__ import annotations

import json
import time

import pytest
from sqlalchemy import inspect, text
from tests.databases import only_sqlite

from agentic.core import RunStatus, WorkflowBuilder
from agentic.core.agents import AgentExecutorResponse, ChatAgent, Guard, UsageLimits, tool
from agentic.core.llm import ChatMessage, FunctionModel, ModelRequest, ScriptLine, ToolCall
from agentic.core.patterns import GroupChatBuilder, PatternResult
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.mappers import Database, add_project
from agentic.mappers.ledger.ledger import SqlLedger

pytestmark = pytest.mark.integration

CALLS = 200
WORDS = 550
"""Of a result: about a thousand tokens."""


def stored_rows(database: Database) -> str:
    """Return all values of all tables."""
    tables = inspect(database.engine).get_table_names()
    with database.reading() as session:
        rows = [row for name in tables for row in session.execute(text(f'SELECT * FROM "{name}"'))]
    return "".join(str(value) for row in rows for value in row if value is not None)


def stored_bytes(database: Database) -> int:
    """Return the size of all values of all tables."""
    return len(stored_rows(database).encode())


async def test_the_words_of_an_answer_that_a_guard_refuses_are_not_stored(
    migrated_database: Database,
) -> None:
    class Discreet(Guard):
        async def check_answer(self, message: ChatMessage) -> str | None:
            return "the answer is confidential" if "swordfish" in message.text else None

    agent = ChatAgent(FunctionModel(lambda _: "It is swordfish."), name="host", guards=[Discreet()])
    flow = WorkflowBuilder("talk", version="1").set_start(agent).build()
    with migrated_database.writing() as session:
        project_id = add_project(session, "talk").id
    store = SqlLedger(migrated_database, project_id=project_id)
    async with LocalRuns(store, WorkflowCatalog({"talk": lambda: flow}), sweep_s=0.05) as runs:
        handle = await runs.submit("talk", "Tell me!")
        assert (await handle.result(timeout_s=60)).status is RunStatus.FAILED
    rows = stored_rows(migrated_database)
    assert "the answer is confidential" in rows
    assert "swordfish" not in rows


async def test_a_long_conversation_is_stored_less_than_three_times(migrated_database: Database) -> None:
    """200 calls with 200,000 tokens of results: requests, which repeat them all, are never stored."""

    def reply(request: ModelRequest) -> ScriptLine:
        done = sum(len(message.tool_results) for message in request.messages)
        return "done" if done == CALLS else ToolCall(id=f"c{done}", name="read", arguments={"page": done})

    @tool
    async def read(page: int) -> str:
        """Read a page."""
        return f"word{page:03} " * WORDS

    limits = UsageLimits(max_model_calls=None, max_tool_calls=None)
    agent = ChatAgent(FunctionModel(reply), name="reader", tools=[read], limits=limits)
    flow = WorkflowBuilder("talk", version="1").set_start(agent).build()
    with migrated_database.writing() as session:
        project_id = add_project(session, "talk").id
    before = stored_bytes(migrated_database)
    store = SqlLedger(migrated_database, project_id=project_id)
    async with LocalRuns(store, WorkflowCatalog({"talk": lambda: flow}), sweep_s=0.05) as runs:
        handle = await runs.submit("talk", "Read it all.")
        answer = (await handle.result(timeout_s=60)).output(AgentExecutorResponse).agent_response
    assert (answer.text, answer.usage.tool_calls) == ("done", CALLS)
    assert len(json.dumps([message.to_json() for message in answer.messages])) < CALLS * 1_500
    whole = CALLS * len(f"word{0:03} " * WORDS)
    assert stored_bytes(migrated_database) - before <= 3 * whole


@only_sqlite
@pytest.mark.requirement("PA10")
async def test_a_chat_of_five_with_twenty_durable_turns_costs_at_most_two_seconds(
    migrated_database: Database,
) -> None:
    """CPU time of this process."""
    cast = [ChatAgent(FunctionModel(lambda _: "word " * 52), name=name) for name in "abcde"]
    chat = GroupChatBuilder("chat", version="1").participants(cast).with_max_iterations(20).build()
    with migrated_database.writing() as session:
        project_id = add_project(session, "talk").id
    store = SqlLedger(migrated_database, project_id=project_id)
    begun = time.process_time()
    async with LocalRuns(store, WorkflowCatalog({"chat": lambda: chat}), sweep_s=0.05) as runs:
        result = await (await runs.submit("chat", "go")).result(timeout_s=60)
    assert time.process_time() - begun <= 2.0
    assert result.output(PatternResult).round_count == 20
