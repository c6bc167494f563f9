"""Repairs of agents' pipelines in SQL: requests are decided once, and accepted ones make a new version.

Every decision locks the agent first: the second of two sees the first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from agentic.core.audit import DecisionKind, acting_user
from agentic.core.pipeline.repairs.proposals import SpecChange, StaleChangeError, apply_changes
from agentic.core.pipeline.repairs.requests import ProposalState, RepairRequest, StoredRepair
from agentic.core.pipeline.repairs.versions import joined_changes, repaired_spec
from agentic.core.types import JSONValue
from agentic.mappers.audit import audit
from agentic.mappers.content import clean, clean_text
from agentic.mappers.database.inserts import insert_into
from agentic.mappers.database.prefixes import begins_with
from agentic.mappers.errors import DataError
from agentic.mappers.tables.columns import utc_now
from agentic.mappers.tables.core import AgentModel, ExecutionModel, ExecutionStatus
from agentic.mappers.tables.repairs import PipelineRepairModel, RepairVersionModel

KEPT_REPAIRS = 200
"""Requests of an agent that are kept, and again as many that wait for a decision.

The requests of its unfinished executions and of its versions are kept, too, and not counted.
"""

KEPT_VERSIONS = 200
"""Versions of an agent's pipeline that are kept, the newest."""

_REFUSED = (ProposalState.REJECTED, ProposalState.ROLLED_BACK)
_UNFINISHED = (ExecutionStatus.QUEUED, ExecutionStatus.RUNNING)


class UnknownRepairError(DataError, LookupError):
    """No request for a repair has that id."""

    def __init__(self, given: str, found: int) -> None:
        what = "no repair begins" if not found else f"{found} repairs begin"
        super().__init__(f"{what} with {given!r}; see `agentic repairs list`")
        self.given = given


class NoVersionError(DataError, LookupError):
    """An agent's pipeline has no version to go back from, or to."""

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"agent {agent!r}: {why}; see `agentic repairs versions {agent}`")
        self.agent = agent


def store_repair(
    session: Session,
    agent: AgentModel,
    repair_id: str,
    request: RepairRequest,
    *,
    run: str = "",
    who: str = "",
) -> StoredRepair:
    """Store a request, unless one with that id exists, and return the stored one.

    Args:
        session: In a transaction.
        agent: Whose pipeline it repairs.
        repair_id: Its id.
        request: Its content.
        run: The execution that works it out.
        who: Who proposes it; by default the user of this process.
    """
    _lock(session, agent)  # before all else, as a decision does: the oldest are forgotten below
    state = ProposalState.PROPOSED if request.found else ProposalState.ABSTAINED
    is_postgresql = session.get_bind().dialect.name == "postgresql"
    row = {
        "project_id": agent.project_id,
        "id": repair_id,
        "agent_id": agent.id,
        "run": run,
        "kind": request.kind,
        "state": state,
        "request": _dumped(request),
        "created_at": utc_now(),
    }
    insert = insert_into(PipelineRepairModel, is_postgresql=is_postgresql).values(**row)
    added = session.execute(
        insert.on_conflict_do_nothing(index_elements=["project_id", "id"]).returning(PipelineRepairModel.id)
    ).first()
    if added is not None and state is ProposalState.PROPOSED:
        names = ", ".join(one.subject for one in request.found)
        audit(
            session,
            agent.project_id,
            DecisionKind.REPAIR_PROPOSED,
            agent.agent_name,
            f"a repair of {names} is proposed",
            reason=request.why,
            who=who,
            repair=repair_id,
            execution_id=run or None,
        )
    _forget_oldest(session, agent)
    stored = session.get(PipelineRepairModel, (agent.project_id, repair_id), populate_existing=True)
    assert stored is not None  # noqa: S101 - it was just stored
    return stored_repair(stored)


