"""The runs of evaluations in a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from agentic.executors.agents.catalog import find_by_prefix
from agentic.executors.commands.shared.options import OptionError
from agentic.mappers import ProjectModel, UnknownExecutionError
from agentic.plugins.evals.models import EvalCaseModel

BACK = "~"
"""Between an evaluation and the number of runs to go back."""

MAX_LISTED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalRun:
    """A run of an evaluation, as far as it is stored.

    Attributes:
        id: The execution.
        evaluation: Name of the evaluation.
        task: The task in a few words.
        model: Its model, if it has one of its own.
        tries: Stored tries.
        passed: Those that passed.
        failed: Those that failed.
        cost_usd: Of the task; None if a price is not known.
        began_at: End of its first try.
    """

    id: str
    evaluation: str
    task: str
    model: str
    tries: int
    passed: int
    failed: int
    cost_usd: float | None
    began_at: datetime

    def facts(self) -> dict[str, Any]:
        """Return the facts of the run for people and scripts."""
        return {
            "run": self.id,
            "evaluation": self.evaluation,
            "task": self.task,
            "model": self.model,
            "tries": self.tries,
            "passed": self.passed,
            "pass_rate": round(self.passed / self.tries, 4),
            "failed": self.failed,
            "usd": None if self.cost_usd is None else round(self.cost_usd, 6),
            "began_at": self.began_at,
        }


def list_runs(
    session: Session, project_id: str, evaluation: str | None = None, *, run_id: str | None = None
) -> Sequence[EvalRun]:
    """Return the newest runs, newest first; of one evaluation or all, or the one of an id."""
    model = EvalCaseModel
    began_at = func.min(model.first_seen_at)
    query = (
        select(
            model.run_id,
            model.evaluation,
            model.task,
            model.model,
            func.count().label("tries"),
            func.sum(case((model.status == "passed", 1), else_=0)).label("passed"),
            func.sum(case((model.status == "failed", 1), else_=0)).label("failed"),
            func.sum(model.cost_usd).label("cost_usd"),
            func.count(model.cost_usd).label("priced"),
            began_at.label("began_at"),
        )
        .where(model.project_id == project_id)
        .group_by(model.run_id, model.evaluation, model.task, model.model)
        .order_by(began_at.desc(), model.run_id)
        .limit(MAX_LISTED)
    )
    if evaluation is not None:
        query = query.where(model.evaluation == evaluation)
    if run_id is not None:
        query = query.where(model.run_id == run_id)
    return [
        EvalRun(
            id=row["run_id"],
            evaluation=row["evaluation"],
            task=row["task"],
            model=row["model"],
            tries=int(row["tries"]),
            passed=int(row["passed"]),
            failed=int(row["failed"]),
            cost_usd=float(row["cost_usd"]) if row["priced"] == row["tries"] else None,
            began_at=row["began_at"],
        )
        for row in session.execute(query).mappings()
    ]


def find_run(session: Session, owner: ProjectModel, wanted: str) -> EvalRun:
    """Return a run: ``NAME`` for the newest of an evaluation, ``NAME~1`` for the one before, or by its id.

    Raises:
        OptionError: The run does not exist.
        ExecutionError: Several ids begin with the text.
    """
    name, mark, number = wanted.rpartition(BACK)
    back = int(number) if mark and number.isascii() and number.isdigit() else 0
    runs = list_runs(session, owner.id, name if back else wanted)
    if len(runs) > back:
        return runs[back]
    if runs:
        raise OptionError(f"evaluation {name!r} has {len(runs)} runs; {BACK}{back} is before the first one")
    try:
        execution = None if not wanted else find_by_prefix(session, owner, wanted)
    except UnknownExecutionError:
        execution = None
    if execution is not None and (found := list_runs(session, owner.id, run_id=execution.id)):
        return found[0]
    raise OptionError(f"no evaluation and no run of one is called {wanted!r}; see `agentic evals list`")
