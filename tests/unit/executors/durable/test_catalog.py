"""Names that lead to workflows, and names that lead elsewhere."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from agentic.core.graph import Workflow, WorkflowBuilder, executor
from agentic.executors.durable import UnknownWorkflowError
from agentic.executors.durable.runs.catalog import RegisteredWorkflow, WorkflowCatalog


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("json.tool:main", "its factory raised SystemExit"),
        ("json:codecs", "it is a module, but must be a Workflow or a function that returns one"),
        ("json:__name__", "it is a str"),
        ("json:loads", "its factory raised TypeError"),
        ("json:JSONDecoder", "its factory returned JSONDecoder, not a Workflow"),
        ("json:nothing", "has no attribute 'nothing'"),
        ("json.nothing:make", "No module named 'json.nothing'"),
    ],
)
def test_what_makes_no_workflow_is_an_unknown_one(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["python", "--no-such-option"])
    with pytest.raises(UnknownWorkflowError, match=said):
        WorkflowCatalog({}, ["json"]).get(name)


@pytest.mark.parametrize(
    "raised", ["SystemExit(3)", "KeyboardInterrupt", "GeneratorExit", "BaseException('x')", "ValueError"]
)
def test_a_module_that_ends_the_process_ends_none(
    raised: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ending_module.py").write_text(f"raise {raised}")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnknownWorkflowError, match=r"importing 'ending_module' raised"):
        WorkflowCatalog({}, ["ending_module"]).get("ending_module:make")


def test_a_factory_of_a_plugin_that_ends_the_process_ends_none() -> None:
    with pytest.raises(UnknownWorkflowError, match="its factory raised SystemExit: 2"):
        WorkflowCatalog({"bad": lambda: sys.exit(2)}).get("bad")


def test_threads_that_want_one_workflow_at_a_time_get_the_one_that_is_closed_and_build_it_once() -> None:
    built: list[str] = []
    is_built_twice = Event()

    def build(rest: str) -> RegisteredWorkflow:
        built.append(rest)
        if len(built) == 2:
            is_built_twice.set()
        is_built_twice.wait(0.05)
        return RegisteredWorkflow(only(rest))

    catalog = WorkflowCatalog({}, builders={"made": build})
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(catalog.get, ["made:of", "made:of"])
    assert one is other is catalog.built("made:of")
    assert built == ["of"]


def test_a_workflow_that_could_not_be_built_is_built_again() -> None:
    tries: list[str] = []

    def build(rest: str) -> RegisteredWorkflow:
        tries.append(rest)
        if len(tries) == 1:
            raise ConnectionError("the database is away")
        return RegisteredWorkflow(only(rest))

    catalog = WorkflowCatalog({}, builders={"made": build})
    with pytest.raises(ConnectionError):
        catalog.get("made:of")
    assert catalog.get("made:of") is catalog.built("made:of")


def only(name: str) -> Workflow:
    """Return a workflow with one executor."""

    @executor
    async def echo(message: str) -> str:
        return message

    return WorkflowBuilder(name).set_start(echo).build()
