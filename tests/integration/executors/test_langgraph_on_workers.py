"""A graph of LangGraph on Celery workers: it is asked elsewhere, and loses its worker in the middle."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text
from tests.pace import short_leases

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus, add_agent, find_project
from agentic.mappers.runs.requests import OpenRequest, open_requests
from agentic.plugins.langgraph.models import LangGraphRunModel

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

GRAPHS = "tests.integration.plugins.langgraph.graphs"
NOTES = "AGENTIC_TEST_NOTES"  # as there; importing it here would load LangGraph for nothing

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]


@pytest.mark.requirement("BR01", "PL03")
def test_a_graph_that_lost_its_worker_in_a_node_ends_as_if_it_had_not(place: Place) -> None:
    """Finished nodes, of the graph and of the one in it, are not repeated; the one that was at work is."""
    place.env |= {NOTES: str(place.path), **short_leases(2.0, 0.2)}
    config: dict[str, JSONValue] = {"graph": f"{GRAPHS}:trip", "input": {"city": "Oslo"}}
    with place.database.writing() as session:
        agent = add_agent(session, find_project(session, "default"), "trip", "langgraph", config)
    first = place.start_worker()
    execution = place.submit(agent)

    def asked() -> list[OpenRequest]:
        with place.database.reading() as session:
            return list(open_requests(session, project_id=agent.project_id))

    answered: set[str] = set()
    for question, answer in (({"question": "who goes?"}, '"Ann"'), ("when?", '{"day": 7}')):
        place.eventually(lambda: {one.id for one in asked()} - answered)
        (request,) = (one for one in asked() if one.id not in answered)
        data: Any = request.question
        assert data["value"] == question
        place.run("requests", "answer", execution.id, request.id, answer)
        answered.add(request.id)
    notes = place.path / "notes.txt"
    place.eventually(lambda: "gate" in notes.read_text())
    place.kill(first)
    (place.path / "gate").touch()
    place.start_worker()
    ended = place.ended(execution.id)
    assert (ended.status, ended.error) == (ExecutionStatus.SUCCEEDED, None)
    entered = Counter(notes.read_text().splitlines())
    once = {"route", "look Oslo 0", "look Oslo 1", "look Oslo 2", "asked", "leave"}
    assert entered == {**dict.fromkeys(once, 1), "ask": 3, "gate": 2}
    with place.database.reading() as session:
        (row,) = session.query(LangGraphRunModel).all()
        kept = session.execute(text("SELECT ns, count(*) FROM langgraph_checkpoints GROUP BY ns")).all()
    output: Any = row.output
    assert (row.graph, output["plan"], output["found"][-2:]) == (
        f"{GRAPHS}:trip",
        "done",
        ["Ann on {'day': 7}", "left"],
    )
    assert [count for _, count in kept] == [1, 1]  # of the graph, and of the one in it


@pytest.mark.requirement("BR01")
def test_a_worker_that_stops_lets_a_node_end_and_another_worker_does_the_rest(place: Place) -> None:
    """The drain of LangGraph on a warm shutdown: the node at work is not repeated, the next one not begun."""
    place.env |= {NOTES: str(place.path), **short_leases(2.0, 0.2)}
    config: dict[str, JSONValue] = {"graph": f"{GRAPHS}:slow", "input": {"city": "Oslo"}}
    with place.database.writing() as session:
        agent = add_agent(session, find_project(session, "default"), "slow", "langgraph", config)
    first = place.start_worker()
    execution = place.submit(agent)
    notes = place.path / "notes.txt"
    place.eventually(lambda: notes.exists() and "gate" in notes.read_text())
    first.send_signal(signal.SIGTERM)
    place.eventually(lambda: "graph.draining" in place.log_of(first))
    (place.path / "gate").touch()
    first.wait(timeout=60)
    assert "leave" not in notes.read_text()
    place.start_worker()
    assert place.ended(execution.id).status is ExecutionStatus.SUCCEEDED
    assert notes.read_text().split() == ["gate", "leave"]
    with place.database.reading() as session:
        assert session.scalar(text("SELECT max(crashes) FROM activations")) == 0


FOREIGN = Path(__file__).parents[1] / "plugins" / "langgraph" / "foreign"
"""Graphs of the public repository of LangGraph; its README names their commit."""

# Kills the process that works on a graph: before or after the n-th write of its saver, as fuse.txt says.
# Before a write the work of a node is done and not stored; after it, the process is between two nodes.
FUSE_PLUGIN = """
import os
import signal
from pathlib import Path

from agentic.core import hookimpl
from agentic.plugins.langgraph.savers.sql import SqlSaver

