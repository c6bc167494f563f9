"""Evaluations as executions: a row for each try, limits, budgets, cases from stored rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.databases import only_sqlite
from tests.integration.plugins.evals.conftest import CASES, Desk, done, shouting

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus
from agentic.mappers.vault.keys import SecretKeys

pytestmark = pytest.mark.integration

LABELS: dict[str, JSONValue] = {
    "actor": "classify",
    "config": {"model": "fake:words", "labels": ["lamp", "tea"]},
    "answer": "label",
}


async def test_odd_answers_are_stored_as_far_as_a_database_can(desk: Desk, folder: Path) -> None:
    (folder / "odd.py").write_text(
        "ODD = {'nul': 'a\\x00b', 'half': 'a\\ud800', 'nan': float('nan'), 'big': 10**30}\n\n\n"
        "def odd(name):\n    return ODD[name]\n"
    )
    cases: list[JSONValue] = [{"id": name, "input": name} for name in ("nul", "half", "nan", "big")]
    found: JSONValue = {"kind": "matches", "pattern": "."}
    config = shouting(task={"function": "./odd.py:odd"}, cases=cases, evaluators=[found])
    outcome = await desk.run(desk.add(config))
    assert outcome.status is not ExecutionStatus.FAILED, outcome.error
    assert {row.case_id for row in desk.rows()} == {"nul", "half", "nan", "big"}


async def test_each_try_is_a_row_with_answer_scores_and_time(desk: Desk, folder: Path) -> None:
    outcome = await desk.run(desk.add(shouting(repeats=2)))
    assert (outcome.status, outcome.error, outcome.counts.inserted) == (ExecutionStatus.SUCCEEDED, None, 4)
    rows = desk.rows()
    assert [(row.case_id, row.repeat, row.status) for row in rows] == [
        ("lamp", 1, "passed"),
        ("lamp", 2, "passed"),
        ("tea", 1, "missed"),
        ("tea", 2, "missed"),
    ]
    lamp, tea = rows[0], rows[2]
    assert (lamp.input, lamp.expected, lamp.answer, lamp.score) == ("lamp", "LAMP", "LAMP", 1.0)
    assert (lamp.evaluation, lamp.task, lamp.run_id) == (
        "shouts",
        "function tasks.py:shout",
        outcome.execution_id,
    )
    assert lamp.duration_s > 0
    assert isinstance(tea.scores, dict)
    assert tea.scores["exact"] == {
        "value": 0.0,
        "passed": False,
        "reason": "'TEA' is not 'COFFEE'",
        "failure_class": "",
    }
    assert sorted(done(folder)) == ["lamp", "lamp", "tea", "tea"]


@only_sqlite
async def test_a_run_that_has_ended_runs_no_case_again(desk: Desk, folder: Path) -> None:
    agent = desk.add(shouting())
    execution_id = desk.queue(agent)
    for _ in range(2):
        await desk.run(agent, execution_id)
    assert (len(desk.rows()), sorted(done(folder))) == (2, ["lamp", "tea"])


@only_sqlite
async def test_a_case_that_fails_has_a_row_with_its_class_and_makes_the_run_partial(desk: Desk) -> None:
    outcome = await desk.run(desk.add(shouting(cases=[*CASES, {"id": "bad", "input": "broken"}])))
    assert (outcome.status, outcome.failed_count) == (ExecutionStatus.PARTIAL, 1)
    assert outcome.reason == "1 of 3 tries failed: 1 connect"
    row = desk.rows()[0]
    assert (row.case_id, row.status, row.failure_class, row.error) == ("bad", "failed", "connect", "no line")
    assert (row.score, row.answer, row.scores) == (0.0, None, {})


@only_sqlite
async def test_a_limit_that_is_not_met_fails_the_run_with_all_rows_kept(desk: Desk) -> None:
    outcome = await desk.run(desk.add(shouting(limits={"passed": 0.9, "short": 1.0})))
    assert outcome.status is ExecutionStatus.FAILED
    assert outcome.reason == "passed is 0.5, below 0.9"
    assert len(desk.rows()) == 2


@only_sqlite
async def test_a_budget_of_the_run_holds_over_all_cases_and_judges(desk: Desk) -> None:
    cases: list[JSONValue] = [{"id": n, "input": f"lamp {n}", "expected": "lamp"} for n in "abcdef"]
    judge: JSONValue = {"kind": "judge", "model": "fake:words", "rubric": "It fits."}
    config = shouting(task=LABELS, cases=cases, evaluators=["exact", judge], max_tokens=5_000, parallel=1)
    outcome = await desk.run(desk.add(config))
    rows = desk.rows()
    spent = sum(row.input_tokens + row.output_tokens + row.judge_tokens for row in rows)
    assert spent <= 5_000
    assert outcome.failed_count == sum(row.status == "failed" for row in rows) > 0
    assert {row.failure_class for row in rows if row.status == "failed"} == {"budget_exceeded"}
    assert any(row.judge_tokens > 0 for row in rows)


@only_sqlite
async def test_models_of_agents_are_counted_with_their_tokens(desk: Desk) -> None:
    agent: JSONValue = {"name": "words", "model": "fake:words"}
    await desk.run(desk.add(shouting(task={"agent": agent})))
    row = desk.rows()[0]
    assert (row.task, row.model, row.requests, row.answer) == ("agent words", "fake:words", 1, "lamp")
    assert row.input_tokens > 0 < row.output_tokens
    assert row.cost_usd == 0.0


async def test_rows_that_an_agent_has_stored_are_cases(desk: Desk, folder: Path) -> None:
    source = desk.add(shouting(name="first"))
    await desk.run(source)
    columns: JSONValue = {"id": "case_id", "input": "input", "expected": "answer"}
    cases: JSONValue = {"agent": "first"}
    outcome = await desk.run(desk.add(shouting(name="second", cases=cases, columns=columns)))
    assert outcome.status is ExecutionStatus.SUCCEEDED
    rows = [row for row in desk.rows() if row.evaluation == "second"]
    assert [(row.case_id, row.status) for row in rows] == [("lamp", "passed"), ("tea", "passed")]


@only_sqlite
async def test_a_pipeline_is_a_task_of_a_durable_run(desk: Desk) -> None:
    config: JSONValue = {"model": "fake:words", "text": "${inputs.text}", "labels": ["lamp", "tea"]}
    pipeline: JSONValue = {
        "name": "labels",
        "inputs": {"text": {}},
        "steps": [{"actor": "classify", "config": config}],
    }
    cases: list[JSONValue] = [{"id": name, "input": name, "expected": name} for name in ("lamp", "tea")]
    task: JSONValue = {"pipeline": pipeline, "answer": "0.label"}
    outcome = await desk.run(desk.add(shouting(task=task, cases=cases, evaluators=["exact"])))
    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    assert [(row.task, row.answer, row.requests) for row in desk.rows()] == [
        ("pipeline labels", "lamp", 1),
        ("pipeline labels", "tea", 1),
    ]


@only_sqlite
async def test_cases_that_cannot_be_read_fail_the_run_with_the_reason(desk: Desk, folder: Path) -> None:
    outcome = await desk.run(desk.add(shouting(cases="gone.jsonl")))
    assert outcome.status is ExecutionStatus.FAILED
    assert "gone.jsonl does not exist" in str(outcome.error)
    empty = await desk.run(desk.add(shouting(name="rows", cases={"agent": "shouts"})))
    assert "has stored no rows yet" in str(empty.error)


@only_sqlite
async def test_a_key_of_a_judge_is_a_secret_of_the_project(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_KEYS", SecretKeys.new_key())
    judge: JSONValue = {
        "kind": "judge",
        "model": "openai:x",
        "rubric": "r",
        "options": {"api_key": "${secrets.JUDGE_KEY}", "base_url": "http://127.0.0.1:9/v1"},
    }
    agent = desk.add(shouting(cases=CASES[:1], evaluators=[judge]))
    missing = await desk.run(agent)
    assert "JUDGE_KEY" in str(desk.rows()[0].error)
    assert missing.status is ExecutionStatus.FAILED


@only_sqlite
async def test_a_folder_of_recordings_outside_the_module_path_is_refused(desk: Desk) -> None:
    config = shouting(task=LABELS, replies="record", recordings="/tmp/somewhere-else")
    outcome = await desk.run(desk.add(config))
    assert outcome.status is ExecutionStatus.FAILED
    assert "may not be loaded here" in str(outcome.error)
