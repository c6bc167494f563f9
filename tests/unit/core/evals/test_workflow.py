"""Evaluations as graphs: cases, tries, summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from agentic.core.evals import (
    EvalCase,
    EvalServices,
    EvalSpec,
    EvalSummary,
    EvalTask,
    ExactEvaluator,
    eval_workflow,
)
from agentic.core.evals.case_models import ModelPolicy
from agentic.core.evals.cases import EvalTry, tries_of
from agentic.core.evals.running import CaseRunner
from agentic.core.evals.tasks import task_of
from agentic.core.graph import Workflow
from agentic.core.types import RunId


def graph(task: Callable[[str], str], policy: Callable[[RunId], ModelPolicy], repeats: int = 1) -> Workflow:
    """Return the graph of an evaluation of a function, in memory."""
    spec = EvalSpec(
        name="shouts",
        task=EvalTask(function="./unused.py:task"),
        cases=tuple(EvalCase(id=name, input=name, expected=name.upper()) for name in "abc"),
        evaluators=(ExactEvaluator(),),
        repeats=repeats,
    )

    async def tries() -> Sequence[EvalTry]:
        assert isinstance(spec.cases, tuple)
        return tries_of(spec.cases, spec.repeats)

    runner = CaseRunner(task=task_of(task), evaluators=spec.evaluators)
    return eval_workflow(spec, EvalServices(runner=runner, tries=tries, policy=policy))


async def summary(workflow: Workflow) -> EvalSummary:
    return EvalSummary.model_validate((await workflow.run("shouts")).output(dict))


async def test_each_try_is_an_event_and_the_output_is_the_summary() -> None:
    workflow = graph(lambda text: text.upper() if text != "b" else text, lambda _: ModelPolicy(), repeats=2)
    stream = workflow.run_stream("shouts")
    events = [event.data["data"] async for event in stream if event.kind == "custom"]
    assert len(events) == 6
    assert {"case": "b", "repeat": 2, "status": "missed", "failure_class": ""} in events
    found = EvalSummary.model_validate((await stream.result()).output(dict))
    assert (found.cases, found.tries, found.passed, found.missed) == (3, 6, 4, 2)
    assert found.averages == {"passed": pytest.approx(2 / 3), "exact": pytest.approx(2 / 3)}


async def test_a_try_whose_activation_fails_is_a_failed_try_of_the_summary() -> None:
    calls = 0

    def policy(_: RunId) -> ModelPolicy:
        nonlocal calls
        calls += 1
        if calls == 3:  # the first call checks the run, the others are of tries
            raise OSError("no disk")
        return ModelPolicy()

    found = await summary(graph(str.upper, policy))
    assert (found.passed, found.failed, found.failures) == (2, 1, {"OSError": 1})
    assert found.averages["exact"] == pytest.approx(2 / 3)
