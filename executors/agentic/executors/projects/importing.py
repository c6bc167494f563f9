"""Changes a project to match its file; parts that are missing in the file stay unchanged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pydantic import ValidationError
from sqlalchemy.orm import Session

from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry
from agentic.core.pipeline import Fault, PipelineSpec, SpecError, read_spec
from agentic.core.pipeline.drift.profiles import MAX_NAME_CHARS
from agentic.core.pipeline.expressions.references import ValuePath
from agentic.core.pipeline.repairs.proposals import SpecChange
from agentic.core.pipeline.repairs.versions import repaired_spec
from agentic.core.types import JSONValue
from agentic.core.wrappers import Wrapper, WrapperVersionError, decode
from agentic.executors.agents.catalog import AgentFacts, find_named, put_agent
from agentic.executors.commands.shared.repaired_agents import executor_of
from agentic.executors.errors import AgentConfigError
from agentic.executors.projects.files import (
    AgentPart,
    NotificationPart,
    ProjectFile,
    ProjectPart,
    ReadFile,
    RepairPart,
    SchedulePart,
    WrapperPart,
)
from agentic.executors.projects.notifications import facts_of, stored_facts
from agentic.executors.projects.parts import (
    FaultyPartError,
    config_fault,
    stand_of,
    times_of,
    timing_of,
    unmasked,
)
from agentic.mappers import (
    AgentModel,
    ProjectModel,
    ScheduleModel,
    UnknownProjectError,
    UnknownScheduleError,
    add_project,
    add_schedule,
    find_project,
    find_schedule,
    pause_schedule,
    resume_schedule,
)
from agentic.mappers.catalog.pipelines import as_written, find_stored, store_pipeline
from agentic.mappers.catalog.projects import describe_project, limit_project
from agentic.mappers.catalog.repairs import changes_of, import_changes, newest_version
from agentic.mappers.catalog.schedules import change_schedule
from agentic.mappers.crawl.wrappers import list_wrappers, save_wrappers
from agentic.mappers.errors import UnknownPipelineError
from agentic.mappers.notifications.rules import list_rules, put_rule

ADDED, CHANGED, UNCHANGED = "added", "changed", "unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedChange:
    """The result for a part of the file: ``added``, ``changed`` (with details) or ``unchanged``.

    Attributes:
        kind: Of part.
        name: Its name.
        outcome: The result.
        changed: The values that it changed.
        left_out: Places of repairs that do not fit the pipeline, and are not stored.
    """

    kind: str
    name: str
    outcome: str
    changed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = f" ({', '.join(self.changed)})" if self.changed else ""
        rest = f"; left out, because the pipeline has another value there: {', '.join(self.left_out)}"
        return f"{self.kind} {self.name}: {self.outcome}{what}{rest if self.left_out else ''}"


def import_project(session: Session, file: ReadFile, name: str | None = None) -> list[ImportedChange]:
    """Change a project to match its file, and return the changes.

    Args:
        session: In a transaction; roll it back when this raises, or for a dry run.
        file: The parsed file.
        name: Name of the project, if different from the file's.

    Raises:
        ProjectFileError: A part of it cannot be used; the error lists every fault.
    """
    owner, change = _put_project(session, file.content.project, name or file.content.project.name)
    work = _Import(session, owner, changes=[change])
    work.put_all(file.content)
    if work.faults:
        raise file.error(work.faults)
    return work.changes


def _put_project(session: Session, wanted: ProjectPart, name: str) -> tuple[ProjectModel, ImportedChange]:
    try:
        owner, outcome = find_project(session, name), UNCHANGED
    except UnknownProjectError:
        owner, outcome = add_project(session, name), ADDED
    changed = []
    if wanted.description != owner.description:
        describe_project(session, owner, wanted.description)
        changed.append("description")
    if wanted.max_running != owner.max_running:
        limit_project(session, owner, wanted.max_running)
        changed.append("max_running")
    if outcome == UNCHANGED and changed:
        outcome = CHANGED
    return owner, ImportedChange(kind="project", name=name, outcome=outcome, changed=tuple(changed))


@dataclass(slots=True)
class _Import:
    session: Session
    owner: ProjectModel
    changes: list[ImportedChange]
    faults: list[Fault] = field(default_factory=list)
    _specs: dict[str, PipelineSpec] = field(default_factory=dict)

    def put_all(self, content: ProjectFile) -> None:
        """Store all parts; continue after a fault, so that all are reported."""
        for index, spec in enumerate(content.pipelines):
            self._try(("pipelines", index), partial(self._put_pipeline, spec))
        for index, agent in enumerate(content.agents):
            self._try(("agents", index), partial(self._put_agent, agent))
        for index, schedule in enumerate(content.schedules):
            self._try(("schedules", index), partial(self._put_schedule, schedule))
        for index, rule in enumerate(content.notifications):
            self._try(("notifications", index), partial(self._put_notification, rule))
        self._put_wrappers(content.wrappers)
        for index, repairs in enumerate(content.repairs):
            self._try(("repairs", index), partial(self._put_repairs, repairs))

    def _try(self, place: ValuePath, put: Callable[[], None]) -> None:
        try:
            put()
        except FaultyPartError as exc:
            self.faults += [Fault(message=one.message, place=(*place, *one.place)) for one in exc.faults]

    def _put_pipeline(self, data: Mapping[str, JSONValue]) -> None:
        missing: list[Fault] = []
        told = unmasked(dict(data), self._stored(str(data.get("name", ""))), (), missing, "pipeline")
        if missing or not isinstance(told, dict):
            raise FaultyPartError(*missing)
        try:
            spec = read_spec(told, get_registry().actors, find=self._find)
        except SpecError as exc:
            raise FaultyPartError(*exc.faults) from None
        self._specs[spec.name] = spec
        kept, is_new = store_pipeline(self.session, self.owner.id, spec)
        outcome = UNCHANGED if not is_new else ADDED if kept.version == 1 else CHANGED
        self._note("pipeline", f"{kept.name}@{kept.version}", outcome)

    def _find(self, name: str) -> PipelineSpec | None:
        """Find a pipeline that a step names: earlier in the file, or stored."""
        if name in self._specs:
            return self._specs[name]
        stored = self._stored(name)
        return None if stored is None else read_spec(stored, get_registry().actors)

    def _stored(self, name: str) -> dict[str, JSONValue] | None:
        try:
            return dict(find_stored(self.session, self.owner.id, name).spec)
        except UnknownPipelineError:
            return None

    def _put_agent(self, wanted: AgentPart) -> None:
        found = find_named(self.session, self.owner, wanted.name)
        before = None if found is None else stand_of(found)
        missing: list[Fault] = []
        config = {
            key: unmasked(value, None if found is None else found.config.get(key), ("config", key), missing)
            for key, value in wanted.config.items()
        }
        if missing:
            raise FaultyPartError(*missing)
        facts = AgentFacts(
            name=wanted.name,
            platform=wanted.platform,
            config=config,
            goals=wanted.goals,
            is_disabled=wanted.disabled,
            is_whole=True,
        )
        try:
            agent = put_agent(self.session, self.owner, facts, replace=True)
        except AgentConfigError as exc:
            raise FaultyPartError(*(config_fault(fault) for fault in exc.faults)) from None
        except AgenticError as exc:
            raise FaultyPartError(Fault(message=str(exc), place=("platform",))) from None
        self._note_change("agent", wanted.name, before, stand_of(agent))

    def _put_schedule(self, wanted: SchedulePart) -> None:
        timing = timing_of(wanted)
        agent = self._agent(wanted.agent)
        found = self._known_schedule(wanted.name)
        before = None if found is None else times_of(found)
        if found is None:
            found = add_schedule(self.session, agent, wanted.name, **timing)
        else:
            change_schedule(self.session, found, agent, **timing)
        (pause_schedule if wanted.paused else resume_schedule)(self.session, found)
        self._note_change("schedule", wanted.name, before, times_of(found))

    def _put_notification(self, wanted: NotificationPart) -> None:
        agent_id = None if wanted.agent is None else self._agent(wanted.agent).id
        rules = {rule.name: rule for rule in list_rules(self.session, self.owner.id)}
        known = rules.get(wanted.name)
        facts = facts_of(wanted, agent_id, known)
        before = None if known is None else stored_facts(known)
        if before != facts:
            put_rule(self.session, self.owner, wanted.name, facts, replace=True)
        self._note_change("notification", wanted.name, before, facts)

    def _put_wrappers(self, parts: Sequence[WrapperPart]) -> None:
        """Store the wrappers of the file in place of those with the same key; note a change per pipeline."""
        stored = {(one.pipeline, one.key): one.wrapper for one in list_wrappers(self.session, self.owner.id)}
        given: dict[str, dict[str, Wrapper]] = {}
        for index, part in enumerate(parts):
            self._try(("wrappers", index), partial(_read_wrapper, part, given))
        for pipeline, wrappers in given.items():
            known = {key: stored[pipeline, key] for key in wrappers if (pipeline, key) in stored}
            changed = {key: one for key, one in wrappers.items() if known.get(key) != one}
            save_wrappers(self.session, self.owner.id, pipeline, changed)
            outcome = UNCHANGED if not changed else CHANGED if known else ADDED
            names = sorted({one.name for one in changed.values()}) if known else []
            self._note("wrappers of", pipeline, outcome, names)

    def _put_repairs(self, part: RepairPart) -> None:
        agent = self._agent(part.agent)
        newest = newest_version(self.session, agent)
        stored = changes_of(newest)
        wanted = _unmasked_changes(part.changes, stored)
        try:
            written = as_written(executor_of(agent).pipeline())
            data, fitting = repaired_spec(written, wanted)
            PipelineSpec.model_validate(data)
        except AgenticError as exc:
            raise FaultyPartError(Fault(message=str(exc), place=("agent",))) from None
        except ValidationError:
            message = (
                f"with these changes the pipeline of {part.agent!r} is not valid; export the project again"
            )
            raise FaultyPartError(Fault(message=message, place=("changes",))) from None
        kind, name = "repairs of", part.agent
        if wanted == stored:  # an edit may have overtaken some of them since: they stay as they are
            self._note(kind, name, UNCHANGED)
            return
        left_out = [".".join(map(str, one.place)) for one in wanted if one not in fitting]
        is_new = bool(fitting or not wanted) and import_changes(self.session, agent, fitting)
        outcome = UNCHANGED if not is_new else ADDED if newest is None else CHANGED
        self._note(kind, name, outcome, left_out=left_out)

    def _agent(self, name: str) -> AgentModel:
        agent = find_named(self.session, self.owner, name)
        if agent is None:
            message = f"agent {name!r} does not exist, neither in this file nor in the project"
            raise FaultyPartError(Fault(message=message, place=("agent",)))
        return agent

    def _known_schedule(self, name: str) -> ScheduleModel | None:
        try:
            return find_schedule(self.session, self.owner, name)
        except UnknownScheduleError:
            return None

    def _note_change(
        self, kind: str, name: str, before: Mapping[str, object] | None, after: Mapping[str, object]
    ) -> None:
        if before is None:
            self._note(kind, name, ADDED)
            return
        differing = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
        self._note(kind, name, CHANGED if differing else UNCHANGED, differing)

    def _note(
        self, kind: str, name: str, outcome: str, changed: Sequence[str] = (), left_out: Sequence[str] = ()
    ) -> None:
        self.changes.append(
            ImportedChange(
                kind=kind, name=name, outcome=outcome, changed=tuple(changed), left_out=tuple(left_out)
            )
        )


def _unmasked_changes(changes: Sequence[SpecChange], stored: Sequence[SpecChange]) -> tuple[SpecChange, ...]:
    """Return the changes of the file with masked secrets taken from the stored changes of the same places.

    Raises:
        FaultyPartError: A masked secret is not stored.
    """
    known = {(one.place, one.is_rename): one.model_dump(mode="json") for one in stored}
    missing: list[Fault] = []
    found = [
        unmasked(
            one.model_dump(mode="json"), known.get((one.place, one.is_rename)), ("changes", index), missing
        )
        for index, one in enumerate(changes)
    ]
    if missing:
        raise FaultyPartError(*missing)
    return tuple(map(SpecChange.model_validate, found))


def _read_wrapper(part: WrapperPart, found: dict[str, dict[str, Wrapper]]) -> None:
    try:
        wrapper = decode(part.data.encode("utf-8", "replace"))
    except WrapperVersionError as exc:
        raise FaultyPartError(Fault(message=str(exc), place=("data",))) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        wrapper = None
    if wrapper is None or len(wrapper.name) > MAX_NAME_CHARS:
        message = "it is not a wrapper as an export writes it; leave the part out, and the next runs learn it"
        raise FaultyPartError(Fault(message=message, place=("data",)))
    found.setdefault(part.pipeline, {})[part.key] = wrapper
