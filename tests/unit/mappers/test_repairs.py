"""Repairs in SQL: decided once, however many try, and undone by a further version."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests.commands import start_program
from tests.conftest import Eventually
from tests.databases import only_postgresql
from tests.postgres import PostgresServer

from agentic.core.pipeline.repairs.proposals import (
    ProposalEvidence,
    RepairAbstention,
    RepairProposal,
    SpecChange,
)
from agentic.core.pipeline.repairs.requests import ProposalState, RepairRequest, StoredRepair
from agentic.core.pipeline.repairs.versions import repaired_spec
from agentic.core.types import JSONValue
from agentic.mappers import AgentModel, Database, create_execution
from agentic.mappers.catalog.repairs import (
    NoVersionError,
    UnknownRepairError,
    apply_repair,
    changes_of,
    find_repair,
    import_changes,
    list_repairs,
    newest_version,
    reject_repair,
    roll_back,
    store_repair,
    was_refused,
    was_repaired,
)
from agentic.mappers.tables.audit import AuditModel
from agentic.mappers.tables.repairs import RepairVersionModel

SPEC: JSONValue = {"steps": [{"title": "h1", "price": ".price"}]}


def request(field: str, old: str, new: str) -> RepairRequest:
    change = SpecChange(place=("steps", 0, field), old=old, new=new)
    return RepairRequest(
        kind="k", repairs=(RepairProposal(kind="field", subject=field, changes=(change,), score=0.9),)
    )


class Repairs:
    """The repairs of an agent."""

    def __init__(self, database: Database, agent: AgentModel) -> None:
        self.database = database
        self.agent = agent

    def store(self, name: str, wanted: RepairRequest, run: str = "") -> StoredRepair:
        with self.database.writing() as session:
            return store_repair(session, self.agent, name, wanted, run=run)

    def apply(self, name: str, spec: JSONValue = SPEC) -> StoredRepair:
        with self.database.writing() as session:
            return apply_repair(session, self.agent, name, spec, who="ada")

    def reject(self, name: str) -> StoredRepair:
        with self.database.writing() as session:
            return reject_repair(session, self.agent, name, who="ada")

    def roll_back(self, to: int | None = None) -> int:
        with self.database.writing() as session:
            return roll_back(session, self.agent, to=to)

    def import_changes(self, *wanted: RepairRequest) -> bool:
        changes = [change for one in wanted for change in one.changes]
        with self.database.writing() as session:
            return import_changes(session, self.agent, changes)

    def state(self, name: str) -> ProposalState:
        with self.database.reading() as session:
            return find_repair(session, self.agent.project_id, name)[0].state

    def in_effect(self) -> dict[str, JSONValue]:
        with self.database.reading() as session:
            changes = changes_of(newest_version(session, self.agent))
        return {str(change.place[-1]): change.new for change in changes}

    def was_refused(self, wanted: RepairRequest) -> bool:
        with self.database.reading() as session:
            return was_refused(session, self.agent, wanted)

    def decisions(self) -> Sequence[str]:
        query = select(AuditModel.kind).where(AuditModel.kind.like("repair.%")).order_by(AuditModel.number)
        with self.database.reading() as session:
            return session.scalars(query).all()

    def versions(self) -> int:
        with self.database.reading() as session:
            return session.scalar(select(func.count()).select_from(RepairVersionModel)) or 0


@pytest.fixture
def repairs(database: Database, agent: AgentModel) -> Repairs:
    return Repairs(database, agent)


def test_an_accepted_repair_is_a_version_and_a_second_acceptance_changes_nothing(repairs: Repairs) -> None:
    repairs.store("a", request("title", "h1", "h2"))
    assert (repairs.apply("a").version, repairs.apply("a").version) == (1, 1)
    assert repairs.in_effect() == {"title": "h2"}
    assert repairs.reject("a").state is ProposalState.APPLIED
    assert repairs.decisions() == ["repair.proposed", "repair.applied"]


def test_a_request_is_stored_once_and_what_was_decided_stays(repairs: Repairs) -> None:
    repairs.store("a", request("title", "h1", "h2"))
    repairs.reject("a")
    again = repairs.store("a", request("title", "h1", "h3"))
    assert (again.state, again.request.changes[0].new) == (ProposalState.REJECTED, "h2")
    assert repairs.apply("a").state is ProposalState.REJECTED
    assert repairs.versions() == 0


DECIDER = """
    import sys
    from agentic.mappers import AgentModel, Database
    from agentic.mappers.catalog.repairs import apply_repair

    url, agent_id, name, gate = sys.argv[1:]
    database = Database(url)
    with database.reading() as session:
        agent = session.get_one(AgentModel, agent_id)
    open(gate).read()
    with database.writing() as session:
        decided = apply_repair(session, agent, name, {"steps": [{"title": "h1", "price": ".price"}]})
    database.dispose()
    print(decided.state, decided.version)
    """


def test_of_processes_that_decide_at_a_time_one_makes_the_version(
    repairs: Repairs, whole_url: str, tmp_path: Path
) -> None:
    """Each one stands at a gate of its own, and all are opened at a time."""
    repairs.store("a", request("title", "h1", "h2"))
    repairs.store("b", request("price", ".price", ".amount"))
    names = "aabb"
    gates = [tmp_path / f"gate{at}" for at in range(len(names))]
    for gate in gates:
        os.mkfifo(gate)
    with ExitStack() as begun:
        processes = []
        for name, gate in zip(names, gates, strict=True):
            arguments = [whole_url, repairs.agent.id, name, str(gate)]
            processes.append(start_program(DECIDER, arguments, os.environ, tmp_path))
            begun.callback(processes[-1].kill)
        with ExitStack() as opened:
            for gate in gates:
                opened.enter_context(gate.open("w"))  # waits until its process stands there
        found = [process.communicate(timeout=60) for process in processes]
    assert [errors for _, errors in found] == [""] * len(names)
    decided = [out.split() for out, _ in found]
    assert decided[0] == decided[1]
    assert decided[2] == decided[3]
    assert sorted((decided[0], decided[2])) == [["applied", "1"], ["applied", "2"]]
    assert repairs.versions() == 2
    assert repairs.in_effect() == {"title": "h2", "price": ".amount"}
    assert repairs.decisions() == ["repair.proposed"] * 2 + ["repair.applied"] * 2


def test_a_repair_of_what_has_changed_since_is_superseded(repairs: Repairs) -> None:
    repairs.store("a", request("title", "h1", "h2"))
    repairs.store("b", request("title", "h1", "h3"))
    repairs.store("c", request("price", ".price", ".amount"))
    repairs.apply("a")
    assert repairs.apply("b").state is ProposalState.SUPERSEDED
    edited: JSONValue = {"steps": [{"title": "h1", "price": ".cost"}]}
    assert repairs.apply("c", edited).state is ProposalState.SUPERSEDED
    assert repairs.in_effect() == {"title": "h2"}


def test_a_second_repair_of_a_field_goes_on_from_the_first(repairs: Repairs) -> None:
    for name, old, new in (("a", "h1", "h2"), ("b", "h2", "h3")):
        repairs.store(name, request("title", old, new))
        repairs.apply(name)
    with repairs.database.reading() as session:
        (change,) = changes_of(newest_version(session, repairs.agent))
    assert (change.old, change.new) == ("h1", "h3")


def test_a_repair_is_undone_by_a_further_version(repairs: Repairs) -> None:
    for name, field, old in (("a", "title", "h1"), ("b", "price", ".price")):
        repairs.store(name, request(field, old, f"{old}.new"), run="r")
        repairs.apply(name)
    assert repairs.roll_back() == 3
    assert repairs.in_effect() == {"title": "h1.new"}
    assert (repairs.state("a"), repairs.state("b")) == (ProposalState.APPLIED, ProposalState.ROLLED_BACK)
    with pytest.raises(NoVersionError, match="version 3 is not a repair; add --to N"):
        repairs.roll_back()
    assert repairs.roll_back(to=0) == 4
    assert repairs.in_effect() == {}
    with pytest.raises(NoVersionError, match="version 4 does not exist before version 4"):
        repairs.roll_back(to=4)
    assert repairs.decisions()[-2:] == ["repair.rolled_back"] * 2
    with repairs.database.reading() as session:
        assert was_repaired(session, repairs.agent, "r", "k")
        assert not was_repaired(session, repairs.agent, "other", "k")


def test_a_repair_that_a_rollback_brings_back_is_applied_again(repairs: Repairs) -> None:
    for name, field, old in (("a", "title", "h1"), ("b", "price", ".price")):
        repairs.store(name, request(field, old, f"{old}.new"))
        repairs.apply(name)
    states = []
    for to in (1, 0, 2, 3, 4, 5):  # 3 is 1 again, 4 is as written, 5 is 2 again, 6 is 3, 7 is 4, 8 is 5
        repairs.roll_back(to=to)
        states.append((repairs.state("a"), repairs.state("b")))
    applied, undone = ProposalState.APPLIED, ProposalState.ROLLED_BACK
    one, none, both = (applied, undone), (undone, undone), (applied, applied)
    assert states == [one, none, both, one, none, both]
    assert repairs.in_effect() == {"title": "h1.new", "price": ".price.new"}
    assert not repairs.was_refused(request("price", ".price", ".price.new"))


def test_imported_changes_take_the_place_of_a_repair_and_a_rollback_to_it_applies_it_again(
    repairs: Repairs,
) -> None:
    wanted = request("title", "h1", "h2")
    repairs.store("a", wanted)
    repairs.apply("a")
    assert repairs.import_changes(request("price", ".price", ".cost"))
    assert repairs.state("a") is ProposalState.ROLLED_BACK
    with pytest.raises(NoVersionError, match="version 2 is not a repair; add --to N"):
        repairs.roll_back()
    assert repairs.import_changes(wanted)  # version 3 is 1 again
    assert repairs.state("a") is ProposalState.APPLIED
    assert repairs.import_changes(wanted, request("price", ".price", ".cost"))
    repairs.roll_back(to=0)
    assert repairs.state("a") is ProposalState.ROLLED_BACK
    assert repairs.was_refused(wanted)
    repairs.roll_back(to=1)
    assert repairs.state("a") is ProposalState.APPLIED


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """The number of repairs and versions that are kept in a test."""
    for name in ("KEPT_REPAIRS", "KEPT_VERSIONS"):
        monkeypatch.setattr(f"agentic.mappers.catalog.repairs.{name}", 5)
    return 5


def test_old_versions_and_old_proposals_are_forgotten(repairs: Repairs, few: int) -> None:
    repairs.store("a", request("title", "h1", "h2"))
    repairs.apply("a")
    with repairs.database.writing() as session:
        for at in range(few):
            roll_back(session, repairs.agent, to=at and at % 2)
    assert repairs.versions() == few
    with pytest.raises(NoVersionError, match="version 1 is no longer kept, but 2 and later are"):
        repairs.roll_back(to=1)
    with repairs.database.writing() as session:
        for number in range(few + 1):
            store_repair(session, repairs.agent, f"n{number}", request("price", ".price", f".p{number}"))
    assert repairs.state(f"n{few}") is ProposalState.PROPOSED
    repairs.reject("n1")
    repairs.store("last", request("price", ".price", ".last"))
    assert repairs.state("n1") is ProposalState.REJECTED
    with pytest.raises(UnknownRepairError):
        repairs.state("n0")


@only_postgresql
async def test_a_proposal_that_is_being_accepted_is_not_forgotten(
    repairs: Repairs, few: int, postgres: PostgresServer, eventually: Eventually
) -> None:
    for number in range(few + 1):
        repairs.store(f"n{number}", request("price", ".price", f".p{number}"))
    with repairs.database.writing() as session:
        apply_repair(session, repairs.agent, "n1", SPEC)
        storing = asyncio.create_task(asyncio.to_thread(repairs.store, "late", request("title", "h1", "h2")))
        await eventually(postgres.is_in_a_queue)
    await storing
    assert repairs.state("n1") is ProposalState.APPLIED


def test_the_proposal_of_a_run_that_waits_is_kept(repairs: Repairs, few: int) -> None:
    with repairs.database.writing() as session:
        run = create_execution(session, repairs.agent).id
    repairs.store("waits", request("title", "h1", "h2"), run=run)
    with repairs.database.writing() as session:
        for number in range(few + 1):
            store_repair(session, repairs.agent, f"n{number}", request("price", ".price", f".p{number}"))
    assert repairs.apply("waits").version == 1


def test_a_repair_of_a_step_that_was_moved_is_for_that_step_and_of_one_that_is_gone_for_none(
    repairs: Repairs,
) -> None:
    def crawl(host: str) -> JSONValue:
        detail: JSONValue = {"match": ["*/lamp/*"], "config": {"schema": {"title": "h1"}}}
        return {"type": "crawl", "start": f"https://{host}.example/", "detail": detail}

    lamps, chairs, tables = map(crawl, ("lamps", "chairs", "tables"))
    place = ("steps", 1, "detail", "config", "schema", "title")
    change = SpecChange(place=place, old="h1", new="h2")
    wanted = RepairRequest(repairs=(RepairProposal(kind="field", subject="title", changes=(change,)),))
    for name in "ab":
        repairs.store(name, wanted.marked({"steps": [lamps, chairs, tables]}))
    assert repairs.apply("a", {"steps": [lamps, tables]}).state is ProposalState.SUPERSEDED
    assert repairs.apply("b", {"steps": [tables, lamps, chairs]}).version == 1
    with repairs.database.reading() as session:
        changes = changes_of(newest_version(session, repairs.agent))
    moved, _ = repaired_spec({"steps": [tables, lamps, chairs]}, changes)
    assert [str(step).count("h2") for step in moved["steps"]] == [0, 0, 1]  # type: ignore[index,call-overload,union-attr]  # as written above


def test_evidence_of_pages_with_broken_texts_and_numbers_is_stored_without_them(repairs: Repairs) -> None:
    evidence = ProposalEvidence(url="http://site/\ud800", old=float("nan"), new=["a\0b\udfff", 10**400])
    wanted = request("title", "h1", "h2")
    (found,) = wanted.found
    broken = found.model_copy(update={"evidence": (evidence,)})
    stored = repairs.store("a", wanted.model_copy(update={"repairs": (broken,), "why": "\ud83d?"}))
    assert (stored.request.why, stored.request.changes) == ("??", wanted.changes)
    (kept,) = stored.request.found[0].evidence
    assert (kept.url, kept.old) == ("http://site/?", None)
    assert kept.new == ["ab?", 10**400]
    assert repairs.apply("a").version == 1


def test_a_change_that_was_rejected_or_undone_is_known_again_and_no_other(repairs: Repairs) -> None:
    def was_known(field: str, old: str, new: str) -> bool:
        return repairs.was_refused(request(field, old, new))

    repairs.store("a", request("title", "h1", "h2"))
    repairs.store("b", request("price", ".price", ".cost"))
    assert not was_known("title", "h1", "h2")
    repairs.apply("a")
    repairs.reject("b")
    assert (was_known("title", "h1", "h2"), was_known("price", ".price", ".cost")) == (False, True)
    repairs.roll_back()
    assert was_known("title", "h1", "h2")
    assert not was_known("title", "h1", "h3")


def test_without_a_version_there_is_nothing_to_undo(repairs: Repairs) -> None:
    with pytest.raises(NoVersionError, match="no repair was applied"):
        repairs.roll_back()


def test_requests_that_propose_nothing_are_kept_within_a_limit(repairs: Repairs, few: int) -> None:
    nothing = RepairRequest(repairs=(RepairAbstention(kind="field", subject="title", reason="gone"),))
    repairs.store("kept", request("title", "h1", "h2"))
    with repairs.database.writing() as session:
        for number in range(few + 5):
            store_repair(session, repairs.agent, f"n{number}", nothing)
    with repairs.database.reading() as session:
        found = list_repairs(session, repairs.agent.project_id)
    assert len(found) == few + 1
    assert repairs.apply("kept").version == 1
    with pytest.raises(UnknownRepairError, match="no repair begins with 'n0'"):
        repairs.state("n0")
