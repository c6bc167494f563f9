"""An evaluation whose process is killed at given points, and begun again, until it is over.

One process imports everything and forks a child for each life. ``effects.log`` has a line for each request to
a model, each call of a tool, and each row.

python -m tests.faults.plugins.evaluating URL PROJECT AGENT PARALLEL KILLS
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentic.core.agents.specs.spec import AgentSpec
from agentic.core.evals import (
    CaseResult,
    EvalCase,
    EvalServices,
    EvalSpec,
    EvalTask,
    ExactEvaluator,
    JudgeEvaluator,
    eval_workflow,
)
from agentic.core.evals.case_models import ModelPolicy
from agentic.core.evals.cases import EvalTry, tries_of
from agentic.core.evals.running import CaseRunner
from agentic.core.evals.tasks import task_of
from agentic.core.evals.workflow import KeepResult
from agentic.core.graph import RunStatus
from agentic.core.llm import Budget, FunctionModel, ModelRequest, ScriptLine
from agentic.core.llm.open_models import OpenModels
from agentic.core.types import RunId
from agentic.executors.durable import LocalRuns, Submission, WorkflowCatalog
from agentic.mappers import AgentModel, Database
from agentic.mappers.ledger.ledger import SqlLedger
from agentic.mappers.vault.budgets import SqlBudgets
from agentic.plugins.evals.mapper import EvalResultMapper

LOG = Path("effects.log")
LEASE_S = 0.3
RUN = "evaluation"
CASES = 6
REPEATS = 2
KINDS = ("agent", "judge", "row")

Point = tuple[str, int]


def points() -> list[Point]:
    """Return the numbers of all effects of one kind."""
    return [(kind, number) for kind in KINDS for number in range(CASES * REPEATS)]


class Life:
    """What one process does, until it is killed before an effect.

    Args:
        kill_at: The effect, by the number of its kind so far, over all lives.
    """

    def __init__(self, kill_at: Point | None) -> None:
        self.kill_at = kill_at

    def enter(self, kind: str, about: str) -> None:
        """Note an effect, or be killed before it."""
        before = LOG.read_text().splitlines() if LOG.exists() else []
        if (kind, sum(line.startswith(f"{kind} ") for line in before)) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with LOG.open("a") as log:
            log.write(f"{kind} {about}\n")

    def agent(self, request: ModelRequest) -> ScriptLine:
        """Answer a case."""
        self.enter("agent", request.messages[-1].text)
        return request.messages[-1].text.upper()

    def judge(self, request: ModelRequest) -> ScriptLine:
        """Judge an answer."""
        self.enter("judge", " ".join(request.messages[0].text.split()))
        return '{"reason": "fine", "score": 1}'


def spec_of(parallel: int) -> EvalSpec:
    """Return the evaluation."""
    return EvalSpec(
        name=RUN,
        task=EvalTask(agent=AgentSpec(name="shouter", model="test:agent")),
        cases=tuple(EvalCase(id=f"c{n}", input=f"word {n}", expected=f"WORD {n}") for n in range(CASES)),
        evaluators=(ExactEvaluator(), JudgeEvaluator(model="test:judge", rubric="Loud.")),
        repeats=REPEATS,
        parallel=parallel,
    )


def services_of(spec: EvalSpec, life: Life, database: Database, agent: AgentModel) -> EvalServices:
    """Return the surroundings of the evaluation: the ledger's database, and models that note requests."""
    known = {
        "test:agent": FunctionModel(life.agent, name="test:agent"),
        "test:judge": FunctionModel(life.judge, name="test:judge"),
    }
    runner = CaseRunner(
        task=task_of(spec.task),
        evaluators=spec.evaluators,
        opened=OpenModels(known),
    )

    async def tries() -> Sequence[EvalTry]:
        assert isinstance(spec.cases, tuple)
        return tries_of(spec.cases, spec.repeats)

    def policy(run_id: RunId) -> ModelPolicy:
        store = SqlBudgets(database, agent.project_id)
        return ModelPolicy(budget=Budget(max_tokens=1_000_000, name=run_id, store=store))

    def keep(run_id: RunId) -> KeepResult:
        def store(session: Any, result: CaseResult) -> None:
            EvalResultMapper(session, run_id, agent).save_case(spec, result)
            session.commit()
            life.enter("row", f"{result.case_id} {result.repeat}")

        return store

    return EvalServices(runner=runner, tries=tries, policy=policy, keep=keep)


async def live(url: str, agent: AgentModel, parallel: int, kill_at: Point | None) -> None:
    """Work on the run to its end, or to the point."""
    database, spec = Database(url), spec_of(parallel)
    services = services_of(spec, Life(kill_at), database, agent)
    catalog = WorkflowCatalog({"evaluation": lambda: eval_workflow(spec, services)})
    store = SqlLedger(database, project_id=agent.project_id)
    options = {"only": RunId(RUN), "is_alone": True, "lease_s": LEASE_S, "worker": f"life-{os.getpid()}"}
    async with LocalRuns(store, catalog, sweep_s=0.05, options=options) as runs:  # type: ignore[arg-type]
        how = Submission(run_id=RUN, idempotency_key=RUN, is_told=False)
        result = await (await runs.submit("evaluation", RUN, how)).result(timeout_s=60)
    if result.status is RunStatus.COMPLETED:
        sys.stdout.write(str(result.output(dict)["averages"]) + "\n")


def main(url: str, project_id: str, agent_id: str, parallel: str, kills: str) -> None:
    """Let children live one after the other; the last one to the end. Print how many were killed."""
    database = Database(url)
    with database.reading() as session:
        agent = session.get_one(AgentModel, agent_id)
        assert agent.project_id == project_id
        session.expunge_all()
    database.dispose()
    chosen = random.Random(7).sample(points(), int(kills))
    chosen.sort(key=lambda point: (point[1], KINDS.index(point[0])))
    killed = 0
    for kill_at in (*chosen, None):
        pid = os.fork()
        if pid == 0:
            asyncio.run(live(url, agent, int(parallel), kill_at))
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            killed += 1
        else:  # where tries run at a time, a point may have passed before its turn
            break
    sys.stdout.write(f"{killed}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
