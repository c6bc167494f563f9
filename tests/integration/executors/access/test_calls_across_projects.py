"""What Python offers, tried in one project with what is another's: nothing is found, nothing is changed."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import asdict

import pytest
from sqlalchemy import Update, update
from tests.integration.executors.access import calls
from tests.integration.executors.access.calls import Call, Place
from tests.integration.executors.access.conftest import Shell
from tests.integration.executors.access.worlds import ONE, OTHER, WORDS, Names

import agentic.executors
import agentic.mappers
from agentic.core.graph.checkpoints.store import CheckpointStore
from agentic.core.ledger import LedgerTransaction
from agentic.executors import RunHandle
from agentic.executors.agents.workflows import flow_name
from agentic.executors.durable import Submission
from agentic.mappers import AgentModel, ExecutionStatus, find_execution
from agentic.mappers.ledger.sql import ACTIVATIONS
from agentic.mappers.runs.reading import LedgerReader

pytestmark = [pytest.mark.integration, pytest.mark.requirement("PL42")]

NewShell = Callable[[], Shell]

TRIED: dict[str, Call] = {
    **calls.CALLS,
    **{f"ledger.{name}": call for name, call in calls.LEDGER.items()},
    **{f"reader.{name}": call for name, call in calls.READER.items()},
    **{f"checkpoints.{name}": call for name, call in calls.CHECKPOINTS.items()},
    **{f"handle.{name}": call for name, call in calls.HANDLE.items()},
}

FIND_NOTHING = {
    "add_agent": "it adds: see TWINS",
    "add_decision_about": "it adds",
    "add_notifications": "it adds",
    "audit": "it adds",
    "counts_of_executions": "it is about a project",
    "describe_project": "it is about a project",
    "make_catalog": "it is made of flow_builder, which is tried",
    "mark_decisions": "it is what the ledger's method calls, which is tried",
    "merge_wrappers": "it adds",
    "names_of_schedules": "it is about a project",
    "note_stream": "it is about a project",
    "notice_end": "it is what record_execution_end() calls, which is tried",
    "put_rule": "it adds, and replaces what is called so: see TWINS",
    "remove_project": "it is about a project",
    "save_wrappers": "it adds, and replaces what has its key: tried with the store",
    "set_secret": "it adds, and replaces what is called so: see TWINS",
}
"""Functions that are told a project and a text, and look for nothing that might be another's; and why."""

SILENT = {"ledger.children", "ledger.retry", "reader.crash_count", "reader.family"}
"""Calls that come to the same for all runs of this world: none has a child that goes on, or died."""


def answer(place: Place, call: Call, names: Names) -> str:
    """Return what a call comes to, with the names taken out."""
    try:
        said = repr(call(place, names))
    except Exception as exc:
        said = f"{type(exc).__name__}: {exc}"
    parts = [*asdict(names).values(), *(value[: calls.PREFIX_CHARS] for value in asdict(names).values())]
    for part in sorted(parts, key=len, reverse=True):
        said = said.replace(part, "?")
    return said


def test_what_is_the_others_is_as_if_it_were_not_there(new_shell: NewShell) -> None:
    world = new_shell().world
    place, theirs, nothing = Place(world), world.names[OTHER], Names.of_nothing()
    before = world.rows(OTHER)
    for name, call in TRIED.items():
        assert answer(place, call, theirs) == answer(place, call, nothing), name
        assert world.rows(OTHER) == before, name


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
def test_what_is_ones_own_is_found(new_shell: NewShell, name: str) -> None:
    world = new_shell().world
    before = {project: world.rows(project) for project in WORDS}
    place = Place(world)
    nothing = answer(place, TRIED[name], Names.of_nothing())
    own = answer(place, TRIED[name], world.names[ONE])
    is_seen = own != nothing or world.rows(ONE) != before[ONE]
    assert is_seen != (name in SILENT)
    assert world.rows(OTHER) == before[OTHER]


@pytest.mark.slow
@pytest.mark.parametrize("name", calls.LEDGER_LISTS)
def test_lists_of_the_ledger_show_what_is_ones_own(new_shell: NewShell, name: str) -> None:
    said = repr(calls.LEDGER_LISTS[name](Place(new_shell().world)))
    assert WORDS[OTHER] not in said
    assert WORDS[ONE] in said or name in {"neglected_runs", "expired"}


def test_nobodys_execution_is_ended_by_a_run_that_is_called_like_it(new_shell: NewShell) -> None:
    world = new_shell().world
    place, before = Place(world), world.rows(OTHER)
    theirs, own = world.names[OTHER], world.names[ONE]
    # It goes first in the queue, and whoever was told of it is gone.
    place.read(lambda session: session.execute(untold(own.fresh)))
    with world.database.reading() as session:
        agents = [session.get_one(AgentModel, names.agent_id) for names in (own, theirs)]
        flows = [flow_name(agent) for agent in agents]
    for flow, execution in zip(flows, (theirs.waiting, theirs.failed), strict=True):
        how = Submission(run_id=execution)
        result = place.client(lambda client: client.submit(flow, execution, how).result(20.0))  # noqa: B023
        assert f"no execution {execution!r} of agent" in str(getattr(result, "error", ""))
        assert world.rows(OTHER) == before
    with world.database.reading() as session:
        found = find_execution(session, world.ids[OTHER], theirs.waiting)
        assert found.status is ExecutionStatus.QUEUED


def untold(run_id: str) -> Update:
    """Return a statement after which no worker has been told of what is due of a run."""
    return update(ACTIVATIONS).where(ACTIVATIONS.c.run_id == run_id).values(dispatched_at=None)


def test_every_method_that_takes_a_name_is_tried() -> None:
    ledger = {*calls.LEDGER, *calls.LEDGER_LISTS, *calls.LEDGER_ELSE}
    assert ledger == set(methods_of(LedgerTransaction))
    assert {*calls.READER, "now", "runs"} == set(methods_of(LedgerReader))
    assert {*calls.CHECKPOINTS, "save"} == set(methods_of(CheckpointStore))
    assert set(calls.HANDLE) == set(methods_of(RunHandle))


def test_every_function_that_is_told_a_project_is_tried() -> None:
    known = set(functions())
    assert sorted(known - {*calls.CALLS, *FIND_NOTHING}) == []


def methods_of(kind: type[object]) -> Iterator[str]:
    """Yield the methods of a class and of those before it."""
    for name, _ in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            yield name


def functions() -> Iterator[str]:
    """Yield the functions that are told which project it is, by its id or its row, and a text."""
    for package in (agentic.mappers, agentic.executors):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".testing" in found.name:
                continue
            module = importlib.import_module(found.name)
            for name, function in inspect.getmembers(module, inspect.isfunction):
                told = list(inspect.signature(function).parameters.values())
                is_own = function.__module__ == module.__name__ and not name.startswith("_")
                if is_own and any(map(_is_project, told)) and any(map(_may_name, told)):
                    yield name


def _is_project(told: inspect.Parameter) -> bool:
    return told.name == "project_id" or "ProjectModel" in str(told.annotation)


def _may_name(told: inspect.Parameter) -> bool:
    """Whether it is a text, or made of texts, beside the project itself."""
    return told.name != "project_id" and any(kind in str(told.annotation) for kind in ("str", "Id", "Filter"))
