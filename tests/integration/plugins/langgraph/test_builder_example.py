"""The example of a graph that builds a pipeline, runs it, and mends it while it runs."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic.core import Workflow, WorkflowBuilder
from agentic.core.agents import PipelineTool
from agentic.core.bus.memory.kv import MemoryKeyValue
from agentic.core.graph import MemoryCheckpointStore
from agentic.core.hooks import get_registry
from agentic.core.pipeline import read_spec
from agentic.fakes.server import FakeServer
from agentic.plugins.langchain import AgenticTool
from agentic.plugins.langgraph import GraphOptions, LangGraphExecutor, LangGraphResult, NatsSaver

pytestmark = pytest.mark.integration

EXAMPLE = Path(__file__).parents[4] / "examples" / "langgraph_builder"


@pytest.fixture
def flow(monkeypatch: pytest.MonkeyPatch) -> Workflow:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    graph = importlib.import_module("builder_graph").graph
    node = LangGraphExecutor(graph, saver=NatsSaver(MemoryKeyValue()), options=GraphOptions(history="latest"))
    return WorkflowBuilder("builder", version="1").set_start(node).build()


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    with FakeServer(seed=1, stories=1, products=24) as server:
        yield f"{server.url}/shop/category/lamps"


@pytest.mark.requirement("SP01", "SP02", "SP06")
async def test_a_graph_builds_runs_and_mends_a_pipeline_in_one_run(flow: Workflow, shop: str) -> None:
    given: Any = {"words": "Lamps with their prices.", "url": shop, "hosts": ["127.0.0.1"]}
    state: Any = (await flow.run(given)).output(LangGraphResult).values
    assert state["log"] == [
        "inferred the intent", "try 1 failed", "mended: no element matches .offer", "try 2: 3 rows"
    ]  # fmt: skip
    assert [sorted(row) for row in state["rows"]] == [["price", "title", "url"]] * 3
    # Seed 000's second scenario: the spec alone gives the same rows.
    again = AgenticTool.of(PipelineTool(read_spec(state["spec"], get_registry().actors)))
    assert (await again.ainvoke({}))["items"] == state["rows"]


@pytest.mark.requirement("SP02")
async def test_a_person_decides_when_the_model_cannot(flow: Workflow, shop: str) -> None:
    given: Any = {"words": "Read it, whatever you do.", "url": shop, "hosts": ["127.0.0.1"]}
    store = MemoryCheckpointStore()
    result = await flow.run(given, run_id="r", checkpoints=store)
    (request,) = result.pending_requests
    asked: Any = request.data
    assert asked["value"]["question"] == "Which CSS selector finds the items?"
    assert "selector_missing" in asked["value"]["failure"]
    answer = {"items": ".products li", "why": "I have looked at the page"}
    result = await flow.resume("r", checkpoints=store, responses={request.id: answer})
    state: Any = result.output(LangGraphResult).values
    assert (state["tries"], state["log"][-2:]) == (4, ["mended: I have looked at the page", "try 4: 3 rows"])
