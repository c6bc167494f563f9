"""The tables of the core, and the columns that all platform tables share."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import (
    JSON,
    BigInteger,
    Enum,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from agentic.core.graph.model.result import RunStatus
from agentic.core.ids import new_id
from agentic.core.types import JSONValue
from agentic.mappers.tables.columns import ID_LENGTH, Base, UTCDateTime, utc_now


class ExecutionStatus(StrEnum):
    """The status of an execution."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


class FrontierState(StrEnum):
    """The state of a page in a crawl."""

    NEW = "new"
    TAKEN = "taken"
    DONE = "done"
    FAILED = "failed"
    HELD = "held"


def names(states: type[StrEnum], length: int) -> Enum:
    """Store a state as plain text: any tool can read it, and a new state needs no migration."""
    return Enum(states, native_enum=False, length=length, values_callable=lambda s: [m.value for m in s])


def _key() -> Mapped[str]:
    return mapped_column(String(ID_LENGTH), primary_key=True, default=new_id)


def _reference(target: str) -> Mapped[str]:
    return mapped_column(String(ID_LENGTH), ForeignKey(f"{target}.id", ondelete="CASCADE"))


def owner() -> Mapped[str]:
    """Return the first column of a key: the project that owns the row."""
    return mapped_column(
        String(ID_LENGTH), ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True, sort_order=-1
    )


class ProjectModel(Base):
    """Owns agents, and through them all their stored data.

    ``description`` is for people. ``max_running`` limits how many activations of its runs may run at a time;
    None: no limit. ``event_stream`` distinguishes the stream of its published events from other streams of
    the same name.
    """

    __tablename__ = "projects"

    id: Mapped[str] = _key()
    name: Mapped[str] = mapped_column(String(200), unique=True)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)
    description: Mapped[str | None] = mapped_column(Text)
    max_running: Mapped[int | None]
    event_stream: Mapped[str | None] = mapped_column(Text)

    agents: Mapped[list[AgentModel]] = relationship(back_populates="project", passive_deletes=True)


class AgentModel(Base):
    """A platform, configured for one project: its data to fetch, or its task.

    If ``disabled_at`` is set, the agent starts no new executions from then on.
    """

    __tablename__ = "agents"
    __table_args__ = (UniqueConstraint("project_id", "agent_name"),)

    id: Mapped[str] = _key()
    project_id: Mapped[str] = _reference("projects")
    agent_name: Mapped[str] = mapped_column(String(200))
    agent_platform: Mapped[str] = mapped_column(String(100))
    goals: Mapped[str | None] = mapped_column(Text)
    config: Mapped[dict[str, JSONValue]] = mapped_column(JSON, default=dict)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)
    disabled_at: Mapped[datetime | None] = mapped_column(UTCDateTime)

    # Joined, so that an agent may be used after its session is closed.
    project: Mapped[ProjectModel] = relationship(back_populates="agents", lazy="joined", innerjoin=True)


class ExecutionModel(Base):
    """One run of an agent, as users see it.

    Its durable run has the same id. ``attempts`` counts how often the run began, or continued after an end;
    ``worker`` started the newest attempt. ``outcome`` is set once the results are stored: the status of the
    execution when its run ends, with a ``reason`` unless it is ``succeeded``. If two executions have the same
    ``idempotency_key``, the database refuses the second.
    """

    __tablename__ = "executions"
    __table_args__ = (
        Index(None, "project_id", "created_at"),
        Index(None, "project_id", "status", "created_at"),
        Index(None, "agent_id", "created_at"),
        Index(None, "agent_id", "status", "created_at"),
        Index(None, "project_id", "idempotency_key", unique=True),
    )

    id: Mapped[str] = _key()
    project_id: Mapped[str] = _reference("projects")
    agent_id: Mapped[str] = _reference("agents")
    status: Mapped[ExecutionStatus] = mapped_column(
        names(ExecutionStatus, 16), default=ExecutionStatus.QUEUED
    )
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)
    started_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    worker: Mapped[str | None] = mapped_column(String(200))
    error: Mapped[str | None] = mapped_column(Text)
    superstep_count: Mapped[int] = mapped_column(default=0)
    event_count: Mapped[int] = mapped_column(default=0)
    counts: Mapped[dict[str, JSONValue]] = mapped_column(JSON, default=dict)
    warnings: Mapped[list[str]] = mapped_column(JSON, default=list)
    attempts: Mapped[int] = mapped_column(default=0)
    idempotency_key: Mapped[str | None] = mapped_column(String(200))
    outcome: Mapped[ExecutionStatus | None] = mapped_column(names(ExecutionStatus, 16))
    reason: Mapped[str | None] = mapped_column(Text)
    proxies: Mapped[str | None] = mapped_column(Text)

    @property
    def has_all_results(self) -> bool:
        """Whether its run has completed, with good results or not: there is nothing to continue."""
        return self.status is ExecutionStatus.SUCCEEDED or self.outcome is not None


