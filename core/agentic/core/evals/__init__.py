"""Evaluations: cases are given to a task, and its answers to evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.evals.cases import CaseColumns, EvalCase, EvalDataset
    from agentic.core.evals.comparing import EvalComparison, compare
    from agentic.core.evals.errors import CasesError, EvalError, EvalSpecError, UnansweredError
    from agentic.core.evals.evaluating import EvalReport, evaluate
    from agentic.core.evals.evaluators import (
        ContainsEvaluator,
        Evaluator,
        ExactEvaluator,
        FunctionEvaluator,
        JudgeEvaluator,
        MatchesEvaluator,
        NumberEvaluator,
        SchemaEvaluator,
    )
    from agentic.core.evals.judging import JudgeVerdict, ModelJudge
    from agentic.core.evals.loading import load_eval
    from agentic.core.evals.results import CaseResult, CaseStatus, EvalAnswer, EvalScore, EvalSummary
    from agentic.core.evals.spec import EvalSpec, EvalTask, eval_schema
    from agentic.core.evals.tasks import TaskCall
    from agentic.core.evals.workflow import EvalServices, eval_workflow

_HOMES = {
    "CaseColumns": "cases",
    "CaseResult": "results",
    "CaseStatus": "results",
    "CasesError": "errors",
    "ContainsEvaluator": "evaluators",
    "EvalAnswer": "results",
    "EvalCase": "cases",
    "EvalComparison": "comparing",
    "EvalDataset": "cases",
    "EvalError": "errors",
    "EvalReport": "evaluating",
    "EvalScore": "results",
    "EvalServices": "workflow",
    "EvalSpec": "spec",
    "EvalSpecError": "errors",
    "EvalSummary": "results",
    "EvalTask": "spec",
    "Evaluator": "evaluators",
    "ExactEvaluator": "evaluators",
    "FunctionEvaluator": "evaluators",
    "JudgeEvaluator": "evaluators",
    "JudgeVerdict": "judging",
    "MatchesEvaluator": "evaluators",
    "ModelJudge": "judging",
    "UnansweredError": "errors",
    "NumberEvaluator": "evaluators",
    "SchemaEvaluator": "evaluators",
    "TaskCall": "tasks",
    "compare": "comparing",
    "eval_schema": "spec",
    "eval_workflow": "workflow",
    "evaluate": "evaluating",
    "load_eval": "loading",
}
__all__ = [
    "CaseColumns",
    "CaseResult",
    "CaseStatus",
    "CasesError",
    "ContainsEvaluator",
    "EvalAnswer",
    "EvalCase",
    "EvalComparison",
    "EvalDataset",
    "EvalError",
    "EvalReport",
    "EvalScore",
    "EvalServices",
    "EvalSpec",
    "EvalSpecError",
    "EvalSummary",
    "EvalTask",
    "Evaluator",
    "ExactEvaluator",
    "FunctionEvaluator",
    "JudgeEvaluator",
    "JudgeVerdict",
    "MatchesEvaluator",
    "ModelJudge",
    "NumberEvaluator",
    "SchemaEvaluator",
    "TaskCall",
    "UnansweredError",
    "compare",
    "eval_schema",
    "eval_workflow",
    "evaluate",
    "load_eval",
]


def __getattr__(name: str) -> object:
    return loaded(__name__, _HOMES, name)
