"""Evaluators: each gives an answer a score."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from agentic.core.evals import EvalAnswer, EvalError, EvalScore, Evaluator, FunctionEvaluator
from agentic.core.evals.case_models import CaseModels, ModelPolicy
from agentic.core.evals.evaluators import EvaluatorSpec
from agentic.core.evals.values import is_same
from agentic.core.llm import ContentRefusedError, ModelReply, ScriptedModel, StopReason
from agentic.core.llm.errors import SchemaNotMetError
from agentic.core.llm.messages import ChatMessage
from agentic.core.llm.open_models import OpenModels
from agentic.core.llm.scripted import ScriptLine
from agentic.core.llm.usage import TokenUsage
from agentic.core.types import JSONValue

EVALUATORS: TypeAdapter[Any] = TypeAdapter(EvaluatorSpec)
GOOD = '{"reason": "It is polite.", "score": 0.75}'
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def evaluator(data: object) -> Evaluator:
    found = EVALUATORS.validate_python(data)
    assert isinstance(found, Evaluator)
    return found


def answered(answer: JSONValue, expected: JSONValue = None, model: ScriptedModel | None = None) -> EvalAnswer:
    opened = OpenModels({"test:judge": model or ScriptedModel([])})
    return EvalAnswer(
        case_id="x",
        input="Hello?",
        expected=expected,
        metadata={},
        answer=answer,
        usage=TokenUsage(),
        duration_s=0.1,
        models=CaseModels(opened, ModelPolicy(), "x.jsonl"),
    )


@pytest.mark.parametrize(
    ("data", "answer", "expected", "value"),
    [
        ("exact", " light\n", "light", 1.0),
        ("exact", "Light", "light", 0.0),
        ({"kind": "exact", "ignore_case": True}, "Light", "light", 1.0),
        ("exact", {"a": 1}, {"a": 1.0}, 1.0),
        ("exact", True, 1, 0.0),
        ({"kind": "exact", "field": "label"}, {"label": "x", "n": 1}, "x", 1.0),
        ({"kind": "exact", "field": "items.1.label"}, {"items": [{}, {"label": "x"}]}, "x", 1.0),
        ({"kind": "exact", "field": "label"}, {"label": "x"}, {"label": "x", "other": 2}, 1.0),
        ({"kind": "exact", "field": "label"}, "text", "x", 0.0),
        ("contains", "a lamp for desks", "lamp", 1.0),
        ({"kind": "contains", "value": ["lamp", "sofa"]}, "a lamp", None, 0.5),
        ({"kind": "matches", "pattern": "^[0-9]+$"}, "12", None, 1.0),
        ({"kind": "matches", "pattern": "^[0-9]+$"}, "12 EUR", None, 0.0),
        ("number", "12.50", 12.5, 1.0),
        ({"kind": "number", "tolerance": 0.5}, 13, "12.5", 1.0),
        ({"kind": "number", "relative": 0.1}, 111, 100, 0.0),
        ({"kind": "number", "relative": 0.1}, 109, 100, 1.0),
        ("number", "twelve", 12, 0.0),
        ({"kind": "schema", "schema": {"type": "object", "required": ["a"]}}, {"a": 1}, None, 1.0),
        ({"kind": "schema", "schema": {"type": "object", "required": ["a"]}}, {}, None, 0.0),
    ],
)
async def test_evaluators_compare_answers(
    data: object, answer: JSONValue, expected: JSONValue, value: float
) -> None:
    found = await evaluator(data).score(answered(answer, expected))
    assert (found.value, found.passed) == (value, value == 1.0)
    assert bool(found.reason) is not found.passed


@given(json_values, json_values)
def test_comparison_is_symmetric_and_each_value_equals_itself(one: JSONValue, other: JSONValue) -> None:
    assert is_same(one, one)
    assert is_same(one, other) == is_same(other, one)


async def test_a_lower_limit_passes_half_of_the_texts() -> None:
    half = evaluator({"kind": "contains", "value": ["lamp", "sofa"], "pass_at": 0.5})
    assert (await half.score(answered("a lamp"))).passed


async def test_an_expected_answer_that_is_no_number_is_a_fault_of_the_case() -> None:
    with pytest.raises(EvalError, match="case 'x' expects 'many', which is not a number"):
        await evaluator("number").score(answered(3, "many"))


@pytest.mark.parametrize("kind", ["exact", "contains", "number"])
async def test_a_case_without_an_expected_answer_does_not_pass_by_accident(kind: str) -> None:
    with pytest.raises(EvalError, match="case 'x' has no expected answer to compare with"):
        await evaluator(kind).score(answered(None))


async def test_functions_are_evaluators_sync_and_async() -> None:
    async def later(given: EvalAnswer) -> float:
        return 0.4 + 0.1 * (given.expected == "b")

    def scored(given: EvalAnswer) -> EvalScore:
        return EvalScore(value=2.0, passed=True, reason=given.case_id)

    one, two = FunctionEvaluator(function=later), FunctionEvaluator(function=scored, name="mine")
    assert (one.label, two.label) == ("later", "mine")
    assert await one.score(answered("a", "b")) == EvalScore(value=0.5, passed=True)
    assert (await two.score(answered("a"))).reason == "x"


@pytest.mark.parametrize("wrong", [None, "yes", float("nan"), float("inf"), {"score": 1}])
async def test_a_function_that_returns_no_score_fails(wrong: object) -> None:
    def bad(_: EvalAnswer) -> object:
        return wrong

    with pytest.raises(EvalError, match=r"evaluator 'bad' returned .*return a bool, a finite number"):
        await FunctionEvaluator(function=bad).score(answered("a"))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ("exakt", "exakt"),
        ({"kind": "matches", "pattern": "("}, "pattern"),
        ({"kind": "schema", "schema": {"type": "thing"}}, "not a JSON Schema"),
        ({"kind": "judge", "model": "x", "rubric": "r"}, "model"),
        ({"kind": "exact", "pass_at": float("nan")}, "pass_at"),
    ],
)
def test_evaluators_that_cannot_work_are_refused(data: object, told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        evaluator(data)


def judge(**more: JSONValue) -> Evaluator:
    return evaluator({"kind": "judge", "model": "test:judge", "rubric": "It is polite.", **more})


async def test_a_judge_gives_a_typed_verdict_about_answer_input_and_expected_answer() -> None:
    model = ScriptedModel([GOOD])
    found = await judge().score(answered("Hello, dear.", "A greeting", model))
    assert found == EvalScore(value=0.75, passed=True, reason="It is polite.")
    (request,) = model.requests
    assert "It is polite." in request.instructions
    assert all(word in request.messages[0].text for word in ("Hello?", "A greeting", "Hello, dear."))


async def test_a_judge_sees_no_more_than_it_may() -> None:
    model = ScriptedModel([GOOD])
    await judge(sees=["input"]).score(answered("Hello.", "A secret", model))
    assert "A secret" not in model.requests[0].messages[0].text


async def test_a_verdict_that_does_not_fit_is_asked_for_again_and_the_uses_are_counted() -> None:
    lines: list[ScriptLine] = ["It is fine.", '{"reason": "x", "score": 7}', GOOD]
    model = ScriptedModel(lines)
    given_answer = answered("Hello.", model=model)
    assert (await judge().score(given_answer)).value == 0.75
    assert "score: Input should be less than or equal to 1" in model.requests[2].messages[-1].text
    assert given_answer.models.usage.requests == 3


async def test_a_judge_without_a_verdict_fails() -> None:
    with pytest.raises(SchemaNotMetError, match="after 3 tries"):
        await judge().score(answered("Hello.", model=ScriptedModel(["no", "no", "no"])))
    refused = ModelReply(message=ChatMessage.assistant("I cannot."), stop_reason=StopReason.REFUSED)
    with pytest.raises(ContentRefusedError):
        await judge().score(answered("Hello.", model=ScriptedModel([refused])))