class AgentResultModel(Base):
    """A summary of an execution's results; the rows are in the platform's own tables."""

    __tablename__ = "agent_results"
    __table_args__ = (Index(None, "agent_id"),)

    id: Mapped[str] = _key()
    project_id: Mapped[str] = _reference("projects")
    agent_id: Mapped[str] = _reference("agents")
    execution_id: Mapped[str] = mapped_column(
        String(ID_LENGTH), ForeignKey("executions.id", ondelete="CASCADE"), unique=True
    )
    summary: Mapped[dict[str, JSONValue]] = mapped_column(JSON, default=dict)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)


class FrontierModel(Base):
    """A page that a crawl knows. ``run`` names the crawl within its project.

    ``id`` grows, so that pages are fetched in the order they were found. ``holder`` is the slice that works
    on a claimed page, as ``superstep.number``; ``attempts`` counts claims. ``tries`` lists the attempts to
    fetch the page if there was more than one; ``content_hash`` is of the body; ``is_letter`` marks a page to
    keep with the dead letters. ``page_key`` is the key of the address at the end of its redirects, known once
    it was fetched: a new page that has one is read from storage. ``item_count`` counts items with a value.
    A ``held`` page is like a new one, but no slice claims it: its kind has drifted.
    """

    __tablename__ = "frontier"
    __table_args__ = (
        UniqueConstraint("project_id", "run", "url_key"),
        Index(None, "project_id", "run", "state", "id"),
    )

    # On SQLite, only a plain INTEGER key increments automatically.
    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    project_id: Mapped[str] = _reference("projects")
    run: Mapped[str] = mapped_column(Text)
    url_key: Mapped[str] = mapped_column(String(64))
    url: Mapped[str] = mapped_column(Text)
    depth: Mapped[int]
    state: Mapped[FrontierState] = mapped_column(names(FrontierState, 8), default=FrontierState.NEW)
    holder: Mapped[str | None] = mapped_column(String(ID_LENGTH))
    attempts: Mapped[int] = mapped_column(default=0)
    failure_class: Mapped[str | None] = mapped_column(String(100))
    message: Mapped[str | None] = mapped_column(Text)
    content_hash: Mapped[str | None] = mapped_column(String(64))
    tries: Mapped[JSONValue | None] = mapped_column(JSON(none_as_null=True))
    is_letter: Mapped[bool] = mapped_column(default=False, server_default=false())
    page_key: Mapped[str | None] = mapped_column(String(64))
    item_count: Mapped[int | None]


class CrawlModel(Base):
    """Progress of a crawl: pages known, fetched and failed, items read, and rows by result of storing.

    ``excluded`` counts the ``failed`` pages that a rule excluded; ``items`` counts items with a value;
    ``beyond`` pages that were too deep, ``outside`` links that lead out of the crawl. ``moves`` has a line
    for each start page that led to another host: its address, a space, and the address after its redirects.
    Each commit of pages adds to it, in the same transaction. Counting a million rows takes too long.

    ``to_reread`` counts the pages that this execution reads from storage, ``reread`` those it has read, and
    ``unstored`` the fetched pages that are not stored; ``is_offline`` says that it fetches no page.

    ``proxies`` counts the requests through each of several proxies, as JSON: see
    :mod:`agentic.core.http.exits.uses`.

    ``held`` counts held pages, ``holds`` names their kinds, separated by blanks, and ``watch`` is the
    evidence so far, as JSON: see :mod:`agentic.core.pipeline.drift.crawls`. ``wrappers`` is what its pages
    taught about their fields, until the crawl ends: see :mod:`agentic.core.pipeline.drift.learning`.
    """

    __tablename__ = "crawls"

    project_id: Mapped[str] = owner()
    run: Mapped[str] = mapped_column(Text, primary_key=True)
    total: Mapped[int] = mapped_column(default=0)
    done: Mapped[int] = mapped_column(default=0)
    failed: Mapped[int] = mapped_column(default=0)
    excluded: Mapped[int] = mapped_column(default=0, server_default="0")
    items: Mapped[int] = mapped_column(default=0, server_default="0")
    inserted: Mapped[int] = mapped_column(default=0, server_default="0")
    updated: Mapped[int] = mapped_column(default=0, server_default="0")
    unchanged: Mapped[int] = mapped_column(default=0, server_default="0")
    rejected: Mapped[int] = mapped_column(default=0, server_default="0")
    beyond: Mapped[int] = mapped_column(default=0, server_default="0")
    outside: Mapped[int] = mapped_column(default=0, server_default="0")
    moves: Mapped[str] = mapped_column(Text, default="", server_default="")
    to_reread: Mapped[int] = mapped_column(default=0, server_default="0")
    reread: Mapped[int] = mapped_column(default=0, server_default="0")
    unstored: Mapped[int] = mapped_column(default=0, server_default="0")
    is_offline: Mapped[bool] = mapped_column(default=False, server_default=false())
    proxies: Mapped[str | None] = mapped_column(Text)
    held: Mapped[int] = mapped_column(default=0, server_default="0")
    holds: Mapped[str] = mapped_column(Text, default="", server_default="")
    watch: Mapped[str | None] = mapped_column(Text)
    wrappers: Mapped[str | None] = mapped_column(Text)


