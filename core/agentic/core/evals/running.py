"""One try of a case: the task answers, then the evaluators give their scores."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict

from agentic.core.actors.failures import describe_failure, failure_class_of
from agentic.core.agents.errors import OutputNotMetError
from agentic.core.agents.journal import EffectJournal
from agentic.core.agents.responses import ResponseStatus
from agentic.core.agents.tools.actors import ContextOf
from agentic.core.evals.case_models import CaseModels, ModelPolicy, place_of
from agentic.core.evals.cases import EvalTry
from agentic.core.evals.errors import NotRecordedError, UnansweredError
from agentic.core.evals.evaluators import Evaluator
from agentic.core.evals.results import CaseResult, CaseStatus, EvalAnswer, EvalScore
from agentic.core.evals.tasks import CaseTask, TaskCall
from agentic.core.llm.budget import BudgetExceededError
from agentic.core.llm.open_models import OpenModels
from agentic.core.llm.usage import TokenUsage
from agentic.core.llm.wrappers.recordings import MissingRecordingError
from agentic.core.types import JSONValue, RunId

if TYPE_CHECKING:
    from agentic.core.actors.context import Once

TIMEOUT_S = 300.0
STOPPED = str(ResponseStatus.STOPPED)


class _KeptAnswer(BaseModel):
    """An answer, or the reason of its absence; kept, because no case is asked again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: JSONValue = None
    failure_class: str = ""
    error: str = ""
    usage: TokenUsage = TokenUsage()
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRunner:
    """Runs tries of cases.

    Attributes:
        task: Answers them.
        evaluators: Give the scores.
        opened: Has the connections of all models.
        timeout_s: Seconds that an answer may take.
        context: Services of actors and pipelines, and the secrets.
        clock: Monotonic seconds.
    """

    task: CaseTask
    evaluators: Sequence[Evaluator]
    opened: OpenModels = field(default_factory=OpenModels)
    timeout_s: float = TIMEOUT_S
    context: ContextOf | None = None
    clock: Callable[[], float] = time.monotonic

    async def run(
        self, given: EvalTry, journal: EffectJournal, policy: ModelPolicy, *, run_id: RunId, call_id: str
    ) -> CaseResult:
        """Return the result of a try; a failure of the task or of an evaluator is part of it.

        Args:
            given: The try.
            journal: Keeps its effects: kept requests are not made again.
            policy: How models are used.
            run_id: The run of the evaluation.
            call_id: The same for each run of this try, also in another process.
        """

        async def answer() -> JSONValue:
            found = await self._answer(given, journal, policy, run_id, call_id)
            return cast("JSONValue", found.model_dump(mode="json", exclude_defaults=True))

        kept = _KeptAnswer.model_validate(await journal.once("answer", answer))
        if kept.failure_class:
            return _result(given, kept, {}, TokenUsage())
        models = CaseModels(self.opened, policy, _place(given, "judge"), once=_once_of(journal, "judge"))
        answered = EvalAnswer(
            case_id=given.case.id,
            input=given.case.input,
            expected=given.case.expected,
            metadata=given.case.metadata,
            answer=kept.value,
            usage=kept.usage,
            duration_s=kept.duration_s,
            models=models,
            secrets=None if self.context is None else self.context(run_id).secrets,
        )
        scores = {one.label: await _scored(one, answered) for one in self.evaluators}
        return _result(given, kept, scores, models.usage)

    async def _answer(
        self, given: EvalTry, journal: EffectJournal, policy: ModelPolicy, run_id: RunId, call_id: str
    ) -> _KeptAnswer:
        once = None if self.task.journals_models else _once_of(journal, "task")
        models = CaseModels(self.opened, policy, _place(given), once=once)
        call = TaskCall(
            input=given.case.input,
            call_id=call_id,
            run_id=run_id,
            models=models,
            journal=journal,
            context=self.context,
        )
        began = self.clock()
        limit = asyncio.timeout(self.timeout_s)
        try:
            async with limit:
                found = await self.task.answer(call)
        except Exception as exc:
            error = exc
            if isinstance(exc, TimeoutError) and limit.expired():
                error = UnansweredError("timeout", f"no answer within {self.timeout_s:g} s")
            failure_class, text = failure_of(error)
            if models.is_over_budget and failure_class == STOPPED:
                failure_class = BudgetExceededError.failure_class
            usage = getattr(error, "usage", None)
            return _KeptAnswer(
                failure_class=failure_class,
                error=text,
                usage=usage if isinstance(usage, TokenUsage) else models.usage,
                duration_s=self.clock() - began,
            )
        usage = models.usage if found.usage is None else found.usage
        return _KeptAnswer(value=found.value, usage=usage, duration_s=self.clock() - began)


async def _scored(evaluator: Evaluator, given: EvalAnswer) -> EvalScore:
    """Return a score; an evaluator that fails gives 0, with the class of its failure."""
    try:
        return await evaluator.score(given)
    except Exception as exc:
        failure_class, text = failure_of(exc)
        return EvalScore(value=0.0, passed=False, reason=text, failure_class=failure_class)


def failure_of(exc: Exception) -> tuple[str, str]:
    """Return the failure class and the message of an error; without secrets that this process has read."""
    message = describe_failure(exc).message
    if isinstance(exc, MissingRecordingError):
        return NotRecordedError.failure_class, message
    if isinstance(exc, OutputNotMetError):
        return "schema_invalid", message
    named = getattr(exc, "failure_class", None)
    if isinstance(named, str) and named:
        return named, message
    known = failure_class_of(exc)
    named = f"{type(exc).__name__}: {message}" if known == "error" and message else message
    return known, named


def _result(
    given: EvalTry, kept: _KeptAnswer, scores: dict[str, EvalScore], judging: TokenUsage
) -> CaseResult:
    broken = next(((name, one) for name, one in scores.items() if one.failure_class), None)
    if kept.failure_class or broken is not None:
        status = CaseStatus.FAILED
    else:
        status = CaseStatus.PASSED if all(one.passed for one in scores.values()) else CaseStatus.MISSED
    return CaseResult(
        case_id=given.case.id,
        repeat=given.repeat,
        status=status,
        input=given.case.input,
        expected=given.case.expected,
        metadata=given.case.metadata,
        answer=kept.value,
        scores=scores,
        failure_class=kept.failure_class or ("" if broken is None else broken[1].failure_class),
        error=kept.error or ("" if broken is None else f"evaluator {broken[0]}: {broken[1].reason}"),
        usage=kept.usage,
        judging=judging,
        duration_s=kept.duration_s,
    )


def failed_try(given: EvalTry, failure_class: str, error: str) -> CaseResult:
    """Return the result of a try that could not be run to its end."""
    return _result(given, _KeptAnswer(failure_class=failure_class, error=error), {}, TokenUsage())


def _place(given: EvalTry, part: str = "") -> str:
    return place_of(given.case.id, given.repeat, part)


def _once_of(journal: EffectJournal, part: str) -> Once:
    async def once(key: str, work: Callable[[], object]) -> JSONValue:
        return await journal.once(f"{part}.{key}", work)  # type: ignore[arg-type]  # an Awaitable, as of Once

    return cast("Once", once)
