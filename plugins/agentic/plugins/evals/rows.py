"""Results as rows of ``eval_cases``, and back."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from agentic.core.evals.errors import CasesError
from agentic.core.evals.results import CaseResult
from agentic.core.evals.spec import EvalSpec, StoredCases
from agentic.core.hooks import get_registry
from agentic.core.llm.usage import TokenUsage
from agentic.executors.exports.rows import Record, choose_table, read_records
from agentic.mappers import ExecutionModel, find_agent, find_execution, list_executions
from agentic.plugins.evals.models import NAME_LENGTH, EvalCaseModel


def row_of(run_id: str, spec: EvalSpec, result: CaseResult) -> dict[str, object]:
    """Return the row of a result."""
    used = result.usage
    return {
        "run_id": run_id,
        "case_id": result.case_id,
        "repeat": result.repeat,
        "evaluation": spec.name[:NAME_LENGTH],
        "task": spec.task.label[:NAME_LENGTH],
        "model": spec.task.model_label[:NAME_LENGTH],
        "status": str(result.status),
        "score": result.score,
        "scores": {name: one.model_dump(mode="json") for name, one in result.scores.items()},
        "failure_class": result.failure_class[:NAME_LENGTH] or None,
        "error": result.error or None,
        "input": result.input,
        "expected": result.expected,
        "case_metadata": dict(result.metadata) or None,
        "answer": result.answer,
        "duration_s": result.duration_s,
        "requests": used.requests,
        "tool_calls": used.tool_calls,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cached_tokens": used.cache_read_tokens,
        "cost_usd": used.cost_usd,
        "judge_tokens": result.judging.total_tokens,
        "judge_cost_usd": result.judging.cost_usd,
    }


def result_of(row: EvalCaseModel) -> CaseResult:
    """Return the result of a row."""
    facts = {
        name: getattr(row, name)
        for name in ("case_id", "repeat", "status", "input", "expected", "answer", "duration_s")
    }
    usage = TokenUsage(
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cache_read_tokens=row.cached_tokens,
        requests=row.requests,
        tool_calls=row.tool_calls,
        cost_usd=row.cost_usd,
    )
    judging = TokenUsage(input_tokens=row.judge_tokens, cost_usd=row.judge_cost_usd)
    return CaseResult.model_validate(
        {
            **facts,
            "scores": row.scores or {},
            "metadata": row.case_metadata or {},
            "failure_class": row.failure_class or "",
            "error": row.error or "",
            "usage": usage,
            "judging": judging,
        }
    )


def read_results(session: Session, project_id: str, run_id: str) -> Sequence[EvalCaseModel]:
    """Return the rows of a run so far: by case, in the order of the first try's end, then by repeat."""
    mine = (EvalCaseModel.project_id == project_id, EvalCaseModel.run_id == run_id)
    order = (EvalCaseModel.first_seen_at, EvalCaseModel.case_id, EvalCaseModel.repeat)
    return list(session.scalars(select(EvalCaseModel).where(*mine).order_by(*order)))


def delete_results(session: Session, project_id: str, run_id: str) -> None:
    """Delete the rows of a run."""
    mine = (EvalCaseModel.project_id == project_id, EvalCaseModel.run_id == run_id)
    session.execute(delete(EvalCaseModel).where(*mine))


def stored_rows(session: Session, project_id: str, wanted: StoredCases) -> list[Record]:
    """Return the rows that become cases.

    Raises:
        UnknownAgentError: The project has no such agent.
        UnknownExecutionError: It has no such execution.
        UnknownTableError: The agent's platform has no such table.
        CasesError: The agent has no execution yet.
    """
    agent = find_agent(session, project_id, wanted.agent)
    execution = _execution(session, project_id, agent.id, wanted)
    table = choose_table(session, get_registry().platform(agent.agent_platform), execution, wanted.table)
    rows: list[Record] = []
    for row in read_records(session, table, execution):
        if wanted.limit is not None and len(rows) == wanted.limit:
            break
        rows.append(row)
    return rows


def _execution(session: Session, project_id: str, agent_id: str, wanted: StoredCases) -> ExecutionModel:
    if wanted.execution is not None:
        return find_execution(session, project_id, wanted.execution)
    for execution in list_executions(session, project_id, 20, agent_id=agent_id):
        if execution.has_all_results:
            return execution
    raise CasesError(f"agent {wanted.agent!r} has stored no rows yet; run it: `agentic run {wanted.agent}`")