class CrawlProfileModel(Base):
    """Healthy pages of one kind, learnt from good executions of an agent.

    Attributes:
        kind: Hash of the rule that reads them: a changed rule begins a new profile.
        profile: See :class:`agentic.core.pipeline.drift.profiles.KindProfile`.
        updated_at: When an execution was added.
    """

    __tablename__ = "crawl_profiles"

    project_id: Mapped[str] = owner()
    agent_id: Mapped[str] = mapped_column(
        String(ID_LENGTH), ForeignKey("agents.id", ondelete="CASCADE"), primary_key=True
    )
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    profile: Mapped[str] = mapped_column(Text)
    updated_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)


class FieldWrapperModel(Base):
    """What the crawls of a pipeline know about a field beside its selector.

    Attributes:
        pipeline: Name of the pipeline.
        key: Hash of the field's rule and of its pages, so that versions share the fields that did not change:
            see :func:`agentic.core.pipeline.drift.learning.wrapper_keys`.
        wrapper: See :func:`agentic.core.wrappers.encode`; at most 2 KB.
        updated_at: When a crawl added to it.
    """

    __tablename__ = "field_wrappers"

    project_id: Mapped[str] = owner()
    pipeline: Mapped[str] = mapped_column(String(100), primary_key=True)
    key: Mapped[str] = mapped_column(String(32), primary_key=True)
    wrapper: Mapped[str] = mapped_column(Text)
    updated_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)


class KeptTotalsModel(Base):
    """Totals of a project's ``runs`` or ``executions`` that were created in a past week.

    Database triggers remove them when a row of that week is added, changed or removed. ``totals`` is null
    during the count; ``token`` identifies who counts. See :mod:`agentic.mappers.runs.totals`.
    """

    __tablename__ = "kept_totals"

    project_id: Mapped[str] = owner()
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    week: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    token: Mapped[str] = mapped_column(String(ID_LENGTH))
    totals: Mapped[JSONValue] = mapped_column(JSON(none_as_null=True))


class DeadLetterModel(Base):
    """A failed item that needs attention: of a step or a loop, or a page of a crawl.

    Attributes:
        step: Id of the step, with the ids of the loops around it.
        item_key: Hash of the item: if it fails again in the same execution, it stays one letter.
        item: The loop's item, or the page.
        tries: Every attempt.
    """

    __tablename__ = "dead_letters"
    __table_args__ = (Index(None, "project_id", "created_at"),)

    project_id: Mapped[str] = owner()
    execution_id: Mapped[str] = mapped_column(
        String(ID_LENGTH), ForeignKey("executions.id", ondelete="CASCADE"), primary_key=True
    )
    step: Mapped[str] = mapped_column(String(200), primary_key=True)
    item_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    pipeline: Mapped[str] = mapped_column(String(100))
    item: Mapped[JSONValue | None] = mapped_column(JSON(none_as_null=True))
    failure_class: Mapped[str] = mapped_column(String(100))
    message: Mapped[str] = mapped_column(Text)
    tries: Mapped[list[JSONValue]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)


class PipelineModel(Base):
    """A stored version of a pipeline; it never changes.

    Attributes:
        digest: Hash of the spec; storing the newest version again adds no version.
    """

    __tablename__ = "pipelines"

    project_id: Mapped[str] = owner()
    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    digest: Mapped[str] = mapped_column(String(64))
    spec: Mapped[dict[str, JSONValue]] = mapped_column(JSON)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)


