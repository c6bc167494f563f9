"""Prints runs of evaluations, and comparisons of two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from agentic.core.cli import console, print_facts, print_rows
from agentic.core.evals.comparing import (
    COST,
    ComparedCase,
    EvalComparison,
    shown_difference,
    worst_first,
)
from agentic.core.evals.results import PASSED, CaseResult, CaseStatus, EvalSummary
from agentic.core.evals.values import text_of_value
from agentic.core.ids import SHORT_CHARS
from agentic.core.terminal import harmless
from agentic.plugins.evals.commands.runs import EvalRun

SHOWN_CASES = 10
_REASON_CHARS = 60
STYLES = {CaseStatus.PASSED: "green", CaseStatus.MISSED: "yellow", CaseStatus.FAILED: "red"}


def summary_of(results: Sequence[CaseResult]) -> EvalSummary:
    """Return the summary of stored results."""
    return EvalSummary.of(results, _evaluators(results))


def run_data(run: EvalRun, results: Sequence[CaseResult]) -> dict[str, Any]:
    """Return a run for scripts."""
    return {
        **run.facts(),
        "summary": summary_of(results).model_dump(mode="json"),
        "results": [result.model_dump(mode="json") for result in results],
    }


def print_run(run: EvalRun, results: Sequence[CaseResult], *, shows_all: bool = False) -> None:
    """Print a run: averages, then the tries that did not pass, then its use of models."""
    summary = summary_of(results)
    rows = [
        {
            "evaluator": name,
            "average": f"{summary.averages[name]:.3f}",
            "passed": f"{_passes(results, name)} of {summary.tries}",
        }
        for name in _evaluators(results)
    ]
    title = f"{run.evaluation}: {summary.passed} of {_tries(summary.tries)} passed ({summary.pass_rate:.1%})"
    if rows:
        print_rows(title, ("evaluator", "average", "passed"), rows)
    else:  # no try has an answer
        console.print(Text(harmless(title), "bold"), soft_wrap=True)
    listed = [one for one in results if shows_all or one.status is not CaseStatus.PASSED]
    if listed:
        _print_tries(listed, shows_all=shows_all, has_repeats=any(one.repeat > 1 for one in results))
    print_facts("run", _facts(run, summary))


def _print_tries(results: Sequence[CaseResult], *, shows_all: bool, has_repeats: bool) -> None:
    shown = results if shows_all else results[:SHOWN_CASES]
    more = len(results) - len(shown)
    title = "Tries" if shows_all else "Not passed"
    rows = [
        {
            "case": one.case_id,
            "try": one.repeat,
            "status": one.failure_class or str(one.status),
            "score": f"{one.score:.2f}",
            "why": _why(one),
        }
        for one in shown
    ]
    columns = ("case", *(("try",) if has_repeats else ()), "status", "score", "why")
    print_rows(title, columns, rows, styles={"status": [STYLES[one.status] for one in shown]})
    if more:
        console.print(f"  ... and {more} more: --all lists them", highlight=False)


def print_case(result: CaseResult) -> None:
    """Print a try whole."""
    facts: dict[str, object] = {
        "status": str(result.status),
        "failure": result.error and f"{result.failure_class}: {result.error}",
        "input": text_of_value(result.input),
        "expected": None if result.expected is None else text_of_value(result.expected),
        "answer": None if result.answer is None else text_of_value(result.answer),
        "metadata": text_of_value(result.metadata) if result.metadata else None,
    }
    for name, one in result.scores.items():
        facts[name] = f"{one.value:g}" + (f" ({one.reason})" if one.reason else "")
    facts["tokens"] = f"{result.usage.input_tokens:,} in, {result.usage.output_tokens:,} out"
    facts["cost"] = _dollars(result.usage.cost_usd)
    facts["seconds"] = f"{result.duration_s:.2f}"
    print_facts(
        f"{result.case_id}, try {result.repeat}", {key: fact for key, fact in facts.items() if fact != ""}
    )


def comparison_data(before: EvalRun, after: EvalRun, found: EvalComparison) -> dict[str, Any]:
    """Return a comparison for scripts."""
    values = {
        kind: [{**one.model_dump(), "difference": one.difference} for one in getattr(found, kind)]
        for kind in ("scores", "use")
    }
    return {"before": before.facts(), "after": after.facts(), **found.model_dump(mode="json"), **values}


def print_comparison(before: EvalRun, after: EvalRun, found: EvalComparison) -> None:
    """Print a comparison: averages, use, and the cases that changed."""
    for name, run in (("before", before), ("after", after)):
        named = ", ".join(filter(None, (run.evaluation, run.task, run.model)))
        line = f"{name:>6}  {run.id[:SHORT_CHARS]}  {named}"
        console.print(harmless(line), markup=False, highlight=False, soft_wrap=True)
    rows = [
        {
            "average": one.name,
            "before": _number(one.before, one.name),
            "after": _number(one.after, one.name),
            "difference": shown_difference(one, 6 if one.name == COST else 3),
        }
        for one in (*found.scores, *found.use)
    ]
    styles = [_sign_style(one.difference) for one in found.scores] + [None for _ in found.use]
    title = f"{found.cases} {'case' if found.cases == 1 else 'cases'} of both runs"
    print_rows(title, ("average", "before", "after", "difference"), rows, styles={"difference": styles})
    for only, side in ((found.only_before, "before"), (found.only_after, "after")):
        if only:
            console.print(
                f"  {only} {'case is' if only == 1 else 'cases are'} only in {side}", highlight=False
            )
    _print_cases("Worse", found.worse)
    _print_cases("Better", found.better)
    if not found.worse and not found.better:
        console.print("no case got worse or better", highlight=False)


def _print_cases(title: str, cases: Sequence[ComparedCase]) -> None:
    if not cases:
        return
    rows = [
        {"case": one.case_id, "changed": "; ".join(_changes(one)), "failure": one.failure_class}
        for one in worst_first(cases)[:SHOWN_CASES]
    ]
    columns = ("case", "changed", *(("failure",) if any(row["failure"] for row in rows) else ()))
    print_rows(f"{title}: {len(cases)}", columns, rows)
    if (more := len(cases) - SHOWN_CASES) > 0:
        console.print(f"  ... and {more} more: --json has all", highlight=False)


def _changes(case: ComparedCase) -> Iterator[str]:
    for name in case.changed:
        if name != PASSED or len(case.changed) == 1:
            yield f"{name} {case.before.get(name, 0.0):.2f} -> {case.after.get(name, 0.0):.2f}"


def _sign_style(difference: float | None) -> str | None:
    if not difference:
        return None
    return "green" if difference > 0 else "red"


def _number(value: float | None, name: str) -> str:
    if value is None:
        return "not known"
    return f"{value:.6f}" if name == COST else f"{value:.3f}"


def _facts(run: EvalRun, summary: EvalSummary) -> dict[str, object]:
    used, judging = summary.usage, summary.judging
    asked = f"{used.requests:,} requests, {used.input_tokens:,} tokens in, {used.output_tokens:,} out"
    return {
        "task": ", ".join(filter(None, (run.task, run.model))),
        "failures": ", ".join(f"{count} {name}" for name, count in summary.failures.items()) or None,
        "models": f"{asked}, {_dollars(used.cost_usd)}" if used.requests else None,
        "judges": f"{judging.total_tokens:,} tokens, {_dollars(judging.cost_usd)}"
        if judging.total_tokens
        else None,
        "seconds": f"{summary.duration_s:.2f} a try",
        "more": f"agentic evals show {run.id[:SHORT_CHARS]} --case ID",
    }


def _why(result: CaseResult) -> str:
    if result.error:
        return _cut(result.error)
    missed = [(name, one) for name, one in result.scores.items() if not one.passed]
    return _cut("; ".join(f"{name}: {one.reason or format(one.value, 'g')}" for name, one in missed))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _REASON_CHARS else f"{line[: _REASON_CHARS - 1]}…"


def _dollars(cost_usd: float | None) -> str:
    return "price not known" if cost_usd is None else f"${cost_usd:.4f}".rstrip("0").rstrip(".")


def _tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"


def _passes(results: Sequence[CaseResult], evaluator: str) -> int:
    return sum(1 for one in results if evaluator in one.scores and one.scores[evaluator].passed)


def _evaluators(results: Sequence[CaseResult]) -> list[str]:
    return list(dict.fromkeys(name for one in results for name in one.scores))


def failure_line(text: str) -> Text:
    """Return the line that says why an evaluation failed."""
    return Text(harmless(text), "red")