def apply_repair(
    session: Session,
    agent: AgentModel,
    repair_id: str,
    spec: JSONValue,
    *,
    who: str = "",
    reason: str = "",
) -> StoredRepair:
    """Make a new version of a pipeline with a proposed repair; one that was decided stays as it is.

    Args:
        session: In a transaction.
        agent: Whose pipeline it repairs.
        repair_id: The request.
        spec: The pipeline as it was written, as data.
        who: Who decided; by default the user of this process.
        reason: Why.

    Raises:
        UnknownRepairError: The agent has no such request.
    """
    row = _locked(session, agent, repair_id)
    if row.state is not ProposalState.PROPOSED:
        return stored_repair(row)
    request = RepairRequest.model_validate_json(row.request)
    newest = newest_version(session, agent)
    now, fitting = repaired_spec(spec, changes_of(newest))
    try:
        apply_changes(now, request.changes)
    except StaleChangeError:
        _decide(row, ProposalState.SUPERSEDED, who)
        return stored_repair(row)
    version = _add_version(session, agent, newest, joined_changes(fitting, request.changes), repair_id, who)
    row.version = version
    _decide(row, ProposalState.APPLIED, who)
    names = ", ".join(one.subject for one in request.found)
    audit(
        session,
        agent.project_id,
        DecisionKind.REPAIR_APPLIED,
        agent.agent_name,
        f"the repair of {names} is version {version} of the pipeline",
        reason=reason,
        who=who,
        repair=repair_id,
        version=version,
    )
    session.flush()
    return stored_repair(row)


def reject_repair(
    session: Session, agent: AgentModel, repair_id: str, *, who: str = "", reason: str = ""
) -> StoredRepair:
    """Refuse a proposed repair; one that was decided stays as it is.

    Raises:
        UnknownRepairError: The agent has no such request.
    """
    row = _locked(session, agent, repair_id)
    if row.state is ProposalState.PROPOSED:
        _decide(row, ProposalState.REJECTED, who)
        audit(
            session,
            agent.project_id,
            DecisionKind.REPAIR_REJECTED,
            agent.agent_name,
            "a proposed repair is rejected",
            reason=reason,
            who=who,
            repair=repair_id,
        )
        session.flush()
    return stored_repair(row)


def roll_back(session: Session, agent: AgentModel, *, to: int | None = None, who: str = "") -> int:
    """Make a version with the changes of an earlier one, and return its number.

    Args:
        session: In a transaction.
        agent: Whose pipeline goes back.
        to: The version to go back to; 0 for the pipeline as it was written; by default the one before the
            newest repair.
        who: Who decided; by default the user of this process.

    Raises:
        NoVersionError: The version does not exist, or no repair was applied.
    """
    _lock(session, agent)
    versions = list_versions(session, agent)
    if not versions:
        raise NoVersionError(agent.agent_name, "no repair was applied")
    newest = versions[0]
    if to is None:
        if newest.repair_id is None:
            raise NoVersionError(agent.agent_name, f"version {newest.version} is not a repair; add --to N")
        to = newest.version - 1
    if not 0 <= to < newest.version:
        raise NoVersionError(agent.agent_name, f"version {to} does not exist before version {newest.version}")
    known = {one.version: one for one in versions}
    if to and to not in known:
        raise NoVersionError(
            agent.agent_name, f"version {to} is no longer kept, but {min(known)} and later are"
        )
    changes = changes_of(known.get(to))
    now, then = _repairs_in(known, newest.version), _repairs_in(known, to)
    version = _add_version(session, agent, newest, changes, None, who)
    _decide_again(session, agent, now, then, who)
    audit(
        session,
        agent.project_id,
        DecisionKind.REPAIR_ROLLED_BACK,
        agent.agent_name,
        f"version {version} of the pipeline is version {to} again"
        if to
        else f"version {version} of the pipeline is the written one again",
        who=who,
        version=version,
        to=to,
    )
    session.flush()
    return version


def import_changes(
    session: Session, agent: AgentModel, changes: Sequence[SpecChange], *, who: str = ""
) -> bool:
    """Make a version with these changes, of an agent in another project; return whether they are new.

    The repairs that the version before has are rolled back: these changes replace it.

    Args:
        session: In a transaction.
        agent: Whose pipeline they are for.
        changes: All changes over the pipeline as it was written.
        who: Who imports them; by default the user of this process.
    """
    _lock(session, agent)
    newest = newest_version(session, agent)
    if changes_of(newest) == tuple(changes):
        return False
    known = {one.version: one for one in list_versions(session, agent)}
    at = 0 if newest is None else newest.version
    now, then = _repairs_in(known, at), _repairs_in(known, _newest_with(known, changes, at))
    version = _add_version(session, agent, newest, changes, None, who)
    _decide_again(session, agent, now, then, who)
    audit(
        session,
        agent.project_id,
        DecisionKind.REPAIR_APPLIED,
        agent.agent_name,
        f"the repairs of a project file are version {version} of the pipeline",
        who=who,
        version=version,
    )
    session.flush()
    return True