FUSE, DEATHS = Path("fuse.txt"), Path("deaths.txt")
do, state = SqlSaver._do, {"fuse": "", "writes": 0}


def point(place):
    fuse = FUSE.read_text() if FUSE.exists() else ""
    if fuse != state["fuse"]:
        state.update(fuse=fuse, writes=0)
    state["writes"] += place == "before"
    where, *later = fuse.split() or [""]
    kind, _, number = where.partition("-")
    if place == kind and state["writes"] >= int(number):
        FUSE.write_text(" ".join(later))
        with DEATHS.open("a") as deaths:
            deaths.write(f"{where}\\n")
        os.kill(os.getpid(), signal.SIGKILL)


async def burning(self, job, *, reads=False):
    if reads:
        return await do(self, job, reads=reads)
    point("before")
    found = await do(self, job, reads=reads)
    point("after")
    return found


SqlSaver._do = burning


@hookimpl
def agentic_platforms():
    return []
"""

CASES: dict[str, tuple[dict[str, JSONValue], str, str]] = {
    "bench.fanout_to_subgraph:fanout_to_subgraph": (
        {"subjects": ["cats", "dogs"]}, "before-2 after-9",
        '"Joke about cats - hohoho a a a a a a a a a a", "Joke about dogs - hohoho a a a a a a a a a a"',
    ),
    "graph.streaming_graph:graph": (
        {"messages": [], "items": []}, "after-2 before-6", '"streamed", "tool", "asked", "sub"',
    ),
    "agent.graph:graph": (
        {"messages": []}, "before-2", '"[COMMON] Agent says: Hello from shared library!"'
    ),
}  # fmt: skip
"""Name of a graph -> its input, the points where its workers die, and words of its last state."""


def install(site: Path) -> None:
    """Put the foreign graphs, and the fuse, where Python and its entry points find them."""
    blobs = dict(re.findall(r"^\| `(\S+)` \| `(\w+)` ", (FOREIGN / "README.md").read_text(), re.MULTILINE))
    for file in FOREIGN.rglob("*.txt"):
        name = file.relative_to(FOREIGN)
        content = file.read_bytes()
        assert hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest() == blobs[name.as_posix()]
        (site / name.parent).mkdir(exist_ok=True)
        shutil.copy(file, site / name.with_suffix(""))
    info = site / "fuse_plugin-1.0.dist-info"
    info.mkdir()
    (site / "fuse_plugin.py").write_text(FUSE_PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fuse-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[agentic]\nfuse = fuse_plugin\n")


@pytest.mark.slow
@pytest.mark.requirement("BR01", "PL03")
def test_graphs_of_others_whose_workers_are_killed_end_as_if_they_had_not(place: Place) -> None:
    """Three graphs of the public repository, unchanged; each runs once with deaths and once without."""
    install(place.path / "plugins")
    place.env |= {"AGENTIC_WORKFLOW_MODULES": '["agent", "bench", "graph"]', **short_leases(1.0, 0.1)}
    place.start_worker()
    fuse = place.path / "fuse.txt"

    def run(name: str, given: dict[str, JSONValue], points: str) -> Any:
        fuse.write_text(points)
        with place.database.writing() as session:
            config: dict[str, JSONValue] = {"graph": name, "input": given}
            row = add_agent(
                session, find_project(session, "default"), f"{name} {points}", "langgraph", config
            )
        execution = place.submit(row)
        if name.startswith("graph."):
            place.eventually(lambda: asked(row.project_id))
            (request,) = asked(row.project_id)
            place.run("requests", "answer", execution.id, request.id, '"Yes."')
        ended = place.ended(execution.id)
        assert (ended.status, ended.error, fuse.read_text()) == (ExecutionStatus.SUCCEEDED, None, "")
        with place.database.reading() as session:
            found = session.query(LangGraphRunModel).filter_by(execution_id=execution.id).one()
            return without_ids(found.output)

    def asked(project_id: str) -> list[OpenRequest]:
        with place.database.reading() as session:
            return list(open_requests(session, project_id=project_id))

    for name, (given, points, words) in CASES.items():
        output = run(name, given, points)
        assert output == run(name, given, ""), name
        assert words in json.dumps(output)
    deaths = (place.path / "deaths.txt").read_text().split()
    assert deaths == [point for _, points, _ in CASES.values() for point in points.split()]


def without_ids(value: JSONValue) -> JSONValue:
    """Return a state without the random ids of its messages."""
    if isinstance(value, dict):
        return {name: without_ids(one) for name, one in value.items() if name != "id"}
    return [without_ids(one) for one in value] if isinstance(value, list) else value
