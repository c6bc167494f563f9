"""A graph of LangGraph on Celery workers: it is asked elsewhere, and loses its worker in the middle."""

from __future__ import annotations

import signal
from collections import Counter
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
