"""The repairs of an agent's pipeline, for one of its executions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from pydantic import ValidationError

from agentic.core.audit import ENGINE
from agentic.core.logging import get_logger
from agentic.core.pipeline import CrawlStep, PipelineSpec
from agentic.core.pipeline.drift.learning import wrapper_keys
from agentic.core.pipeline.drift.profiles import Expectation, KindProfile
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.repairs.requests import ProposalState, RepairRequest, StoredRepair
from agentic.core.pipeline.repairs.store import DriftedPages, RepairedStep
from agentic.core.pipeline.repairs.versions import repaired_spec
from agentic.core.pipeline.spec.spec import DetailRules
from agentic.core.pipeline.spec.walking import detail_rules, find_crawls, step_at
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue
from agentic.mappers.catalog.pipelines import as_written
from agentic.mappers.catalog.repairs import (
    apply_repair,
    changes_of,
    newest_version,
    reject_repair,
    store_repair,
    stored_repair,
    was_refused,
    was_repaired,
)
from agentic.mappers.crawl.held import drifted_pages
from agentic.mappers.crawl.profiles import load_profiles
from agentic.mappers.crawl.wrappers import load_wrappers
from agentic.mappers.tables.repairs import PipelineRepairModel, RepairVersionModel

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from agentic.core.wrappers import Wrapper
    from agentic.mappers import AgentModel, Database

log = get_logger(__name__)


def find_step(spec: PipelineSpec, newest: RepairVersionModel | None, written: CrawlStep) -> RepairedStep:
    """Return a crawl step with the changes of a version that still fit its pipeline.

    Args:
        spec: The pipeline as it was written.
        newest: The version in effect; None for the pipeline as it was written.
        written: The step in it.
    """
    data, fitting = repaired_spec(as_written(spec), changes_of(newest))
    for place, _ in find_crawls(spec.steps, ("steps",)):
        if step_at(spec, place) == written:
            step = CrawlStep.model_validate(_at(data, place)) if fitting else written
            return RepairedStep(
                step=step, place=place, version=newest.version if newest and fitting else None
            )
    return RepairedStep(step=written)


def rules_in_effect(session: Session, agent: AgentModel, spec: PipelineSpec) -> Sequence[DetailRules]:
    """Return the detail rules of a pipeline with the accepted repairs of its agent, in the order as written.

    They are as written, too, if the changes make no valid pipeline with as many rules: the rules are only for
    learning, and that must not stop a run.
    """
    written = [*detail_rules(spec.steps)]
    data, fitting = repaired_spec(as_written(spec), changes_of(newest_version(session, agent)))
    if not fitting:
        return written
    try:
        found = [*detail_rules(PipelineSpec.model_validate(data).steps)]
    except ValidationError:
        found = []
    if len(found) == len(written):
        return found
    log.warning("repairs.unfit", agent=agent.agent_name, pipeline=spec.name)
    return written


class RepairedAgent(Protocol):
    """The part of an agent's executor that repairs need."""

    agent: AgentModel

    def pipeline(self) -> PipelineSpec:
        """Return the pipeline as it was written."""
        ...

    def stored_items(
        self, session: Session, pipeline: str, urls: Sequence[str]
    ) -> Mapping[str, Mapping[str, JSONValue]]:
        """Return the stored items of pages by URL."""
        ...