def was_repaired(session: Session, agent: AgentModel, run: str, kind: str) -> bool:
    """Return whether a repair of a kind of pages that a run worked out was applied."""
    row = PipelineRepairModel
    mine = (row.project_id == agent.project_id, row.agent_id == agent.id, row.run == run, row.kind == kind)
    query = select(row.id).where(*mine, row.state.in_((ProposalState.APPLIED, ProposalState.ROLLED_BACK)))
    return session.scalar(query.limit(1)) is not None


def was_refused(session: Session, agent: AgentModel, request: RepairRequest) -> bool:
    """Return whether a change of a request is one that was rejected, or undone, before."""
    row = PipelineRepairModel
    mine = (row.project_id == agent.project_id, row.agent_id == agent.id, row.kind == request.kind)
    query = select(row.request).where(*mine, row.state.in_(_REFUSED))
    refused = [RepairRequest.model_validate_json(text) for text in session.scalars(query)]
    return any(
        change.is_alike(other) for one in refused for other in one.changes for change in request.changes
    )


def list_repairs(session: Session, project_id: str) -> Sequence[tuple[PipelineRepairModel, str]]:
    """Return the requests of a project with the names of their agents, the newest first."""
    query = (
        select(PipelineRepairModel, AgentModel.agent_name)
        .join(AgentModel, AgentModel.id == PipelineRepairModel.agent_id)
        .where(PipelineRepairModel.project_id == project_id)
        .order_by(PipelineRepairModel.created_at.desc(), PipelineRepairModel.id)
    )
    return [(row, name) for row, name in session.execute(query)]


def proposed_repairs(session: Session, project_id: str, run: str) -> Sequence[str]:
    """Return the ids of the requests of a run that wait for a decision, the oldest first."""
    row = PipelineRepairModel
    mine = (row.project_id == project_id, row.run == run, row.state == ProposalState.PROPOSED)
    return session.scalars(select(row.id).where(*mine).order_by(row.created_at, row.id)).all()


def find_repair(session: Session, project_id: str, given: str) -> tuple[PipelineRepairModel, AgentModel]:
    """Return a request by its id or a prefix of it, and its agent.

    Raises:
        UnknownRepairError: None matches, or several do.
    """
    query = (
        select(PipelineRepairModel, AgentModel)
        .join(AgentModel, AgentModel.id == PipelineRepairModel.agent_id)
        .where(PipelineRepairModel.project_id == project_id, begins_with(PipelineRepairModel.id, given))
    )
    found = session.execute(query.limit(10)).all()
    if len(found) != 1:
        raise UnknownRepairError(given, len(found))
    return found[0][0], found[0][1]


def list_versions(session: Session, agent: AgentModel) -> Sequence[RepairVersionModel]:
    """Return the versions of an agent's pipeline, the newest first."""
    query = select(RepairVersionModel).where(*_versions_of(agent))
    return session.scalars(query.order_by(RepairVersionModel.version.desc())).all()


def newest_version(session: Session, agent: AgentModel) -> RepairVersionModel | None:
    """Return the version of an agent's pipeline in effect; None for the pipeline as it was written."""
    query = select(RepairVersionModel).where(*_versions_of(agent))
    return session.scalars(query.order_by(RepairVersionModel.version.desc()).limit(1)).first()


def changes_of(version: RepairVersionModel | None) -> tuple[SpecChange, ...]:
    """Return the changes of a version over the pipeline as it was written."""
    if version is None:
        return ()
    return tuple(SpecChange.model_validate(one) for one in json.loads(version.changes))


def stored_repair(row: PipelineRepairModel) -> StoredRepair:
    """Return a request as data."""
    request = RepairRequest.model_validate_json(row.request)
    return StoredRepair(id=row.id, state=row.state, request=request, version=row.version)


