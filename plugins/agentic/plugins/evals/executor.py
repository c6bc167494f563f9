"""Runs evaluations, and reports on them to ``agentic doctor``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import cached_property, partial
from typing import TYPE_CHECKING, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from agentic.core.agents.specs.models import secret_names
from agentic.core.evals.case_models import ModelPolicy
from agentic.core.evals.cases import EvalCase, EvalTry, cases_of_rows, read_cases, tries_of
from agentic.core.evals.loading import faults_in
from agentic.core.evals.results import CaseResult, EvalSummary
from agentic.core.evals.running import CaseRunner
from agentic.core.evals.spec import StoredCases
from agentic.core.evals.tasks import task_of
from agentic.core.evals.workflow import EvalServices, KeepResult, eval_workflow
from agentic.core.llm.budget import Budget, BudgetStore
from agentic.core.llm.open_models import OpenModels
from agentic.core.pipeline import Judgement
from agentic.core.settings import load_settings
from agentic.core.threads import in_thread
from agentic.core.types import RunId, SaveCounts
from agentic.executors import BaseAgentExecutor
from agentic.executors.agents.actor_resources import ActorResources
from agentic.executors.agents.doctor import AgentsDoctor
from agentic.executors.base import AgentWork
from agentic.plugins.evals.settings import EvalSettings

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.mappers import Database

PLATFORM_NAME = "evals"
ModelT = TypeVar("ModelT", bound=BaseModel)


class EvalAgentExecutor(BaseAgentExecutor):
    """Runs an evaluation; config: :class:`EvalSettings`."""

    _summary: EvalSummary | None = None

    @cached_property
    def settings(self) -> EvalSettings:
        """The evaluation."""
        return self.read_config(EvalSettings)

    def read_config(self, model: type[ModelT]) -> ModelT:
        """Return the config as ``model``; see :class:`BaseAgentExecutor`.

        Raises:
            AgentConfigError: It is invalid; each fault has its place and the next step.
        """
        try:
            return model.model_validate(self.agent.config)
        except ValidationError as exc:
            raise self._misconfigured(*map(str, faults_in(exc))) from None

    def create_initial_state(self) -> dict[str, object]:
        """Return the name of the evaluation."""
        return {"agent_name": self.agent.agent_name, "goals": self.goals, "evaluation": self.settings.name}

    def work(self, database: Database) -> AgentWork:
        """Return the evaluation as a graph."""
        from agentic.core.http import HttpPolicy
        from agentic.mappers.vault.budgets import SqlBudgets

        spec, project_id = self.settings, self.agent.project_id
        task = spec.task.pipeline_spec
        policy = HttpPolicy() if task is None else task.http
        resources = ActorResources(database, project_id, policy, load_settings())
        opened = OpenModels()
        runner = CaseRunner(
            task=task_of(spec.task),
            evaluators=spec.evaluators,
            opened=opened,
            timeout_s=spec.timeout_s,
            context=resources.context,
        )

        async def tries() -> Sequence[EvalTry]:
            return await in_thread(read_tries, spec, database, project_id)

        services = EvalServices(
            runner=runner,
            tries=tries,
            policy=partial(policy_of, spec, SqlBudgets(database, project_id)),
            keep=self._keep,
        )

        async def close() -> None:
            async with AsyncExitStack() as stack:
                stack.push_async_callback(resources.aclose)
                stack.push_async_callback(opened.aclose)

        return AgentWork(
            workflow=eval_workflow(spec, services),
            message_of=lambda state: str(state["evaluation"]),
            close=close,
        )

    def save_results(self, results: dict[str, object]) -> bool:
        """Store the summary; the cases are rows already."""
        self._summary = EvalSummary.model_validate(results)
        return super().save_results(results)

    @property
    def counts(self) -> SaveCounts:
        """A row for each try."""
        return SaveCounts() if self._summary is None else SaveCounts(inserted=self._summary.tries)

    @property
    def failed_count(self) -> int:
        """Tries without an answer, or without all scores."""
        return 0 if self._summary is None else self._summary.failed

    @property
    def judgement(self) -> Judgement:
        """The verdict: limits that are not met fail the evaluation, failed cases make it partial."""
        found = self._summary
        if found is None:
            return Judgement()
        if found.failed == found.tries:
            return Judgement(
                outcome="failed", reason=f"all {found.tries} tries failed: {_told(found.failures)}"
            )
        if verdict := found.verdict():
            return Judgement(outcome="failed", reason=verdict)
        if found.failed:
            reason = f"{found.failed} of {found.tries} tries failed: {_told(found.failures)}"
            return Judgement(outcome="partial", reason=reason)
        return Judgement()

    async def execute_agent(self, state: dict[str, object]) -> NoReturn:
        """Never called, because :meth:`work` returns a graph."""
        raise NotImplementedError

    def _keep(self, run_id: RunId) -> KeepResult:
        agent, spec = self.agent, self.settings

        def keep(session: Session, result: CaseResult) -> None:
            from agentic.plugins.evals.mapper import EvalResultMapper

            EvalResultMapper(session, run_id, agent).save_case(spec, result)

        return keep


def _told(failures: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in failures.items())


def read_tries(spec: EvalSettings, database: Database, project_id: str) -> Sequence[EvalTry]:
    """Return all tries of an evaluation; blocks.

    Raises:
        CasesError: The cases cannot be read.
        OwnCodeError: Their file may not be used here.
    """
    return tries_of(all_cases(spec, database, project_id), spec.repeats)


def all_cases(spec: EvalSettings, database: Database, project_id: str) -> Sequence[EvalCase]:
    """Return the cases of an evaluation; blocks. Raises as :func:`read_tries`."""
    from agentic.core.actors.own_code import find_own_file
    from agentic.plugins.evals.rows import stored_rows

    match spec.cases:
        case StoredCases() as wanted:
            with database.reading() as session:
                rows = stored_rows(session, project_id, wanted)
            source = f"the rows of agent {wanted.agent!r}"
            numbered = ((f"row {number}", row) for number, row in enumerate(rows, 1))
            found: Sequence[EvalCase] = cases_of_rows(numbered, source, spec.columns)
        case str() as file:
            source = file
            found = read_cases(find_own_file(file), spec.columns)
        case cases:
            source, found = "the list", cases
    spec.check_cases(list(found), source)
    return found


def policy_of(spec: EvalSettings, budgets: BudgetStore, run_id: RunId) -> ModelPolicy:
    """Return how the models of a run are used."""
    from agentic.core.actors.own_code import find_own_folder

    budget = None
    if spec.max_usd is not None or spec.max_tokens is not None:
        budget = Budget(
            max_usd=spec.max_usd, max_tokens=spec.max_tokens, name=f"evaluation {run_id}", store=budgets
        )
    if spec.replies == "ask" or spec.recordings is None:
        return ModelPolicy(budget=budget)
    return ModelPolicy(replies=spec.replies, recordings=find_own_folder(spec.recordings), budget=budget)


def _secrets(settings: EvalSettings) -> Iterable[str]:
    agent = settings.task.agent
    return () if agent is None else secret_names(agent)


doctor = AgentsDoctor(platform=PLATFORM_NAME, settings=EvalSettings, secrets=_secrets)
"""Checks evaluations that are configured."""
