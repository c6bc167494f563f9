"""Two runs of an evaluation beside each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.core.evals import CaseResult, CaseStatus, EvalError, EvalScore, EvalSummary, compare
from agentic.core.llm.usage import TokenUsage


def result(case_id: str, value: float, *, repeat: int = 1, cost_usd: float | None = 0.5) -> CaseResult:
    passed = value >= 0.5
    return CaseResult(
        case_id=case_id,
        repeat=repeat,
        status=CaseStatus.PASSED if passed else CaseStatus.MISSED,
        scores={"exact": EvalScore(value=value, passed=passed)},
        usage=TokenUsage(input_tokens=10, cost_usd=cost_usd),
    )


results = st.lists(
    st.builds(result, st.sampled_from("abcd"), st.sampled_from([0.0, 0.3, 0.6, 1.0])), min_size=1, max_size=8
)


def test_averages_differences_and_changed_cases_are_told() -> None:
    before = [result("a", 1.0), result("b", 0.0), result("c", 0.6), result("gone", 1.0)]
    after = [result("a", 0.0), result("b", 1.0), result("c", 0.9, cost_usd=None), result("new", 0.0)]
    found = compare(before, after)
    assert (found.cases, found.only_before, found.only_after) == (3, 1, 1)
    passed, exact = found.scores
    assert (passed.before, passed.after) == (2 / 3, 2 / 3)
    assert exact.difference == pytest.approx(0.1)
    assert [one.case_id for one in found.worse] == ["a"]
    assert [one.case_id for one in found.better] == ["b", "c"]
    cost = found.use[0]
    assert (cost.before, cost.after, cost.difference) == (0.5, None, None)


def test_a_case_that_fails_now_is_worse_and_names_its_failure() -> None:
    failed = CaseResult(case_id="a", status=CaseStatus.FAILED, failure_class="timeout")
    (worse,) = compare([result("a", 0.6)], [failed]).worse
    assert (worse.failure_class, worse.after) == ("timeout", {"passed": 0.0, "exact": 0.0})


def test_repeats_count_as_their_average() -> None:
    before = [result("a", 1.0), result("a", 0.0, repeat=2)]
    found = compare(before, [result("a", 1.0), result("a", 1.0, repeat=2)])
    assert found.pass_rate.difference == 0.5
    assert [one.case_id for one in found.better] == ["a"]


def test_runs_without_a_common_case_cannot_be_compared() -> None:
    with pytest.raises(EvalError, match="no case in common"):
        compare([result("a", 1.0)], [result("b", 1.0)])


@given(results)
def test_a_run_is_neither_worse_nor_better_than_itself(one: list[CaseResult]) -> None:
    found = compare(one, one)
    assert (found.worse, found.better) == ((), ())
    assert all(value.difference == 0 for value in found.scores)


@given(results, results)
def test_what_is_worse_one_way_is_better_the_other_way(
    one: list[CaseResult], other: list[CaseResult]
) -> None:
    if {a.case_id for a in one} & {b.case_id for b in other}:
        there, back = compare(one, other), compare(other, one)
        assert {case.case_id for case in there.worse} == {case.case_id for case in back.better}
        assert there.only_before == back.only_after


@given(results, st.floats(0, 1))
def test_a_limit_is_met_exactly_from_its_average_up(one: list[CaseResult], limit: float) -> None:
    summary = EvalSummary.of(one, ["exact"], {"exact": limit})
    assert bool(summary.below) == (summary.averages["exact"] < limit)