def _dumped(request: RepairRequest) -> str:
    """Return a request as text; texts of pages may have NUL characters and halves of surrogate pairs."""
    data, _ = clean(request.model_dump())
    return clean_text(json.dumps(data, ensure_ascii=False))


def _versions_of(agent: AgentModel) -> tuple[ColumnElement[bool], ...]:
    return RepairVersionModel.project_id == agent.project_id, RepairVersionModel.agent_id == agent.id


def _lock(session: Session, agent: AgentModel) -> None:
    # FOR NO KEY UPDATE: rows that refer to the agent can be inserted meanwhile. SQLite has one writer anyway.
    mine = (AgentModel.project_id == agent.project_id, AgentModel.id == agent.id)
    session.execute(select(AgentModel.id).where(*mine).with_for_update(key_share=True))


def _locked(session: Session, agent: AgentModel, repair_id: str) -> PipelineRepairModel:
    _lock(session, agent)
    row = session.get(PipelineRepairModel, (agent.project_id, repair_id), populate_existing=True)
    if row is None or row.agent_id != agent.id:
        raise UnknownRepairError(repair_id, 0)
    return row


def _decide(row: PipelineRepairModel, state: ProposalState, who: str) -> None:
    row.state, row.decided_at, row.decided_by = state, utc_now(), clean_text(who or acting_user())[:200]


def _decide_again(session: Session, agent: AgentModel, now: set[str], then: set[str], who: str) -> None:
    """Roll back the repairs that only the version before has, and apply again those that only the new has."""
    for repair_id in now ^ then:
        row = session.get(PipelineRepairModel, (agent.project_id, repair_id))
        if row is not None:
            _decide(row, ProposalState.APPLIED if repair_id in then else ProposalState.ROLLED_BACK, who)


def _repairs_in(versions: Mapping[int, RepairVersionModel], version: int) -> set[str]:
    """Return the ids of the repairs that a version has."""
    found: set[str] = set()
    while (one := versions.get(version)) is not None:
        if one.repair_id is not None:
            found.add(one.repair_id)
            version -= 1
            continue
        version = _newest_with(versions, changes_of(one), version - 1)
    return found


def _newest_with(
    versions: Mapping[int, RepairVersionModel], changes: Sequence[SpecChange], highest: int
) -> int:
    """Return the newest version with these changes, at most ``highest``; 0 without one."""
    wanted = tuple(changes)
    alike = (at for at in range(highest, 0, -1) if at in versions and changes_of(versions[at]) == wanted)
    return next(alike, 0) if wanted else 0


def _add_version(
    session: Session,
    agent: AgentModel,
    newest: RepairVersionModel | None,
    changes: Sequence[SpecChange],
    repair_id: str | None,
    who: str,
) -> int:
    version = 1 if newest is None else newest.version + 1
    data = [one.model_dump(mode="json") for one in changes]
    session.add(
        RepairVersionModel(
            project_id=agent.project_id,
            agent_id=agent.id,
            version=version,
            changes=clean_text(json.dumps(data, ensure_ascii=False)),
            repair_id=repair_id,
            created_by=clean_text(who or acting_user())[:200],
        )
    )
    old = (*_versions_of(agent), RepairVersionModel.version <= version - KEPT_VERSIONS)
    session.execute(delete(RepairVersionModel).where(*old))
    return version


def _forget_oldest(session: Session, agent: AgentModel) -> None:
    row, run = PipelineRepairModel, ExecutionModel
    mine = (row.project_id == agent.project_id, row.agent_id == agent.id)
    unfinished = select(run.id).where(run.agent_id == agent.id, run.status.in_(_UNFINISHED))
    of_versions = select(RepairVersionModel.repair_id).where(
        *_versions_of(agent), RepairVersionModel.repair_id.is_not(None)
    )
    others = (*mine, row.run.not_in(unfinished), row.id.not_in(of_versions))
    for is_group in (row.state == ProposalState.PROPOSED, row.state != ProposalState.PROPOSED):
        group = select(row.id).where(*others, is_group)
        oldest = group.order_by(row.created_at.desc(), row.id).offset(KEPT_REPAIRS)
        session.execute(delete(row).where(row.project_id == agent.project_id, row.id.in_(oldest)))
