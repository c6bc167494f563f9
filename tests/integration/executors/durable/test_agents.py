"""Agents in durable runs: the size of what is stored, and its cost."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from sqlalchemy import inspect, text
from tests.databases import only_sqlite

from agentic.core import RunStatus, WorkflowBuilder
from agentic.core.agents import AgentExecutorResponse, ChatAgent, Guard, UsageLimits, tool
from agentic.core.llm import ChatMessage, FunctionModel, ModelRequest, ScriptLine, ToolCall
from agentic.core.patterns import GroupChatBuilder, PatternResult
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
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


def effect_count(database: Database) -> int:
    """Return how many results of calls, and replies of models, are stored."""
    with database.reading() as session:
        return session.scalar(text("SELECT count(*) FROM effects")) or 0


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


@only_sqlite  # of what a database does, nothing depends on the agent
async def test_of_calls_at_a_time_exactly_those_without_a_stored_result_are_called_again(
    migrated_database: Database,
) -> None:
    entered: list[int] = []
    requests: list[ModelRequest] = []
    may_end = asyncio.Event()  # the first worker ends while two calls are under way

    @tool
    async def work(number: int) -> int:
        """Work."""
        entered.append(number)
        if number > 1:
            await may_end.wait()
        return number * 10

    def reply(request: ModelRequest) -> ScriptLine:
        requests.append(request)
        results = [one for message in request.messages for one in message.tool_results]
        if results:
            return f"{sorted((one.call_id, one.content) for one in results)}"
        return [ToolCall(id=f"c{number}", name="work", arguments={"number": number}) for number in range(4)]

    flow = WorkflowBuilder("talk", version="1").set_start(
        ChatAgent(FunctionModel(reply), name="worker", tools=[work])
    )
    catalog = WorkflowCatalog({"talk": flow.build})
    with migrated_database.writing() as session:
        project_id = add_project(session, "talk").id
    store = SqlLedger(migrated_database, project_id=project_id)
    only = RunId("talk")
    async with LocalRuns(store, catalog, sweep_s=0.05, options={"only": only}) as runs, asyncio.timeout(60):
        await runs.submit("talk", "Go!", Submission(run_id=only))
        while effect_count(migrated_database) < 3:  # noqa: ASYNC110 - the database sets no event of ours
            await asyncio.sleep(0.01)
    assert sorted(entered) == [0, 1, 2, 3]
    may_end.set()
    async with LocalRuns(store, catalog, sweep_s=0.05, options={"only": only}) as runs:
        answer = (await runs.handle(only).result(timeout_s=60)).output(AgentExecutorResponse)
    assert answer.text == "[('c0', 0), ('c1', 10), ('c2', 20), ('c3', 30)]"
    assert sorted(entered) == [0, 1, 2, 2, 3, 3]
    assert len(requests) == 2
    assert answer.agent_response.usage.tool_calls == 4


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