class RunCheckpointModel(Base):
    """One step of a run's history; see :class:`agentic.core.graph.checkpoints.store.CheckpointMetadata`.

    The key allows only one of two writers to continue a run. ``head`` comes last, so that SQLite reads the
    other columns without it.
    """

    __tablename__ = "run_checkpoints"

    project_id: Mapped[str] = owner()
    run_id: Mapped[str] = mapped_column(Text, primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    superstep: Mapped[int]
    status: Mapped[RunStatus] = mapped_column(names(RunStatus, 16))
    workflow_id: Mapped[str] = mapped_column(Text)
    version: Mapped[str | None] = mapped_column(Text)
    schema_version: Mapped[int]
    saved_at: Mapped[float] = mapped_column(Float)
    forked_from: Mapped[str | None] = mapped_column(Text)
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    head: Mapped[str] = mapped_column(Text)


class RunPartModel(Base):
    """A part of a run's state, as a checkpoint saved it; without text: the part was removed.

    For each part, a checkpoint uses the newest row at or below its revision: rows outlive their checkpoint.
    """

    __tablename__ = "run_parts"
    __table_args__ = (Index(None, "project_id", "run_id", "revision"),)

    project_id: Mapped[str] = owner()
    run_id: Mapped[str] = mapped_column(Text, primary_key=True)
    part: Mapped[str] = mapped_column(Text, primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str | None] = mapped_column(Text)


class SourceColumns:
    """Columns of every table with data from a source; a mixin for the models of a platform.

    ``project_id`` is first in the primary key: two projects that read one source have separate rows, and
    never see or change each other's. Add the source's natural key with ``primary_key=True``.

    Attributes:
        first_seen_at: When the row was created.
        last_seen_at: When a source last returned it, changed or not.
        execution_id: The execution that last read it.
        agent_id: The agent of that execution.
        content_hash: Hash of the source's data; equal hashes mean unchanged.
        raw: The source's original answer, for fields that have no column.
    """

    project_id: Mapped[str] = owner()
    first_seen_at: Mapped[datetime] = mapped_column(UTCDateTime, sort_order=90)
    last_seen_at: Mapped[datetime] = mapped_column(UTCDateTime, sort_order=91)
    execution_id: Mapped[str] = mapped_column(String(ID_LENGTH), sort_order=92)
    agent_id: Mapped[str] = mapped_column(String(ID_LENGTH), sort_order=93)
    content_hash: Mapped[str] = mapped_column(String(64), sort_order=94)
    raw: Mapped[JSONValue | None] = mapped_column(JSON(none_as_null=True), sort_order=95)


class CatchUp(StrEnum):
    """Which due times are fired later, if beat did not run when they passed."""

    NONE = "none"
    LAST = "last"
    ALL = "all"


class Overlap(StrEnum):
    """How to handle a due time while an earlier execution of the schedule still runs."""

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"


class ScheduleModel(Base):
    """When an agent runs automatically; beat reads it, and it may change at any time.

    All times follow the clock of the database.

    Attributes:
        cron: Five fields, in ``timezone``. Either this or ``every_s`` is set.
        every_s: Seconds from one due time to the next, counted from ``anchor``.
        settled_until: Due times up to this one were fired or dropped.
        last_due_at: The newest fired due time.
        waiting_due_at: With ``queue``: the due time that waits for the running execution to end.
        skipped_count: How many due times were skipped because an execution was running.
    """

    __tablename__ = "schedules"
    __table_args__ = (UniqueConstraint("project_id", "name"), Index(None, "agent_id"))

    id: Mapped[str] = _key()
    project_id: Mapped[str] = _reference("projects")
    agent_id: Mapped[str] = _reference("agents")
    name: Mapped[str] = mapped_column(String(200))
    cron: Mapped[str | None] = mapped_column(String(200))
    every_s: Mapped[int | None]
    timezone: Mapped[str] = mapped_column(String(64), default="UTC")
    jitter_s: Mapped[int] = mapped_column(default=0)
    catch_up: Mapped[CatchUp] = mapped_column(names(CatchUp, 8), default=CatchUp.LAST)
    overlap: Mapped[Overlap] = mapped_column(names(Overlap, 8), default=Overlap.SKIP)
    anchor: Mapped[datetime] = mapped_column(UTCDateTime)
    settled_until: Mapped[datetime] = mapped_column(UTCDateTime)
    last_due_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    waiting_due_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    skipped_count: Mapped[int] = mapped_column(default=0)
    paused_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    created_at: Mapped[datetime] = mapped_column(UTCDateTime, default=utc_now)

    # Joined, so that a schedule may be used after its session is closed.
    agent: Mapped[AgentModel] = relationship(lazy="joined", innerjoin=True)