class SqlRepairStore:
    """The repairs of an agent's pipeline, for one of its executions.

    Implements :class:`agentic.core.pipeline.repairs.store.RepairStore`.

    Args:
        executor: Of the agent.
        database: Holds the repairs.
        execution_id: Works them out.
    """

    def __init__(self, executor: RepairedAgent, database: Database, execution_id: str) -> None:
        self._executor = executor
        self._agent = executor.agent
        self._database = database
        self._run = execution_id

    async def step(self, written: CrawlStep) -> RepairedStep:
        """Return a crawl step with the changes of the newest version that still fit it."""
        return await in_thread(self._step, written)

    async def drifted_pages(self, limit: int) -> DriftedPages:
        """Return pages that are held, and pages that raised the alarm."""
        return await in_thread(self._drifted_pages, limit)

    async def rows(self, urls: Sequence[str]) -> Mapping[str, Mapping[str, JSONValue]]:
        """Return the stored items of pages."""
        return await in_thread(self._rows, urls)

    async def expectation(self, kind: str) -> Expectation:
        """Return what healthy pages of a kind have."""
        return await in_thread(self._expectation, kind)

    async def wrappers(self, rules: DetailRules) -> Mapping[str, Wrapper]:
        """Return what earlier runs know of the fields of a rule whose references are resolved."""
        return await in_thread(self._wrappers, rules)

    async def find(self, repair_id: str) -> StoredRepair | None:
        """Return a request; None if no request has that id."""
        return await in_thread(self._find, repair_id)

    async def was_repaired(self, kind: str) -> bool:
        """Return whether a repair of this kind of pages was applied in this run."""
        return await in_thread(self._was_repaired, kind)

    async def was_refused(self, request: RepairRequest) -> bool:
        """Return whether any of the changes was rejected or undone before, in whatever run."""
        return await in_thread(self._was_refused, request)

    async def store(self, repair_id: str, request: RepairRequest) -> StoredRepair:
        """Store a request unless one with that id exists, and return the stored one."""
        return await in_thread(self._store, repair_id, request)

    async def apply(self, repair_id: str, *, reason: str) -> ProposalState:
        """Make a new version with a proposed repair; return the state of the request afterwards."""
        return await in_thread(self._apply, repair_id, reason)

    async def reject(self, repair_id: str, *, reason: str) -> ProposalState:
        """Refuse a proposed repair; return the state of the request afterwards."""
        return await in_thread(self._reject, repair_id, reason)

    def _step(self, written: CrawlStep) -> RepairedStep:
        with self._database.reading() as session:
            newest = newest_version(session, self._agent)
        return find_step(self._executor.pipeline(), newest, written)

    def _drifted_pages(self, limit: int) -> DriftedPages:
        with self._database.reading() as session:
            return drifted_pages(session, self._agent.project_id, self._run, limit)

    def _rows(self, urls: Sequence[str]) -> Mapping[str, Mapping[str, JSONValue]]:
        with self._database.reading() as session:
            return self._executor.stored_items(session, self._executor.pipeline().name, urls)

    def _expectation(self, kind: str) -> Expectation:
        with self._database.reading() as session:
            spec = self._executor.pipeline()
            rules, in_effect = [*detail_rules(spec.steps)], rules_in_effect(session, self._agent, spec)
            profiles = load_profiles(session, self._agent.project_id, self._agent.id, rules, in_effect)
        return Expectation(profiles.get(kind, KindProfile()))

    def _wrappers(self, rules: DetailRules) -> Mapping[str, Wrapper]:
        name = self._executor.pipeline().name
        with self._database.reading() as session:
            return load_wrappers(session, self._agent.project_id, name, wrapper_keys(rules))

    def _find(self, repair_id: str) -> StoredRepair | None:
        with self._database.reading() as session:
            row = session.get(PipelineRepairModel, (self._agent.project_id, repair_id))
            return None if row is None else stored_repair(row)

    def _was_repaired(self, kind: str) -> bool:
        with self._database.reading() as session:
            return was_repaired(session, self._agent, self._run, kind)

    def _was_refused(self, request: RepairRequest) -> bool:
        with self._database.reading() as session:
            return was_refused(session, self._agent, request)

    def _store(self, repair_id: str, request: RepairRequest) -> StoredRepair:
        written = as_written(self._executor.pipeline())
        with self._database.writing() as session:
            now, _ = repaired_spec(written, changes_of(newest_version(session, self._agent)))
            marked = request.marked(now)
            return store_repair(session, self._agent, repair_id, marked, run=self._run, who=ENGINE)

    def _apply(self, repair_id: str, reason: str) -> ProposalState:
        spec = as_written(self._executor.pipeline())
        with self._database.writing() as session:
            return apply_repair(session, self._agent, repair_id, spec, who=ENGINE, reason=reason).state

    def _reject(self, repair_id: str, reason: str) -> ProposalState:
        with self._database.writing() as session:
            return reject_repair(session, self._agent, repair_id, who=ENGINE, reason=reason).state


def _at(data: JSONValue, place: ValuePath) -> JSONValue:
    for key in place:
        data = cast("dict[str | int, JSONValue]", data)[key]
    return data
