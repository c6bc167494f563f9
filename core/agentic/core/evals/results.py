"""Answers, scores and results of cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from agentic.core.actors.ports import SecretStore
    from agentic.core.evals.case_models import CaseModels

PASSED = "passed"
"""The share of tries that passed, among averages and limits."""


class CaseStatus(StrEnum):
    """How a try of a case ended."""

    __wire_name__ = "agentic.evals.CaseStatus"

    PASSED = "passed"
    MISSED = "missed"
    """There is an answer, and an evaluator did not accept it."""

    FAILED = "failed"
    """The answer is missing, or an evaluator failed: see the failure class."""


class EvalScore(BaseModel):
    """The score of one evaluator for one answer."""

    __wire_name__ = "agentic.evals.EvalScore"

    model_config = ConfigDict(extra="forbid", frozen=True)

    value: FiniteFloat = Field(description="Usually from 0 to 1.")
    passed: bool
    reason: str = ""
    failure_class: str = Field(default="", description="Why the evaluator failed, if it did; the value is 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalAnswer:
    """An answer, for evaluators.

    Attributes:
        case_id: The case.
        input: Of the case.
        expected: Of the case.
        metadata: Of the case.
        answer: A text, or JSON data.
        usage: Of models, by the task.
        duration_s: Seconds until the answer.
        models: Opens models for evaluators: counted, within the budget, and replayed.
        secrets: Of the project; None without one.
    """

    case_id: str
    input: JSONValue
    expected: JSONValue
    metadata: Mapping[str, JSONValue]
    answer: JSONValue
    usage: TokenUsage
    duration_s: float
    models: CaseModels = field(repr=False)
    secrets: SecretStore | None = field(default=None, repr=False)


class CaseResult(BaseModel):
    """The result of one try of a case."""

    __wire_name__ = "agentic.evals.CaseResult"

    model_config = ConfigDict(extra="forbid", frozen=True)

    case_id: str
    repeat: int = 1
    status: CaseStatus
    input: JSONValue = None
    expected: JSONValue = None
    metadata: dict[str, JSONValue] = {}
    answer: JSONValue = None
    scores: dict[str, EvalScore] = {}
    failure_class: str = ""
    error: str = ""
    usage: TokenUsage = Field(default=TokenUsage(), description="By the task.")
    judging: TokenUsage = Field(default=TokenUsage(), description="By evaluators.")
    duration_s: float = Field(default=0.0, description="Seconds until the answer.")

    @property
    def score(self) -> float:
        """The average of its scores; 0 for a case that failed."""
        if self.status is CaseStatus.FAILED or not self.scores:
            return float(self.status is CaseStatus.PASSED)
        return average([one.value for one in self.scores.values()])

    def short(self) -> CaseResult:
        """Return the result without texts: a graph carries it, and its row has the rest."""
        bare = {name: one.model_copy(update={"reason": ""}) for name, one in self.scores.items()}
        untold: dict[str, object] = {
            "input": None,
            "expected": None,
            "metadata": {},
            "answer": None,
            "error": "",
        }
        return self.model_copy(update={**untold, "scores": bare})


class EvalSummary(BaseModel):
    """The result of an evaluation."""

    __wire_name__ = "agentic.evals.EvalSummary"

    model_config = ConfigDict(extra="forbid", frozen=True)

    cases: int
    tries: int
    passed: int
    missed: int
    failed: int
    averages: dict[str, float] = Field(
        description="Evaluator -> average of all tries; a try without an answer counts as 0."
    )
    failures: dict[str, int] = Field(default={}, description="Failure class -> tries.")
    usage: TokenUsage = TokenUsage()
    judging: TokenUsage = TokenUsage()
    duration_s: float = Field(default=0.0, description="Average seconds of a try.")
    below: dict[str, float] = Field(default={}, description="Limit that is not met -> its value.")

    @property
    def pass_rate(self) -> float:
        """The share of tries that passed."""
        return self.averages[PASSED]

    @classmethod
    def of(
        cls,
        results: Sequence[CaseResult],
        evaluators: Iterable[str],
        limits: Mapping[str, float] | None = None,
    ) -> EvalSummary:
        """Return the summary of results.

        Args:
            results: Of all tries.
            evaluators: Their names.
            limits: Name of an evaluator, or ``passed`` -> the lowest average.
        """
        count = Counter(result.status for result in results)
        averages = {PASSED: count[CaseStatus.PASSED] / len(results) if results else 0.0}
        for name in evaluators:
            averages[name] = average([_value(result, name) for result in results])
        below = {name: limit for name, limit in (limits or {}).items() if averages[name] < limit}
        return cls(
            cases=len({result.case_id for result in results}),
            tries=len(results),
            passed=count[CaseStatus.PASSED],
            missed=count[CaseStatus.MISSED],
            failed=count[CaseStatus.FAILED],
            averages=averages,
            failures=dict(Counter(one.failure_class for one in results if one.failure_class).most_common()),
            usage=sum((result.usage for result in results), TokenUsage()),
            judging=sum((result.judging for result in results), TokenUsage()),
            duration_s=average([result.duration_s for result in results]),
            below=below,
        )

    def verdict(self) -> str:
        """Return the limits that are not met, as text; "" if all are."""
        told = (
            f"{name} is {self.averages[name]:.3g}, below {limit:.3g}" for name, limit in self.below.items()
        )
        return "; ".join(told)


def _value(result: CaseResult, evaluator: str) -> float:
    score = result.scores.get(evaluator)
    return 0.0 if score is None else score.value


def average(values: Sequence[float]) -> float:
    """Return the average of values; 0 of none."""
    return sum(values) / len(values) if values else 0.0
