"""What the builder refuses, and how a graph is shown."""

from __future__ import annotations

import pytest

from agentic.core import Executor, ExecutorKind, WorkflowBuilder, handler
from agentic.core.graph import InvalidGraphError


class Node(Executor):
    @handler
    async def run(self, message: object) -> object:
        return message


def faults_of(builder: WorkflowBuilder) -> str:
    with pytest.raises(InvalidGraphError) as caught:
        builder.build()
    return "\n".join(caught.value.faults)


@pytest.mark.requirement("BU12")
def test_unreachable_executor_is_refused() -> None:
    builder = WorkflowBuilder("w").set_start(Node("a")).add_executor(Node("lonely"))
    assert "'lonely' cannot be reached from a" in faults_of(builder)


def test_two_executors_of_one_name_are_refused() -> None:
    builder = WorkflowBuilder("w").set_start(Node("a")).add_edge("a", Node("b")).add_edge("b", Node("b"))
    assert "two executors are called 'b'" in faults_of(builder)


def test_duplicate_edge_is_refused_but_conditions_tell_edges_apart() -> None:
    builder = WorkflowBuilder("w").set_start(Node("a")).add_edge("a", Node("b")).add_edge("a", "b")
    assert "the edge a -> b is there twice" in faults_of(builder)
    told_apart = (
        WorkflowBuilder("w").set_start(Node("a")).add_edge("a", Node("b"), bool).add_edge("a", "b", callable)
    )
    assert told_apart.build().id == "w"


def test_every_fault_is_reported_at_once() -> None:
    builder = (
        WorkflowBuilder("w")
        .set_start("nobody")
        .add_edge(Node("a"), "nowhere")
        .add_fan_in_edge([Node("b")], Node("c"))
        .add_fan_out_edge("a", [])
        .add_fan_out_edge("a", ["b", "b"])
        .add_map_edge("a", "b", "c", window=0)
    )
    faults = faults_of(builder)
    for part in (
        "no executor is called 'nobody'",
        "no executor is called 'nowhere'",
        "the fan-in to 'c' has 1 source",
        "the fan-out from 'a' has no target",
        "the fan-out from 'a' names a target twice",
        "needs max_parallel and window of at least 1",
        "'b', the body of a map edge, is connected otherwise too",
    ):
        assert part in faults


def test_workflow_needs_a_start() -> None:
    assert "no start executor" in faults_of(WorkflowBuilder("w").add_executor(Node("a")))


@pytest.mark.requirement("BU01", "BU02", "BU03", "BU04", "BU10")
async def test_edges_accept_executors_or_ids_and_add_the_executors() -> None:
    a, b = Node("a"), Node("b")
    flow = WorkflowBuilder("w").set_start(a).add_edge(a, b).add_edge("b", Node("c")).build()
    assert list(flow.graph.executors) == ["a", "b", "c"]


async def test_cycle_with_a_condition_is_a_valid_graph() -> None:
    flow = WorkflowBuilder("w").set_start(Node("a")).add_edge("a", "a", lambda m: False).build()
    assert (await flow.run(1)).superstep_count == 1


@pytest.mark.requirement("ED09", "EX06")
def test_mermaid_shows_nodes_kinds_and_conditions() -> None:
    flow = (
        WorkflowBuilder("w")
        .set_start(Node("a"))
        .add_conditional_edge("a", Node('b"x', kind=ExecutorKind.VALIDATOR), bool, "on pass")
        .add_map_edge("a", Node("item"), Node("join"))
        .build()
    )
    drawn = flow.to_mermaid()
    assert drawn.splitlines()[0] == "flowchart TD"
    assert 'n0["a"]:::start' in drawn
    assert 'n0 -.->|"on pass"| n1' in drawn
    assert 'n1{{"b#quot;x"}}' in drawn
    assert 'n0 -->|"each item"| n2' in drawn


def test_dict_tells_the_shape() -> None:
    flow = WorkflowBuilder("w", version="2").set_start(Node("a")).add_edge("a", Node("b")).build()
    assert flow.to_dict() == {
        "id": "w",
        "version": "2",
        "starts": ["a"],
        "executors": [{"id": "a", "kind": "worker"}, {"id": "b", "kind": "worker"}],
        "edges": [{"kind": "direct", "sources": ["a"], "targets": ["b"]}],
    }
