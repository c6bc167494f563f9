"""Evaluations as data: read, checked, changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from agentic.core.evals import EvalCase, EvalError, EvalSpec, EvalSpecError, EvalTask, eval_schema, load_eval

WHOLE: dict[str, Any] = {
    "task": {"actor": "classify", "config": {"model": "fake:words", "labels": ["a", "b"]}, "answer": "label"},
    "cases": [{"input": "a", "expected": "a"}],
    "evaluators": ["exact"],
}


def load(folder: Path, **changes: object) -> EvalSpec:
    file = folder / "labels.eval.yaml"
    file.write_text(yaml.safe_dump({**WHOLE, **changes}))
    return load_eval(file, EvalSpec, runs_code=True)


def test_a_file_gives_its_name_and_the_folder_of_its_recordings(tmp_path: Path) -> None:
    spec = load(tmp_path)
    assert spec.name == "labels"
    assert spec.recordings == str(tmp_path / "labels.eval.recordings")
    assert (spec.task.label, spec.task.model, spec.labels) == ("actor classify", "fake:words", ["exact"])
    assert spec.cases == (EvalCase(id="1", input="a", expected="a"),)


def test_files_that_it_names_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("model: scripted:lines.yaml\n")
    (tmp_path / "lines.yaml").write_text("- Hello\n")
    (tmp_path / "checks.py").write_text("def good(given):\n    return True\n")
    spec = load(
        tmp_path,
        task={"agent": "agent.yaml"},
        cases="cases.jsonl",
        evaluators=[{"kind": "function", "function": "./checks.py:good"}],
    )
    assert spec.task.agent is not None
    assert spec.task.agent.model == f"scripted:{tmp_path}/lines.yaml"
    assert (spec.task.label, spec.task.model_label) == ("agent agent", "scripted:lines.yaml")
    assert spec.cases == f"{tmp_path}/cases.jsonl"
    assert spec.labels == ["good"]
    again = EvalSpec.model_validate(spec.model_dump(mode="json", by_alias=True, exclude_unset=True))
    assert again == spec


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"tusk": 1}, r"tusk, line \d+ column 1: unknown key 'tusk'; did you mean 'task'"),
        ({"task": {}}, "give one of agent, actor, pipeline, function"),
        ({"task": {"actor": "classify", "function": "./a.py:f"}}, "not actor and function"),
        ({"task": {"actor": "clasify"}}, r"task\.actor.* did you mean 'classify'"),
        ({"task": {"actor": "classify", "config": {"lables": []}}}, "did you mean 'labels'"),
        ({"task": {"actor": "classify", "config": {"model": "nope:x"}}}, "unknown provider 'nope'"),
        ({"task": {"agent": "gone.yaml"}}, r"gone\.yaml is invalid: it cannot be read"),
        ({"task": {"agent": {"model": "fake:words", "tools": ["nothing"]}}}, r"task\.agent\.tools\[0\]"),
        ({"task": {"function": "./gone.py:f"}}, r"gone\.py does not exist"),
        ({"task": {"pipeline": "gone.yaml"}}, r"gone\.yaml"),
        ({"evaluators": []}, "evaluators"),
        ({"evaluators": ["exakt"]}, "did you mean 'exact'"),
        ({"evaluators": ["exact", "exact"]}, "two evaluators are called 'exact'"),
        ({"evaluators": [{"kind": "exact", "name": "passed"}]}, "cannot be called 'passed'"),
        ({"evaluators": [{"kind": "judge", "model": "nope:x", "rubric": "r"}]}, "unknown provider 'nope'"),
        ({"evaluators": [{"kind": "function", "function": "./gone.py:f"}]}, r"gone\.py does not exist"),
        ({"limits": {"exakt": 0.5}}, "limits: unknown evaluator 'exakt'; did you mean 'exact'"),
        ({"cases": [{"id": "x", "input": 1}, {"id": "x", "input": 2}]}, "two cases have the id 'x'"),
        ({"repeats": 0}, "repeats"),
    ],
)
def test_an_evaluation_that_cannot_run_is_refused_with_the_place(
    tmp_path: Path, changes: dict[str, object], told: str
) -> None:
    with pytest.raises(EvalSpecError, match=told):
        load(tmp_path, **changes)


def test_a_secret_in_options_is_not_shown(tmp_path: Path) -> None:
    judge = {"kind": "judge", "model": "openai:x", "rubric": "r", "options": {"api_key": "sk-hidden"}}
    with pytest.raises(EvalSpecError, match=r"write \$\{secrets\.NAME\} here") as caught:
        load(tmp_path, evaluators=[judge])
    assert "sk-hidden" not in str(caught.value)


def test_another_model_replaces_the_model_and_its_fallbacks() -> None:
    agent = EvalTask.model_validate(
        {"agent": {"model": "openai:a", "options": {"base_url": "http://x"}, "fallback": ["openai:b"]}}
    )
    same = agent.with_model("openai:c").agent
    other = agent.with_model("anthropic:c").agent
    assert same is not None
    assert other is not None
    assert (same.model, same.options, same.fallback) == ("openai:c", {"base_url": "http://x"}, ())
    assert (other.model, other.options) == ("anthropic:c", {})
    actor = EvalTask.model_validate(WHOLE["task"]).with_model("openai:c")
    assert actor.config == {"model": "openai:c", "labels": ["a", "b"]}
    with pytest.raises(EvalError, match="has no model to replace"):
        EvalTask(function="./a.py:f").with_model("openai:c")


def test_evaluators_that_compare_need_a_case_with_an_expected_answer(tmp_path: Path) -> None:
    spec = load(tmp_path, cases=[{"input": "a"}])
    with pytest.raises(
        EvalError, match="evaluator 'exact' compares with 'expected', but no case of the list"
    ):
        spec.check_cases([EvalCase(id="1", input="a")], "the list")


def test_the_schema_for_editors_accepts_what_the_reader_accepts() -> None:
    schema = eval_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    whole = {**WHOLE, "evaluators": [{"kind": "exact"}]}
    jsonschema.validate(whole, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**whole, "repeats": "many"}, schema)
