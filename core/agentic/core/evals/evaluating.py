"""Evaluations in this process, for tests and scripts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from agentic.core.agents.agent import Agent
from agentic.core.agents.journal import ThreadJournal
from agentic.core.evals.case_models import ModelPolicy, Replies
from agentic.core.evals.cases import EvalCase, EvalDataset, EvalTry, checked_cases, tries_of
from agentic.core.evals.evaluators import Evaluator, FunctionEvaluator, ScoreFunction
from agentic.core.evals.results import CaseResult, CaseStatus, EvalSummary
from agentic.core.evals.running import TIMEOUT_S, CaseRunner
from agentic.core.evals.spec import EvalTask
from agentic.core.evals.tasks import TaskFunction, task_of
from agentic.core.ids import new_id
from agentic.core.llm.budget import Budget
from agentic.core.llm.open_models import OpenModels
from agentic.core.types import RunId


class EvalReport(BaseModel):
    """The results of an evaluation, case by case, and their summary."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    results: tuple[CaseResult, ...]
    summary: EvalSummary

    @property
    def unpassed(self) -> tuple[CaseResult, ...]:
        """The tries that missed or failed."""
        return tuple(one for one in self.results if one.status is not CaseStatus.PASSED)


async def evaluate(  # noqa: PLR0913  # the options of an evaluation
    task: Agent[Any] | EvalTask | TaskFunction,
    cases: EvalDataset | Iterable[EvalCase],
    evaluators: Sequence[Evaluator | ScoreFunction],
    *,
    repeats: int = 1,
    parallel: int = 4,
    timeout_s: float = TIMEOUT_S,
    limits: Mapping[str, float] | None = None,
    budget: Budget | None = None,
    replies: Replies = "ask",
    recordings: str | Path | None = None,
) -> EvalReport:
    """Give each case to a task, and each answer to evaluators, in this process.

    A failure of the task is the result of its case. For evaluations that survive their process, see
    ``agentic evals run``.

    Args:
        task: An agent, a function of the input, or a task as data. The models of an agent belong to it: for
            recordings and a budget, give :class:`EvalTask`, or a function that also takes :class:`TaskCall`.
        cases: The cases.
        evaluators: Evaluators, and functions that take an :class:`EvalAnswer`.
        repeats: Tries of each case.
        parallel: Tries at a time.
        timeout_s: Seconds that an answer may take.
        limits: Evaluator, or ``passed`` -> the lowest average; see ``EvalSummary.below``.
        budget: For the models.
        replies: ``ask`` the models, ``record`` their replies too, or ``replay`` those without a request.
        recordings: Folder of recorded replies.

    Raises:
        CasesError: Two cases have one id, or the list is empty.
        ValueError: Two evaluators have one name, a limit has no evaluator, or recordings are missing.
    """
    chosen = [_evaluator(one) for one in evaluators]
    labels = [one.label for one in chosen]
    if len({*labels}) < len(labels):
        raise ValueError(f"two evaluators have the same name ({', '.join(labels)}); rename one")
    if unknown := [name for name in limits or {} if name not in ("passed", *labels)]:
        raise ValueError(f"limits: {unknown[0]!r} is not an evaluator (known: passed, {', '.join(labels)})")
    if replies != "ask" and recordings is None:
        raise ValueError(f"replies={replies!r} needs recordings, a folder")
    given = cases.cases if isinstance(cases, EvalDataset) else tuple(checked_cases(list(cases), "the list"))
    policy = ModelPolicy(
        replies=replies, recordings=None if recordings is None else Path(recordings), budget=budget
    )
    opened = OpenModels()
    runner = CaseRunner(task=task_of(task), evaluators=chosen, opened=opened, timeout_s=timeout_s)
    run_id, free = RunId(new_id()), asyncio.Semaphore(parallel)

    async def one(wanted: EvalTry) -> CaseResult:
        async with free:
            name = f"{run_id}/{wanted.case.id}.{wanted.repeat}"
            return await runner.run(wanted, ThreadJournal(), policy, run_id=run_id, call_id=name)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(wanted)) for wanted in tries_of(given, repeats)]
    finally:
        await opened.aclose()
    results = tuple(task.result() for task in tasks)
    return EvalReport(results=results, summary=EvalSummary.of(results, labels, limits))


def _evaluator(given: Evaluator | ScoreFunction) -> Evaluator:
    return given if isinstance(given, Evaluator) else FunctionEvaluator(function=given)
