"""An evaluation as a graph: read the cases, answer and score each, sum up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentic.core.agents.executor import ContextJournal
from agentic.core.agents.journal import EffectJournal
from agentic.core.agents.requests import PendingRequest
from agentic.core.evals.case_models import ModelPolicy
from agentic.core.evals.cases import EvalTry
from agentic.core.evals.results import CaseResult, EvalSummary
from agentic.core.evals.running import CaseRunner, failed_try
from agentic.core.evals.spec import EvalSpec
from agentic.core.graph import (
    CustomEvent,
    Executor,
    ItemResult,
    RunResult,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
)
from agentic.core.types import JSONValue, RunId

CASE_ENDED = "eval.case"
"""Type of the event of a try that has ended: ``{"case", "repeat", "status", "failure_class"}``."""

CRASHED = "crashed"
"""Failure class of a try whose process died each time."""

WINDOW = 1_000

KeepResult = Callable[[Any, CaseResult], None]
"""Stores a result; gets the session of the transaction that ends its activation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalServices:
    """The surroundings of an evaluation.

    Attributes:
        runner: Runs the tries.
        tries: Returns all of them; raises if they cannot be read.
        policy: Returns how the models of a run are used.
        keep: Stores a result, given the run; without it results are only summed up.
    """

    runner: CaseRunner
    tries: Callable[[], Awaitable[Sequence[EvalTry]]]
    policy: Callable[[RunId], ModelPolicy]
    keep: Callable[[RunId], KeepResult] | None = None


def eval_workflow(spec: EvalSpec, services: EvalServices) -> Workflow:
    """Return the graph of an evaluation; it yields an :class:`EvalSummary` as JSON-able data.

    On a ledger each answer, and each reply of a model, is kept as it comes; the row of a try is stored in the
    transaction that ends its activation: once, however often its worker dies.
    """
    read, run = _ReadCases(services), _RunCase(services)
    sum_up = _SumUp(spec, services)
    return (
        WorkflowBuilder("evaluation", version="1")
        .set_start(read)
        .add_map_edge(read, run, sum_up, max_parallel=spec.parallel, window=WINDOW)
        .build()
    )


class _ReadCases(Executor):
    def __init__(self, services: EvalServices) -> None:
        super().__init__("cases")
        self._services = services

    @handler
    async def read(self, _: str, ctx: WorkflowContext[Any, Any]) -> list[EvalTry]:
        """Return all tries."""
        self._services.policy(
            _outer(ctx.run_id)
        )  # a folder that may not be used fails the run, not each case
        return list(await self._services.tries())


class _RunCase(Executor):
    def __init__(self, services: EvalServices) -> None:
        super().__init__("case")
        self._services = services

    @handler
    async def run(self, given: EvalTry, ctx: WorkflowContext[Any, Any]) -> CaseResult:
        """Answer a case and give its scores."""
        services, run_id = self._services, _outer(ctx.run_id)
        result = await services.runner.run(
            given,
            CaseJournal(ctx),
            services.policy(run_id),
            run_id=run_id,
            call_id=ctx.idempotency_key,
        )
        if services.keep is not None:
            ctx.on_commit(_keeping(services.keep(run_id), [result]))
        facts: dict[str, JSONValue] = {
            "case": result.case_id,
            "repeat": result.repeat,
            "status": str(result.status),
            "failure_class": result.failure_class,
        }
        await ctx.add_event(CustomEvent(type=CASE_ENDED, data=facts))
        return result.short()


class _SumUp(Executor):
    def __init__(self, spec: EvalSpec, services: EvalServices) -> None:
        super().__init__("summary")
        self._spec = spec
        self._services = services

    @handler
    async def sum_up(self, items: list[ItemResult], ctx: WorkflowContext[Any, Any]) -> None:
        """Yield the summary; a try that its worker could not end has failed, too."""
        results, broken = [], []
        for item in items:
            if isinstance(item.value, CaseResult):
                results.append(item.value)
                continue
            broken.append(failed_try(cast("EvalTry", item.item), *_reason(item)))
        if broken and self._services.keep is not None:
            ctx.on_commit(_keeping(self._services.keep(_outer(ctx.run_id)), broken))
        found = [*results, *(one.short() for one in broken)]
        summary = EvalSummary.of(found, self._spec.labels, self._spec.limits)
        await ctx.yield_output(summary.model_dump(mode="json"))


class CaseJournal:
    """The effects of a try as effects of its activation. Questions to people have no answer.

    Args:
        ctx: Of the activation.
    """

    def __init__(self, ctx: WorkflowContext[Any, Any]) -> None:
        self._ctx = ctx
        self._inner: EffectJournal = ContextJournal(ctx)

    async def once(self, key: str, effect: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        """Run an effect once; see :class:`~agentic.core.agents.journal.EffectJournal`."""
        return await self._ctx.once(key, effect)

    async def ask(self, requests: Sequence[PendingRequest], part: str = "") -> None:
        """Return nothing: an agent that asks has no answer to its case."""
        del requests, part

    async def run_workflow(
        self, key: str, workflow: Workflow, message: object, *, is_kept: bool = True
    ) -> RunResult | None:
        """Run a workflow as a sub-run of the activation."""
        return await self._inner.run_workflow(key, workflow, message, is_kept=is_kept)


def _reason(item: ItemResult) -> tuple[str, str]:
    """Return the failure class and the message of a try whose activation failed."""
    if item.error is None:
        return "error", "its activation has no result"
    named = item.error.error_type.rpartition(".")[2]
    return (CRASHED if named == "CrashedError" else named), item.error.message


def _keeping(keep: KeepResult, results: Sequence[CaseResult]) -> Callable[[Any], None]:
    def store(session: Any) -> None:  # noqa: ANN401  # of the ledger
        for result in results:
            keep(session, result)

    return store


def _outer(run_id: RunId) -> RunId:
    """Return the run that the user knows: the graph may be a child of it."""
    return RunId(run_id.partition("/")[0])
