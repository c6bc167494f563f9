"""What the builder refuses, and how a graph is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any, cast

import pytest

from agentic.core import Case, Default, Executor, ExecutorKind, WorkflowBuilder, handler
from agentic.core.graph import GraphWarning, InvalidGraphError
from agentic.core.graph.build.validation import find_faults
from agentic.core.graph.definition.edges import DirectEdge, JoinMode
from agentic.core.types import ExecutorId


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
    assert "two executors have the id 'b'" in faults_of(builder)


def test_duplicate_edge_is_refused_but_conditions_tell_edges_apart() -> None:
    builder = WorkflowBuilder("w").set_start(Node("a")).add_edge("a", Node("b")).add_edge("a", "b")
    assert "the edge a->b exists twice" in faults_of(builder)
    told_apart = (
        WorkflowBuilder("w").set_start(Node("a")).add_edge("a", Node("b"), bool).add_edge("a", "b", callable)
    )
    assert told_apart.build().id == "w"


def choose(message: object, targets: Sequence[str]) -> Sequence[str]:
    return targets


Connect = Callable[[WorkflowBuilder], WorkflowBuilder]
CROSSED: dict[str, Connect] = {
    "the edge a->b": lambda w: w.add_edge("a", "b"),
    "the fan-out a->b+c": lambda w: w.add_fan_out_edge("a", ["b", "c"]),
    "the fan-out a->b+d": lambda w: w.add_fan_out_edge("a", ["b", "d"]),
    "the fan-in a+c->b": lambda w: w.add_fan_in_edge(["a", "c"], "b"),
    "the switch a->b+d": lambda w: w.add_switch_edge("a", [Case(bool, "b"), Default("d")]),
    "the fan-out a->b+e": lambda w: w.add_fan_out_edge("a", ["b", "e"], select=choose),
}
ALLOWED = [
    {"the switch a->b+d", "the fan-out a->b+e"},
    *({"the fan-in a+c->b", f"the {x}"} for x in ("switch a->b+d", "fan-out a->b+e")),
]


def five(*connects: Connect) -> WorkflowBuilder:
    nodes = [Node(name) for name in "abcde"]
    builder = WorkflowBuilder("w").set_start("a", "c", "d", "e").add_executor(*nodes)
    for connect in connects:
        connect(builder)
    return builder


@pytest.mark.parametrize("pair", [*combinations(CROSSED, 2)], ids=" and ".join)
def test_a_message_that_two_edges_of_any_kind_bring_to_one_executor_is_refused(pair: tuple[str, str]) -> None:
    builder = five(*(CROSSED[name] for name in pair))
    if set(pair) in ALLOWED:
        assert builder.build().id == "w"
    else:
        edges = f"{pair[0]} and {pair[1]}"
        fault = f"'b' gets the messages of 'a' over two edges, {edges}; remove 'b' from one of them"
        assert fault in faults_of(builder)


@pytest.mark.parametrize("name", CROSSED)
def test_an_edge_for_other_outcomes_is_no_second_one(name: str) -> None:
    assert five(CROSSED[name], lambda w: w.add_edge("a", "b", on="failure")).build().id == "w"
    assert "gets the messages of 'a'" in faults_of(
        five(CROSSED[name], lambda w: w.add_fan_out_edge("a", ["b", "c", "d"], on="always"))
    )


@pytest.mark.parametrize("name", [name for name in CROSSED if name != "the edge a->b"])
def test_an_edge_with_a_condition_may_stand_beside_what_is_chosen_or_joined(name: str) -> None:
    builder = five(CROSSED[name], lambda w: w.add_edge("a", "b", bool))
    if "fan-in" in name or "switch" in name or name.endswith("+e"):
        assert builder.build().id == "w"
    else:
        assert f"over two edges, {name} and the edge a->b" in faults_of(builder)


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
        "no executor has the id 'nobody'",
        "no executor has the id 'nowhere'",
        "the fan-in to 'c' has 1 source",
        "the fan-out from 'a' has no target",
        "the fan-out from 'a' names a target twice",
        "needs max_parallel and window of at least 1",
        "'b' is the body of a map edge and has other edges, too",
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
    assert "each item" in drawn


def test_dict_tells_the_shape() -> None:
    shape = WorkflowBuilder("w", version="2").set_start(Node("a")).add_edge("a", Node("b")).build().to_dict()
    assert (shape["id"], shape["version"], shape["starts"]) == ("w", "2", ["a"])


class Split(Executor):
    @handler
    async def run(self, message: object) -> list[object]:
        return [message]


class Join(Executor):
    @handler
    async def run(self, parts: list[object]) -> object:
        return parts


def of_one() -> bool:
    return True


def of_two(message: object, more: object) -> bool:
    return True


def maps() -> WorkflowBuilder:
    return WorkflowBuilder("w").set_start(Split("a"))


def retries() -> WorkflowBuilder:
    return WorkflowBuilder("w").set_start(Node("a")).add_edge("a", Node("b"))


def starts() -> WorkflowBuilder:
    return WorkflowBuilder("w").set_start(Node("a"))


@pytest.mark.parametrize(
    ("builder", "fault"),
    [
        (lambda: starts().set_start("a", "a"), "'a' is a start executor twice; name it once"),
        (
            lambda: starts().add_fan_in_edge([], Join("b")),
            "the fan-in to 'b' has 0 sources; give it two or more, or use add_edge",
        ),
        (lambda: starts().add_fan_in_edge(["a", "a"], Join("b")), "names a source twice"),
        (lambda: starts().add_fan_out_edge("a", []), "the fan-out from 'a' has no target"),
        (
            lambda: starts().add_switch_edge("a", [Default(Node("b"))]),
            "the switch from 'a' has no Case; give it one, or use add_edge",
        ),
        (
            lambda: starts().add_switch_edge("a", [Case(bool, Node("b")), Case(bool, "b"), Default("b")]),
            "the switch from 'a' has the same condition in two cases, so the second never matches",
        ),
        (
            lambda: maps().add_map_edge("a", Node("b"), Join("c"), window=0),
            "has max_parallel=16 and window=0",
        ),
        (lambda: maps().add_map_edge("a", Node("b"), Join("c"), max_parallel=0), "max_parallel=0"),
        (lambda: maps().add_map_edge("a", Join("b"), "b"), "source, body and join must be three executors"),
        (
            lambda: maps().add_map_edge("a", Node("b"), Join("c")).add_edge("c", "b"),
            "'b' is the body of a map edge and has other edges, too",
        ),
        (
            lambda: maps().add_map_edge("a", Node("b"), Join("c")).add_retry_edge("c", "b", when=bool),
            "'b' is the body of a map edge and has other edges, too",
        ),
        (
            lambda: maps().add_map_edge("a", Node("b"), Join("c")).add_map_edge("a", "b", Join("d")),
            "'b' is the body of a map edge and has other edges, too",
        ),
        (
            lambda: retries().add_retry_edge("b", "a", when=bool, max_passes=0),
            "the retry edge b->a has max_passes=0; give at least 1",
        ),
        (
            lambda: retries().add_retry_edge("a", "b", when=bool).add_edge("a", Node("c")),
            "the retry edge a->b has no effect: no path leads from 'b' to 'a'; add an edge on that path",
        ),
        (
            lambda: retries().add_retry_edge("b", "a", when=bool, exhausted="gone"),
            "no executor has the id 'gone' (known: a, b); add it with add_executor(...)",
        ),
        (
            lambda: retries().add_retry_edge("b", "a", when=bool, exhausted="a"),
            "also goes to 'a' when it is exhausted, so it never ends; name another executor",
        ),
        (
            lambda: starts().add_edge("a", Node("b"), cast(Any, "yes")),
            "condition of the edge a->b is 'yes'; give a function that takes (message)",
        ),
        (
            lambda: starts().add_edge("a", Node("b"), cast(Any, of_one)),
            "condition of the edge a->b takes (), but is called with (message); change its parameters",
        ),
        (
            lambda: starts().add_switch_edge("a", [Case(cast(Any, of_two), Node("b")), Default(Node("c"))]),
            "case for 'b' of the edge a->b+c takes (message, more), but is called with (message)",
        ),
        (
            lambda: starts().add_fan_out_edge("a", [Node("b")], select=cast(Any, of_one)),
            "select of the edge a->b takes (), but is called with (message, target_ids)",
        ),
        (
            lambda: retries().add_retry_edge("b", "a", when=cast(Any, of_two)),
            "when of the edge b->a takes (message, more), but is called with (message)",
        ),
        (
            lambda: starts().add_edge("a", Node("b"), on=cast(Any, "error")),
            "the edge a->b has on='error'; use one of 'success', 'failure', 'always'",
        ),
        (
            lambda: retries().add_fan_in_edge(["a", "b"], Join("c"), mode=cast(Any, "any")),
            "the edge a+b->c has mode='any'; use one of 'all', 'latest', 'available'",
        ),
    ],
)
def test_edge_that_cannot_work_is_refused(builder: Callable[[], WorkflowBuilder], fault: str) -> None:
    assert fault in faults_of(builder())


def test_one_executor_object_under_two_ids_is_refused() -> None:
    one = Node("a")
    executors = {ExecutorId("a"): one, ExecutorId("b"): one}
    edge = DirectEdge(source=ExecutorId("a"), target=ExecutorId("b"))
    assert find_faults(executors, [edge], [ExecutorId("a")]) == [
        "'a' and 'b' are the same executor object; create a second one"
    ]


def test_edge_that_carries_both_repeats_those_that_carry_one() -> None:
    builder = starts().add_edge("a", Split("b"), on="always").add_edge("a", "b", on="failure")
    assert "the edge a->b exists twice" in faults_of(builder)
    assert starts().add_edge("a", Node("b")).add_edge("a", "b", on="failure").build().id == "w"


def test_retry_edge_beside_a_direct_edge_is_no_repetition() -> None:
    builder = retries().add_edge("b", "a", lambda message: False).add_retry_edge("b", "a", when=bool)
    assert builder.build().id == "w"


def test_unknown_executor_does_not_make_those_behind_it_unreachable() -> None:
    builder = starts().add_edge("a", "gone").add_edge("gone", Node("b"))
    with pytest.raises(InvalidGraphError) as caught:
        builder.build()
    [fault] = caught.value.faults
    assert fault == "no executor has the id 'gone' (known: a, b); add it with add_executor(...)"


def test_executor_that_only_a_failure_leads_to_can_be_reached() -> None:
    assert starts().add_edge("a", Node("b"), on="failure").build().id == "w"


@pytest.mark.requirement("BU13")
@pytest.mark.parametrize(
    ("builder", "circle"),
    [
        (lambda: starts().add_edge("a", "a"), "a -> a"),
        (lambda: retries().add_edge("b", Node("c")).add_edge("c", "b"), "b -> c -> b"),
        (lambda: retries().add_fan_out_edge("b", ["a", Node("c")]), "a -> b -> a"),
        (lambda: retries().add_edge("b", "a", on="always"), "a -> b -> a"),
        (lambda: starts().add_edge("a", Split("s")).add_map_edge("s", Node("b"), "a"), "a -> s -> a"),
        (
            lambda: (
                retries().add_edge("a", Node("c")).add_fan_in_edge(["b", "c"], Join("d")).add_edge("d", "a")
            ),
            "a -> b -> d -> a",
        ),
    ],
)
def test_circle_without_condition_or_pass_limit_is_warned_of(
    builder: Callable[[], WorkflowBuilder], circle: str
) -> None:
    with pytest.warns(GraphWarning, match=f"the cycle {circle} has neither a condition nor a pass limit"):
        assert builder().build().id == "w"


@pytest.mark.requirement("BU13")
@pytest.mark.parametrize(
    "builder",
    [
        lambda: retries().add_edge("b", "a", lambda message: False),
        lambda: retries().add_switch_edge("b", [Case(bool, "a"), Default(Node("c"))]),
        lambda: retries().add_fan_out_edge("b", ["a", Node("c")], select=lambda message, ids: ids),
        lambda: retries().add_retry_edge("b", "a", when=bool),
        lambda: retries().add_edge("b", "a", on="failure"),
    ],
)
def test_circle_that_can_be_left_is_not_warned_of(builder: Callable[[], WorkflowBuilder]) -> None:
    assert builder().build().id == "w"


def test_ten_thousand_executors_in_a_row_and_back_are_checked_without_recursion() -> None:
    nodes = [Node(f"n{index}") for index in range(10_000)]
    builder = WorkflowBuilder("w").set_start(nodes[0])
    for source, target in pairwise(nodes):
        builder.add_edge(source, target).add_retry_edge(target, source, when=bool)
    assert len(builder.build().graph.edges) == 2 * 9_999


def test_text_in_place_of_a_list_of_ids_is_a_fault_and_not_a_list_of_letters() -> None:
    builder = WorkflowBuilder("w").set_start(Node("a")).add_executor(Node("bc"))
    with pytest.raises(InvalidGraphError, match="'bc' is a single id where a list is needed"):
        builder.add_fan_out_edge("a", "bc").build()


def test_join_that_a_retry_leaves_half_full_is_warned_of() -> None:
    def built(mode: JoinMode) -> None:
        (
            WorkflowBuilder("w")
            .set_start(Node("a"), Node("b"))
            .add_fan_in_edge(["a", "b"], Joining("join"), mode=mode)
            .add_edge("join", Node("check"))
            .add_retry_edge("check", "a", when=lambda text: text == "no")
            .build()
        )

    with pytest.warns(GraphWarning, match="does not rerun b, but the fan-in to 'join' waits for it"):
        built("all")
    built("latest")


class Joining(Executor):
    """Joins texts."""

    @handler
    async def join(self, parts: list[str]) -> str:
        return "".join(parts)
