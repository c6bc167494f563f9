"""Where a run stands, as its events tell it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.bus.told import shaky, told

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.bus.kv import checked_key
from agentic.core.bus.projections.projection import Documents, apply_state, state_keys
from agentic.core.graph import EventKind
from agentic.core.types import RunId

pytestmark = pytest.mark.requirement("NA15", "NA16", "NA18", "ED14", "ED15", "ED17", "ED19", "LG14")


async def documents_of(workflow: Workflow, run_id: str = "r1") -> Documents:
    """Return what stands of a run in the end."""
    events = [event async for event in workflow.run_stream(1, run_id=RunId(run_id))]
    documents: Documents = {}
    apply_state(told(events), documents)
    return documents


async def test_a_runs_state_tells_how_it_ended_and_when() -> None:
    state = (await documents_of(shaky(0)))["workflow.shop/r1.state"]

    assert (state["status"], state["workflow"], state["version"]) == ("completed", "shaky", "1")
    assert state["superstep"] == 2
    assert state["started_at"] <= state["updated_at"]


async def test_a_runs_state_tells_why_it_failed_and_no_more_once_it_goes_on() -> None:
    events = [event async for event in shaky(0, end="no paper").run_stream(1, run_id=RunId("r1"))]
    documents: Documents = {}

    apply_state(told(events), documents)
    assert documents["workflow.shop/r1.state"]["error"] == "ValueError: no paper"
    assert documents["executor.shop/r1/write.state"]["status"] == "failed"

    last = events[-1]
    assert last.sequence is not None
    resumed = type(last)(
        kind=EventKind.RUN_RESUMED, run_id=last.run_id, time=last.time, sequence=last.sequence + 1
    )
    apply_state(told([resumed]), documents)
    assert documents["workflow.shop/r1.state"]["status"] == "running"
    assert "error" not in documents["workflow.shop/r1.state"]


async def test_of_an_executor_its_output_its_tries_and_its_errors_are_kept() -> None:
    documents = await documents_of(shaky(2))

    assert documents["executor.shop/r1/read.output"]["sends"] == [{"message": 2}]
    assert documents["executor.shop/r1/write.state"] | {"updated_at": 0} == {
        "status": "completed",
        "attempt": 3,
        "superstep": 1,
        "shard": 0,
        "updated_at": 0,
    }
    tries = documents["executor.shop/r1/write.attempts"]["newest"]
    assert [one["error_type"] for one in tries] == ["OSError", "OSError", ""]
    errors = documents["executor.shop/r1/write.errors"]["newest"]
    assert [one["message"] for one in errors] == ["port 4001 is closed", "port 4000 is closed"]


async def test_of_an_edge_the_newest_message_and_how_often_it_carried_one_is_kept() -> None:
    documents = await documents_of(shaky(0))
    data, metadata = (documents[f"edge.shop/r1/read-=3Ewrite.{part}"] for part in ("data", "metadata"))

    # sha256 of the JSON text: printf 2 | sha256sum
    assert data["hash"] == "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35"
    assert (data["from"], data["to"], data["superstep"]) == ("read", "write", 1)
    assert data["trace_id"] == documents["workflow.shop/r1.state"]["trace_id"]
    assert (metadata["activation_count"], metadata["message_count"]) == (1, 1)
    assert metadata["avg_latency_ms"] >= 0


@pytest.mark.requirement("NA17")
async def test_of_a_graph_each_executors_status_and_each_edges_traffic_are_seen_at_once() -> None:
    documents = await documents_of(shaky(1, end="no paper"))

    assert documents["graph.shop/r1.executors"] == {"read": "completed", "write": "failed"}
    assert documents["graph.shop/r1.edges"] == {"read->write": 1}


async def test_an_edge_to_many_is_counted_as_a_whole_and_by_target() -> None:
    @executor(id="split")
    async def split(number: int) -> int:
        return number

    @executor(id="left")
    async def left(number: int) -> None:
        del number

    @executor(id="right")
    async def right(number: int) -> None:
        del number

    builder = WorkflowBuilder("fan", version="1").set_start(split).add_fan_out_edge(split, [left, right])
    documents = await documents_of(builder.build())

    carried = {key for key in documents if key.startswith("edge.") and key.endswith(".metadata")}
    assert {"edge.shop/r1/split-=3Eleft.metadata", "edge.shop/r1/split-=3Eright.metadata"} < carried
    assert len(carried) == 3


async def test_shared_state_has_a_key_for_each_name_whatever_it_is_called() -> None:
    documents = await documents_of(shaky(0))

    assert documents["workflow.shop/r1.state.seen=20page"]["value"] == 1


async def test_what_is_in_hand_is_known_while_a_superstep_runs() -> None:
    events = told([event async for event in shaky(0).run_stream(1, run_id=RunId("r1"))])
    documents: Documents = {}
    invoked = [number for number, one in enumerate(events, 1) if one.event.kind is EventKind.EXECUTOR_INVOKED]

    apply_state(events[: invoked[1]], documents)
    assert documents["workflow.shop/r1.pending_messages"] == {"superstep": 1, "in_hand": {"write": ["read"]}}
    apply_state(events[invoked[1] :], documents)
    assert documents["workflow.shop/r1.pending_messages"]["in_hand"] == {}


async def test_what_happens_in_a_sub_workflow_has_the_path_in_its_keys_and_the_same_trace() -> None:
    inner = shaky(0)
    outer = WorkflowBuilder("outer", version="1").set_start(inner.as_executor("sub")).build()
    documents = await documents_of(outer)

    traces = {document["trace_id"] for key, document in documents.items() if key.endswith(".data")}
    assert any(key.startswith("edge.") and "sub/read-=3Ewrite" in key for key in documents)
    assert len(traces) == 1


@given(
    words=st.lists(
        st.text(min_size=1, max_size=4).filter(lambda word: "/" not in word), min_size=2, max_size=2
    ),
    cuts=st.lists(st.integers(0, 40), max_size=3),
)
async def test_events_in_any_portions_and_twice_leave_the_same(words: list[str], cuts: list[int]) -> None:
    project, run_id = words
    events = told([event async for event in shaky(1).run_stream(1, run_id=RunId(run_id))], project=project)
    whole: dict[str, dict[str, Any]] = {}
    apply_state(events, whole)

    parts: dict[str, dict[str, Any]] = {}
    places = [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
    for begin, end in pairwise(places):
        apply_state(events[max(begin - 2, 0) : end], parts)

    assert parts == whole
    assert set(whole) <= state_keys(events)
    assert all(checked_key(key) for key in state_keys(events))
