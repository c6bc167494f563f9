"""Two runs of an evaluation beside each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from agentic.core.evals.errors import EvalError
from agentic.core.evals.results import PASSED, CaseResult, CaseStatus, average

_SAME = 1e-9
"""Averages of floats that differ by less are equal."""

COST, TOKENS, SECONDS = "cost_usd", "tokens", "seconds"


class ComparedValue(BaseModel):
    """An average of both runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    before: float | None
    after: float | None

    @property
    def difference(self) -> float | None:
        """The second minus the first; None if one is not known."""
        return None if self.before is None or self.after is None else self.after - self.before


class ComparedCase(BaseModel):
    """A case whose result has changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    case_id: str
    before: dict[str, float]
    after: dict[str, float]
    failure_class: str = ""

    @property
    def changed(self) -> list[str]:
        """The evaluators whose average changed."""
        names = dict.fromkeys((*self.before, *self.after))
        return [name for name in names if abs(self.before.get(name, 0.0) - self.after.get(name, 0.0)) > _SAME]


class EvalComparison(BaseModel):
    """Two runs, over the cases that both have.

    Attributes:
        cases: How many cases both have.
        only_before: Cases that only the first has.
        only_after: Cases that only the second has.
        scores: Averages by evaluator, the share of passed tries first.
        use: Averages of a try: US dollars, tokens, seconds.
        worse: Cases with a lower share of passed tries; with the same, those with a lower average.
        better: The same, higher.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cases: int
    only_before: int
    only_after: int
    scores: tuple[ComparedValue, ...]
    use: tuple[ComparedValue, ...]
    worse: tuple[ComparedCase, ...]
    better: tuple[ComparedCase, ...]

    @property
    def pass_rate(self) -> ComparedValue:
        """The share of passed tries."""
        return self.scores[0]


def compare(before: Sequence[CaseResult], after: Sequence[CaseResult]) -> EvalComparison:
    """Return the differences between two runs.

    Averages are over tries, so that each case counts alike only if all have the same repeats.

    Args:
        before: Results of the first run.
        after: Results of the second.

    Raises:
        EvalError: They have no case in common.
    """
    first, second = _by_case(before), _by_case(after)
    shared = [name for name in first if name in second]
    if not shared:
        raise EvalError("the two runs have no case in common; compare runs with the same ids of cases")
    left = [one for name in shared for one in first[name]]
    right = [one for name in shared for one in second[name]]
    names = list(dict.fromkeys(name for one in (*left, *right) for name in one.scores))
    pairs = [_compared(name, first[name], second[name], names) for name in shared]
    return EvalComparison(
        cases=len(shared),
        only_before=len(first) - len(shared),
        only_after=len(second) - len(shared),
        scores=tuple(
            ComparedValue(name=name, before=_average(left, name), after=_average(right, name))
            for name in (PASSED, *names)
        ),
        use=tuple(
            ComparedValue(name=name, before=_used(left, name), after=_used(right, name))
            for name in (COST, TOKENS, SECONDS)
        ),
        worse=tuple(case for case, direction in pairs if direction < 0),
        better=tuple(case for case, direction in pairs if direction > 0),
    )


def _by_case(results: Iterable[CaseResult]) -> dict[str, list[CaseResult]]:
    found: defaultdict[str, list[CaseResult]] = defaultdict(list)
    for result in results:
        found[result.case_id].append(result)
    return dict(found)


def _compared(
    case_id: str, before: Sequence[CaseResult], after: Sequence[CaseResult], names: Sequence[str]
) -> tuple[ComparedCase, int]:
    """Return a case, and whether it is better (1), worse (-1) or neither (0)."""
    values = [{name: _average(side, name) for name in (PASSED, *names)} for side in (before, after)]
    failed = next((one.failure_class for one in after if one.failure_class), "")
    case = ComparedCase(case_id=case_id, before=values[0], after=values[1], failure_class=failed)
    ranks = [(side[PASSED], average([side[name] for name in names])) for side in values]
    return case, _direction(*ranks)


def _direction(before: tuple[float, float], after: tuple[float, float]) -> int:
    for left, right in zip(before, after, strict=True):
        if abs(left - right) > _SAME:
            return 1 if right > left else -1
    return 0


def _average(results: Sequence[CaseResult], name: str) -> float:
    if name == PASSED:
        return average([float(one.status is CaseStatus.PASSED) for one in results])
    return average([one.scores[name].value if name in one.scores else 0.0 for one in results])


def _used(results: Sequence[CaseResult], name: str) -> float | None:
    if name == SECONDS:
        return average([one.duration_s for one in results])
    if name == TOKENS:
        return average([float(one.usage.total_tokens) for one in results])
    costs = [one.usage.cost_usd for one in results]
    known = [cost for cost in costs if cost is not None]
    return average(known) if len(known) == len(costs) else None


def shown_difference(value: ComparedValue, digits: int = 3) -> str:
    """Return a difference with its sign; "" if it is not known, ``0`` without one."""
    found = value.difference
    if found is None:
        return ""
    rounded = round(found, digits)
    return f"{rounded:+g}" if rounded else "0"


def worst_first(cases: Iterable[ComparedCase]) -> list[ComparedCase]:
    """Return cases, those that changed most first."""
    return sorted(cases, key=_distance, reverse=True)


def _distance(case: ComparedCase) -> float:
    names: Mapping[str, float] = case.before
    return sum(abs(case.before[name] - case.after.get(name, 0.0)) for name in names)
