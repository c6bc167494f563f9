"""Pictures of graphs and of runs on them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from agentic.core.graph import Executor, ExecutorKind, Workflow, WorkflowBuilder, WorkflowContext, handler
from agentic.core.graph.definition.edges import (
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    Graph,
    JoinMode,
    MapEdge,
    On,
    RetryEdge,
    SwitchCase,
    SwitchEdge,
)
from agentic.core.graph.model.policies import RetryPolicy
from agentic.core.graph.model.result import RunStatus
from agentic.core.types import ExecutorId, RunId
from agentic.core.views.layers import Box, Link
from agentic.core.views.layout import Layout, lay_out
from agentic.core.views.run_view import ExecutorStatus, ExecutorView, RunView
from agentic.core.views.texts import duration_text
from agentic.core.views.viz import to_dict, to_mermaid, to_svg

NASTY = 'say "hi" & <b>\n#1; `end` | “ünï” 数 \\ \x07'


Make = Callable[[], Graph]


class Node(Executor):
    @handler
    async def run(self, message: str) -> str:
        return message


class Merge(Executor):
    @handler
    async def run(self, messages: list[str]) -> str:
        return ", ".join(messages)


def is_good(message: object) -> bool:
    return bool(message)


def ids(*names: str) -> tuple[ExecutorId, ...]:
    return tuple(map(ExecutorId, names))


def graph_of(*edges: Edge, start: str = "a", nodes: Sequence[Executor] = ()) -> Graph:
    """Return a graph of the edges; executors that are not given are made."""
    made = {node.id: node for node in nodes}
    for edge in edges:
        for name in names_in(edge):
            made.setdefault(name, Node(name))
    return Graph(made, edges, ids(start))


def names_in(edge: Edge) -> Iterator[ExecutorId]:
    match edge:
        case FanInEdge():
            yield from (*edge.sources, edge.target)
        case FanOutEdge():
            yield from (edge.source, *edge.targets)
        case SwitchEdge():
            yield from (edge.source, *(case.target for case in edge.cases), edge.default)
        case MapEdge():
            yield from (edge.source, edge.body, edge.join)
        case RetryEdge():
            yield from (edge.source, edge.target, *([edge.exhausted] if edge.exhausted else []))
        case DirectEdge():
            yield from (edge.source, edge.target)


def direct(source: str, target: str, *, description: str = "", on: On = "success") -> DirectEdge:
    return DirectEdge(source=ExecutorId(source), target=ExecutorId(target), description=description, on=on)


def conditional(source: str, target: str, description: str = "") -> DirectEdge:
    edge = direct(source, target, description=description)
    return DirectEdge(
        source=edge.source, target=edge.target, condition=lambda _: True, description=description
    )


def chain() -> Graph:
    return graph_of(direct("a", "b"), direct("b", "c"))


def diamond(mode: JoinMode = "all") -> Graph:
    middle = ids("b", "c", "d")
    return graph_of(
        FanOutEdge(source=ExecutorId("a"), targets=middle),
        FanInEdge(sources=middle, target=ExecutorId("e"), mode=mode),
    )


def switch() -> Graph:
    a, b, c, d = ids("a", "b", "c", "d")
    cases = (
        SwitchCase(condition=lambda _: True, target=b, description="an article"),
        SwitchCase(condition=is_good, target=c),
    )
    return graph_of(SwitchEdge(source=a, cases=cases, default=d))


def retry_loop() -> Graph:
    a, b, _, d = ids("a", "b", "c", "d")
    return graph_of(
        direct("a", "b"),
        RetryEdge(source=b, target=a, when=is_good, max_passes=3, exhausted=d),
        conditional("b", "c", "on pass"),
        nodes=[Node("a"), Node("b", kind=ExecutorKind.VALIDATOR)],
    )


def mapped() -> Graph:
    a, b, c = ids("a", "b", "c")
    return graph_of(
        MapEdge(source=a, body=b, join=c, max_parallel=8, window=50, on_item_error="skip"),
        nodes=[Node("a"), Node("b", max_parallel=4), Merge("c")],
    )


def nested() -> Graph:
    deep = WorkflowBuilder("deep").set_start(Node("parse")).add_edge("parse", Node("check")).build()
    inner = WorkflowBuilder("inner", version="7").set_start(Node("load"))
    workflow = inner.add_edge("load", deep).build()
    nodes = [Node("a"), workflow.as_executor("sub")]
    return graph_of(direct("a", "sub"), direct("sub", "z"), conditional("a", "a", "again"), nodes=nodes)


def tangled(count: int = 60, seed: int = 4) -> Graph:
    chance = random.Random(seed)
    pairs = {(chance.randrange(max(0, i - 6), i), i) for i in range(1, count)}
    pairs |= {(chance.randrange(count), chance.randrange(count)) for _ in range(count // 5)}
    names = [f"step {i}" for i in range(count)]
    edges = [
        conditional(names[one], names[other], f"case {one}")
        if chance.random() < 0.3
        else direct(names[one], names[other])
        for one, other in sorted(pairs)
    ]
    return graph_of(*edges, start="step 0", nodes=[Node(name) for name in names])


GRAPHS = {
    "chain": chain,
    "diamond": diamond,
    "switch": switch,
    "retry": retry_loop,
    "map": mapped,
    "nested": nested,
    "tangled": tangled,
}
every_graph = pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS.keys())


def run_view(
    executors: Mapping[str, ExecutorView] | None = None, edges: Mapping[str, int] | None = None
) -> RunView:
    return RunView(
        run_id=RunId("r1"),
        status=RunStatus.RUNNING,
        superstep=4,
        executors=executors or {},
        edges=edges or {},
    )


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter() if element.tag.endswith("}text")]


def groups(svg: str, word: str) -> list[ET.Element]:
    return [element for element in parsed(svg).iter() if word in element.get("class", "").split()]


class TestMermaid:
    def test_executors_differ_by_kind_and_starts_are_marked(self) -> None:
        nodes = [Node("a"), Node("v", kind=ExecutorKind.VALIDATOR), Node("o", kind=ExecutorKind.ORCHESTRATOR)]
        drawn = to_mermaid(graph_of(direct("a", "v"), direct("v", "o"), nodes=nodes))
        assert drawn.splitlines()[0] == "flowchart TD"
        for line in ('n0["a"]:::start', 'n1{{"v"}}', 'n2[["o"]]', "n0 --> n1"):
            assert f"    {line}" in drawn.splitlines()

    @pytest.mark.requirement("ED09")
    def test_condition_is_labelled_with_its_description_or_its_name(self) -> None:
        named = DirectEdge(source=ExecutorId("a"), target=ExecutorId("b"), condition=is_good)
        drawn = to_mermaid(graph_of(conditional("a", "b", "on pass"), named, conditional("a", "c")))
        for label in ("on pass", "if is_good", "condition"):
            assert f'-.->|"{label}"| n' in drawn

    def test_failure_and_always_edges_say_so(self) -> None:
        drawn = to_mermaid(
            graph_of(
                direct("a", "b", on="failure"),
                direct("a", "c", on="always", description="log"),
                FanOutEdge(source=ExecutorId("b"), targets=ids("d", "e"), on="failure"),
            )
        )
        assert '-->|"on failure"| n1' in drawn
        assert '-->|"always: log"| n2' in drawn
        assert '(["on failure: fan-out"])' in drawn

    def test_switch_goes_through_a_diamond_with_its_cases_and_default(self) -> None:
        drawn = to_mermaid(switch())
        assert 'nj0{"switch"}:::join' in drawn
        assert "n0 --- nj0" in drawn
        for label, end in (("an article", "n1"), ("is_good", "n2"), ("default", "n3")):
            assert f'nj0 -.->|"{label}"| {end}' in drawn

    def test_fan_out_tells_all_from_selected(self) -> None:
        def pick(message: object, targets: Sequence[str]) -> Sequence[str]:
            return targets

        a, (b, c) = ExecutorId("a"), ids("b", "c")
        every = to_mermaid(graph_of(FanOutEdge(source=a, targets=(b, c))))
        some = to_mermaid(graph_of(FanOutEdge(source=a, targets=(b, c), select=pick)))
        assert 'nj0(["fan-out"])' in every
        assert "nj0 ==> n1" in every
        assert 'nj0(["select pick"])' in some
        assert "nj0 -.-> n1" in some

    @pytest.mark.parametrize("mode", ["all", "latest", "available"])
    def test_fan_in_says_its_mode(self, mode: JoinMode) -> None:
        drawn = to_mermaid(diamond(mode))
        assert f'nj1(["join {mode}"]):::join' in drawn
        assert "n1 --- nj1" in drawn
        assert "nj1 --> n4" in drawn

    def test_map_tells_parallelism_window_and_what_errors_do(self) -> None:
        drawn = to_mermaid(mapped())
        assert 'n0 ==>|"each item: 8 at once, window 50, skip on error"| n1' in drawn
        assert 'n1 -->|"list of results"| n2' in drawn

    def test_retry_tells_passes_and_the_way_out(self) -> None:
        drawn = to_mermaid(retry_loop())
        assert 'n1 -.->|"retry while is_good, up to 3 passes"| n0' in drawn
        assert 'n1 -.->|"exhausted"| n2' in drawn

    def test_retry_with_the_message_of_one_pass_says_so(self) -> None:
        a, b = ids("a", "b")
        edge = RetryEdge(source=b, target=a, when=lambda _: True, max_passes=1, payload="message")
        assert '|"retry up to 1 pass, with the message"|' in to_mermaid(graph_of(direct("a", "b"), edge))

    @pytest.mark.requirement("EX21")
    def test_sub_workflows_are_subgraphs_within_subgraphs(self) -> None:
        lines = to_mermaid(nested()).splitlines()
        assert '    subgraph n1["sub"]' in lines
        assert '        subgraph n1_1["deep"]' in lines
        assert '            n1_1_1["check"]' in lines
        assert lines.count("        end") == lines.count("    end") == 1
        assert "    n0 --> n1" in lines

    def test_sub_workflow_can_be_the_start(self) -> None:
        inner = WorkflowBuilder("inner").set_start(Node("b")).build()
        assert (
            "    class n0 start"
            in to_mermaid(graph_of(start="a", nodes=[inner.as_executor("a")])).splitlines()
        )

    def test_labels_cannot_break_out(self) -> None:
        drawn = to_mermaid(graph_of(conditional("a", NASTY, NASTY)))
        label = "say #quot;hi#quot; #38; #60;b#62; #35;1; #96;end#96; #124; “ünï” 数 #92; \ufffd"
        assert f'n1["{label}"]' in drawn
        assert f'|"{label}"|' in drawn


class TestData:
    @every_graph
    def test_is_json(self, make: Make) -> None:
        data = to_dict(make())
        assert json.loads(json.dumps(data)) == data

    def test_executor_tells_kind_types_limits_and_policy(self) -> None:
        policy = RetryPolicy(max_attempts=2, retry_on=(OSError,))
        node = Node("a", kind=ExecutorKind.VALIDATOR, max_parallel=3, retry=policy, timeout_s=1.5)
        (data,) = listed(to_dict(Graph({node.id: node}, [], [node.id])), "executors")
        assert data["kind"] == "validator"
        assert data["input_types"] == ["str"]
        assert data["max_parallel"] == 3
        assert data["timeout_s"] == 1.5
        assert data["retry"] == {
            "max_attempts": 2,
            "first_delay_s": 0.5,
            "backoff": 2.0,
            "max_delay_s": 60.0,
            "jitter": 0.5,
            "retry_on": ["OSError"],
            "respect_retry_after": True,
        }

    def test_executor_tells_what_it_takes_sends_yields_and_returns(self) -> None:
        class Typed(Executor):
            @handler
            async def run(self, message: str, ctx: WorkflowContext[int, bytes]) -> list[str] | None:
                return [message]

        class Open(Executor):
            @handler
            async def run(self, message: str, ctx: WorkflowContext) -> Any:
                return message

        typed, open_ = listed(to_dict(graph_of(nodes=[Typed("a"), Open("b")])), "executors")
        assert types_of(typed) == {
            "input_types": ["str"],
            "send_types": ["int"],
            "output_types": ["bytes"],
            "return_types": ["list[str]"],
        }
        assert types_of(open_) == {
            "input_types": ["str"],
            "send_types": None,
            "output_types": None,
            "return_types": None,
        }

    def test_edges_tell_all_their_facts(self) -> None:
        assert listed(to_dict(switch()), "edges") == [
            {
                "kind": "switch",
                "name": "a->b+c+d",
                "sources": ["a"],
                "targets": ["b", "c", "d"],
                "on": "success",
                "cases": [
                    {"target": "b", "condition": "<lambda>", "description": "an article"},
                    {"target": "c", "condition": "is_good", "description": ""},
                ],
                "default": "d",
            }
        ]
        (edge,) = listed(to_dict(mapped()), "edges")
        assert (edge["kind"], edge["body"], edge["join"]) == ("map", "b", "c")
        assert (edge["max_parallel"], edge["window"], edge["on_item_error"]) == (8, 50, "skip")
        _, loop, passed = listed(to_dict(retry_loop()), "edges")
        assert (loop["kind"], loop["when"], loop["max_passes"]) == ("retry", "is_good", 3)
        assert (loop["exhausted"], loop["payload"]) == ("d", "input")
        assert (passed["kind"], passed["description"]) == ("conditional", "on pass")
        out, join = listed(to_dict(diamond("latest")), "edges")
        assert (out["kind"], out["select"]) == ("fan_out", None)
        assert (join["kind"], join["mode"]) == ("fan_in", "latest")

    def test_sub_workflows_are_nested_with_id_and_version(self) -> None:
        _, sub, _ = listed(to_dict(nested()), "executors")
        inner = sub["workflow"]
        assert isinstance(inner, dict)
        assert (inner["id"], inner["version"]) == ("inner", "7")
        assert [node["id"] for node in listed(inner, "executors")] == ["load", "deep"]


def types_of(executor: Mapping[str, object]) -> dict[str, object]:
    return {name: fact for name, fact in executor.items() if name.endswith("_types")}


def listed(data: Mapping[str, object], key: str) -> list[dict[str, object]]:
    found = data[key]
    assert isinstance(found, list)
    return found


class TestSvg:
    @every_graph
    def test_is_well_formed_and_loads_nothing(self, make: Make) -> None:
        drawn = to_svg(make(), title="flow")
        root = parsed(drawn)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert not re.search(
            r"https?://(?!www\.w3\.org/2000/svg)|url\(|@import|@font-face|<script|href", drawn
        )

    @every_graph
    def test_is_the_same_every_time(self, make: Make) -> None:
        assert to_svg(make()) == to_svg(make())

    @every_graph
    def test_no_two_cards_overlap(self, make: Make) -> None:
        for one, other in combinations(cards(parsed(to_svg(make()))), 2):
            assert not overlap(one, other), (one, other)

    def test_has_colours_for_dark_surroundings_and_words_for_readers(self) -> None:
        drawn = to_svg(chain(), title="flow")
        root = parsed(drawn)
        assert "@media (prefers-color-scheme:dark)" in drawn
        assert (root.get("role"), root.get("aria-label")) == ("img", "flow")
        assert root.findtext("{*}desc") == "3 executors, 2 edges; starts at a"
        titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
        assert "a: worker · str" in titles
        assert "a to b" in titles

    def test_styles_touch_nothing_outside_of_the_picture(self) -> None:
        sheet = parsed(to_svg(chain())).findtext("{*}style") or ""
        selectors = re.findall(r"([^{}]+)\{", re.sub(r"@media[^{]*\{", "", sheet))
        assert selectors
        for selector in ",".join(selectors).split(","):
            assert selector.strip().startswith(".agentic-graph")

    @pytest.mark.parametrize(
        ("make", "words"),
        [
            (switch, ["switch", "an article", "is_good", "default"]),
            (diamond, ["fan-out", "join all"]),
            (retry_loop, ["retry while is_good, up to 3 passes", "exhausted", "on pass"]),
            (mapped, ["each item: 8 at once, window 50, skip on error", "list of results"]),
            (nested, ["sub", "sub-workflow", "deep", "check", "again"]),
        ],
    )
    def test_every_edge_kind_is_told_in_words(self, make: Make, words: Sequence[str]) -> None:
        assert set(words) <= set(texts(to_svg(make())))

    def test_labels_cannot_break_out(self) -> None:
        drawn = to_svg(graph_of(conditional("a", NASTY, NASTY)), title=NASTY)
        shown = 'say "hi" & <b> #1; `end` | “ünï” 数 \\ \ufffd'
        assert texts(drawn).count(shown) == 2  # heading and label; the card has no room for all of it

    def test_shapes_tell_the_kind_of_an_executor(self) -> None:
        def shape_of(kind: ExecutorKind) -> list[str]:
            node = Node("a", kind=kind)
            (drawn,) = groups(to_svg(Graph({node.id: node}, [], [node.id])), "node")
            return [child.tag.partition("}")[2] for child in drawn if child.get("class") in {"card", "frame"}]

        assert [shape_of(kind) for kind in ExecutorKind] == [["rect"], ["polygon"], ["rect", "rect"]]

    def test_long_names_are_cut_but_told_in_full(self) -> None:
        name = "x" * 90
        drawn = to_svg(graph_of(direct("a", name)))
        assert f"{'x' * 35}…" in texts(drawn)
        assert f"<title>{name}: worker · str</title>" in drawn

    def test_empty_graph_is_a_picture_too(self) -> None:
        assert parsed(to_svg(Graph({}, [], []))).get("aria-label") == "workflow"


class TestRunOnGraph:
    @pytest.mark.parametrize("status", ["waiting", "running", "completed", "failed", "parked"])
    def test_status_is_told_by_word_icon_and_colour(self, status: ExecutorStatus) -> None:
        drawn = to_svg(chain(), run=run_view({"a": ExecutorView(status=status)}))
        node = groups(drawn, "node")[0]
        assert status in node.get("class", "").split()
        assert status in [element.text for element in node.iter()]
        assert [child for child in node if child.get("class") == "icon"]

    def test_statuses_have_different_icons(self) -> None:
        def icon_of(status: ExecutorStatus) -> str:
            drawn = to_svg(chain(), run=run_view({"a": ExecutorView(status=status)}))
            return ET.tostring(groups(drawn, "icon")[0][1], encoding="unicode")

        statuses: list[ExecutorStatus] = ["waiting", "running", "completed", "failed", "parked"]
        assert len({icon_of(status) for status in statuses}) == len(statuses)

    def test_times_counts_attempts_and_errors_are_shown(self) -> None:
        view = ExecutorView(
            status="failed", activation_count=2, attempts=5, duration_s=83.4, error="ValueError: <no table>"
        )
        shown = texts(to_svg(chain(), run=run_view({"b": view})))
        assert "failed · 1 min 23 s · 2 messages · 5 attempts" in shown
        assert "ValueError: <no table>" in shown

    def test_executors_that_had_nothing_to_do_wait(self) -> None:
        assert texts(to_svg(chain(), run=run_view())).count("waiting") == 3

    def test_heading_names_run_and_status(self) -> None:
        assert "flow · run r1 running · superstep 4" in texts(to_svg(chain(), run=run_view(), title="flow"))

    def test_edges_tell_their_messages_and_unused_ones_fade(self) -> None:
        views = {"a": ExecutorView(status="completed", activation_count=5)}
        drawn = to_svg(retry_loop(), run=run_view(views, {"a->b": 4, "b->a+d": 1}))
        assert {"4 messages", "retry while is_good, up to 3 passes · 1 message"} <= set(texts(drawn))
        faded = {
            group.findtext("{*}title")
            for group in groups(drawn, "edge")
            if "unused" in group.get("class", "").split()
        }
        assert faded == {"b to c: on pass", "b to d: exhausted"}

    def test_junctions_tell_the_messages_of_their_edge(self) -> None:
        assert "join all · 3 messages" in texts(to_svg(diamond(), run=run_view(edges={"b+c+d->e": 3})))

    def test_executors_and_edges_within_sub_workflows_go_by_their_path(self) -> None:
        executors = {
            "sub": ExecutorView(status="running"),
            "sub/load": ExecutorView(status="completed", duration_s=0.25),
            "sub/deep/parse": ExecutorView(status="parked"),
        }
        drawn = to_svg(nested(), run=run_view(executors, {"sub/load->deep": 2}))
        shown = texts(drawn)
        assert {"sub-workflow · running", "completed · 250 ms", "parked", "2 messages"} <= set(shown)

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [
            (0.0002, "under 1 ms"),
            (0.0123, "12 ms"),
            (0.9996, "1.0 s"),
            (12.34, "12.3 s"),
            (59.97, "1 min 0 s"),
            (3600, "1 h 0 min"),
            (7890, "2 h 11 min"),
        ],
    )
    def test_times_have_the_unit_that_fits(self, seconds: float, text: str) -> None:
        assert duration_text(seconds) == text


class TestLayout:
    @pytest.mark.parametrize("seed", range(12))
    def test_nothing_overlaps_and_no_line_runs_through_a_node(self, seed: int) -> None:
        boxes, links = random_boxes(seed)
        layout = lay_out(boxes, links)
        areas = [*node_areas(boxes, layout).values(), *label_areas(links, layout)]
        for one, other in combinations(areas, 2):
            assert not overlap(one, other)
        for link, route in zip(links, layout.routes, strict=True):
            for name, area in node_areas(boxes, layout).items():
                if name not in {link.source, link.target}:
                    assert not any(is_inside(point, area) for point in bent(route.points))

    @pytest.mark.parametrize("seed", range(12))
    def test_lines_touch_the_sides_of_their_nodes(self, seed: int) -> None:
        boxes, links = random_boxes(seed)
        layout = lay_out(boxes, links)
        areas = node_areas(boxes, layout)
        for link, route in zip(links, layout.routes, strict=True):
            for name, (x, y) in ((link.source, route.points[0]), (link.target, route.points[-1])):
                left, top, right, bottom = areas[name]
                assert left - 0.1 <= x <= right + 0.1
                assert link.source == link.target or min(abs(y - top), abs(y - bottom)) < 0.1

    def test_everything_is_within_the_picture(self) -> None:
        boxes, links = random_boxes(3)
        layout = lay_out(boxes, links)
        for left, top, right, bottom in [*node_areas(boxes, layout).values(), *label_areas(links, layout)]:
            assert left >= -0.1
            assert top >= -0.1
            assert right <= layout.width + 0.1
            assert bottom <= layout.height + 0.1

    def test_chain_is_one_straight_line_downwards(self) -> None:
        boxes = {name: Box(width=80, height=40) for name in "abc"}
        layout = lay_out(boxes, [Link(source="a", target="b"), Link(source="b", target="c")])
        assert len({x for x, _ in layout.nodes.values()}) == 1
        assert [y for _, y in layout.nodes.values()] == sorted(y for _, y in layout.nodes.values())
        assert all(x == layout.nodes["a"][0] for route in layout.routes for x, _ in route.points)

    def test_link_that_closes_a_cycle_points_upwards(self) -> None:
        boxes = {name: Box(width=80, height=40) for name in "ab"}
        layout = lay_out(boxes, [Link(source="a", target="b"), Link(source="b", target="a")])
        assert layout.nodes["a"][1] < layout.nodes["b"][1]
        back = layout.routes[1].points
        assert back[0][1] > back[-1][1]

    def test_tree_has_no_crossings(self) -> None:
        boxes = {str(i): Box(width=60, height=30) for i in range(31)}
        links = [Link(source=str((i - 1) // 2), target=str(i)) for i in reversed(range(1, 31))]
        layout = lay_out(boxes, links)
        for one, other in combinations(links, 2):
            if layout.nodes[one.source][1] == layout.nodes[other.source][1]:
                starts = layout.nodes[one.source][0] - layout.nodes[other.source][0]
                ends = layout.nodes[one.target][0] - layout.nodes[other.target][0]
                assert starts * ends >= 0

    def test_parts_without_a_link_stand_side_by_side(self) -> None:
        boxes = {name: Box(width=80, height=40) for name in "abcd"}
        layout = lay_out(boxes, [Link(source="a", target="b"), Link(source="c", target="d")])
        assert layout.nodes["a"][1] == layout.nodes["c"][1]
        assert layout.nodes["a"][0] != layout.nodes["c"][0]

    def test_long_chain_is_no_deep_recursion(self) -> None:
        boxes = {str(i): Box(width=60, height=30) for i in range(800)}
        layout = lay_out(boxes, [Link(source=str(i), target=str(i + 1)) for i in range(799)])
        assert len(layout.routes) == 799


Area = tuple[float, float, float, float]
Point = tuple[float, float]


def random_boxes(seed: int) -> tuple[dict[str, Box], list[Link]]:
    chance = random.Random(seed)
    count = chance.randrange(2, 25)
    boxes = {
        str(i): Box(width=chance.randrange(60, 220), height=chance.choice([44, 44, 60, 180]))
        for i in range(count)
    }
    links = []
    for _ in range(chance.randrange(1, 2 * count)):
        width = chance.choice([0, 0, chance.randrange(30, 150)])
        one, other = str(chance.randrange(count)), str(chance.randrange(count))
        links.append(Link(source=one, target=other, label_width=width, label_height=18 if width else 0))
    return boxes, links


def around(centre: Point, width: float, height: float) -> Area:
    x, y = centre
    return (x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def node_areas(boxes: Mapping[str, Box], layout: Layout) -> dict[str, Area]:
    return {name: around(layout.nodes[name], box.width, box.height) for name, box in boxes.items()}


def label_areas(links: Sequence[Link], layout: Layout) -> list[Area]:
    return [
        around(route.label, link.label_width - 14, link.label_height)
        for link, route in zip(links, layout.routes, strict=True)
        if route.label is not None
    ]


def overlap(one: Area, other: Area) -> bool:
    return (
        one[0] < other[2] - 0.2
        and other[0] < one[2] - 0.2
        and one[1] < other[3] - 0.2
        and other[1] < one[3] - 0.2
    )


def is_inside(point: Point, area: Area) -> bool:
    x, y = point
    return area[0] + 1 < x < area[2] - 1 and area[1] + 1 < y < area[3] - 1


def bent(points: Sequence[Point]) -> Iterator[Point]:
    """Yield points along the curves: the third power of Bernstein's, upright at both ends."""
    for (x, y), (to_x, to_y) in pairwise(points):
        for step in range(21):
            part = step / 20
            across = part * part * (3 - 2 * part)
            yield (x + (to_x - x) * across, y + (to_y - y) * (1.5 * part - 1.5 * part**2 + part**3))


def cards(element: ET.Element, x: float = 0, y: float = 0) -> Iterator[Area]:
    """Yield where the cards of executors are; sub-workflows lie around theirs and are left out."""
    moved = re.search(r"translate\((\S+) (\S+)\)", element.get("transform", ""))
    if moved:
        x, y = x + float(moved[1]), y + float(moved[2])
    if element.get("class") == "card" and element.get("width"):
        left, top = x + float(element.get("x", 0)), y + float(element.get("y", 0))
        yield (left, top, left + float(element.get("width", 0)), top + float(element.get("height", 0)))
    for child in element:
        yield from cards(child, x, y)


def test_workflow_offers_its_views() -> None:
    workflow: Workflow = WorkflowBuilder("w").set_start(Node("a")).add_edge("a", Node("b")).build()
    assert workflow.to_mermaid() == to_mermaid(workflow.graph)
    assert json.dumps(workflow.to_dict())
