"""The facts of a report: plain data, gathered once and then only drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from agentic.core.http.exits.uses import ProxyUse
from agentic.executors.reports.changes import ChangeReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Identifies the execution.

    Attributes:
        execution_id: The execution.
        agent: Name of its agent.
        platform: The agent's platform.
        project: The agent's project.
        pipeline: Name of the pipeline, if the agent is one.
        description: Description of the pipeline.
        digest: Hash of the current pipeline.
        version: Its version in the project, if stored.
        is_changed: Whether the agent has changed since, so that the shown agent differs from the run.
        status: Status of the execution.
        error: The error, if any.
        reason: Why its results are partial or failed.
        attempts: How often it started, or continued after an end.
        workers: The workers that worked on it.
        superstep_count: Supersteps of the run.
        event_count: Events of the run.
        created_at: When it was requested.
        started_at: When it started.
        finished_at: When it ended.
        made_at: When the report was made.
    """

    execution_id: str
    agent: str
    platform: str
    project: str
    status: str
    created_at: datetime
    made_at: datetime
    pipeline: str | None = None
    description: str = ""
    digest: str | None = None
    version: int | None = None
    is_changed: bool = False
    error: str | None = None
    reason: str | None = None
    attempts: int = 1
    workers: tuple[str, ...] = ()
    superstep_count: int = 0
    event_count: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def seconds(self) -> float | None:
        """Its duration, up to now if it is active; None before it began."""
        if self.started_at is None:
            return None
        return ((self.finished_at or self.made_at) - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCounts:
    """Pages of a crawl: known, fetched, failed; the site's own rules forbid the ``excluded`` ones.

    ``reread`` counts the pages that were read again from storage, ``unstored`` those that were not because
    they are not stored.
    """

    known: int = 0
    done: int = 0
    failed: int = 0
    excluded: int = 0
    reread: int = 0
    unstored: int = 0

    @property
    def left(self) -> int:
        """Known, and neither fetched nor failed."""
        return self.known - self.done - self.failed

    @property
    def reread_text(self) -> str:
        """The pages read again, and the pages that are not stored, as text; "" for none."""
        parts = {"read again from storage": self.reread, "not stored": self.unstored}
        return ", ".join(f"{count:,} {name}" for name, count in parts.items() if count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """When pages were fetched.

    Attributes:
        began: Start of the first interval.
        step_s: Length of each interval.
        counts: Pages in each interval.
        of: Pages fetched in all; a row that a later execution updated has the later time.
        ways: How they were fetched -> pages, where known.
    """

    began: datetime
    step_s: float
    counts: tuple[int, ...]
    of: int
    ways: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Pages with a known time."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureExample:
    """A failure and its message."""

    subject: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureFacts:
    """One failure class: how often, and the first few times."""

    failure_class: str
    count: int
    examples: tuple[FailureExample, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """Pages of a host."""

    host: str
    done: int
    failed: int
    left: int

    @property
    def known(self) -> int:
        """All of its pages."""
        return self.done + self.failed + self.left


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyFacts:
    """The reaction to failures of one class: for how many pages, and how many of them were fetched."""

    failure_class: str
    action: str
    next: str
    count: int
    recovered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedPage:
    """A page that took more than one try: each try as text, and whether it was fetched in the end."""

    url: str
    tries: tuple[str, ...]
    is_done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyReport:
    """The reactions to failures.

    Attributes:
        page_count: Pages that took more than one try.
        looked_at: How many of these are analysed here.
        recovered: How many of the analysed were fetched in the end.
        kinds: Kinds of reactions, the most frequent first.
        pages: The first few pages.
    """

    page_count: int = 0
    looked_at: int = 0
    recovered: int = 0
    kinds: tuple[StrategyFacts, ...] = ()
    pages: tuple[TriedPage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFacts:
    """How long the activations of a step took.

    Attributes:
        name: Of the step's executor.
        count: Activations that have ended.
        total_s: Seconds in all of them.
        longest_s: Seconds of the longest.
        histogram: How many took less than each of :data:`STEP_BOUNDS_S`, and longer than the one before; the
            last counts all longer ones.
    """

    name: str
    count: int
    total_s: float
    longest_s: float
    histogram: tuple[int, ...]


STEP_BOUNDS_S = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSample:
    """A few rows of a table, and the execution's total."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, object], ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterFacts:
    """A failed part of the work, kept for review."""

    step: str
    item: str
    failure_class: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """All facts of a report.

    Attributes:
        header: Identifies the execution.
        rows: Outcome -> number of rows: inserted, updated, unchanged, rejected.
        pages: Pages of its crawl, if it has one.
        timeline: When pages were fetched.
        failures: The most frequent class first.
        hosts: The busiest first.
        host_count: How many hosts there are in all.
        proxies: Requests through each of several proxies.
        strategies: The reactions to failures.
        steps: The longest total time first.
        tables: Samples of its rows.
        letters: The first dead letters.
        letter_count: How many there are in all.
        warnings: Faults in parts of the results.
        changes: Changes since the crawl before, if there is one.
        graph: The pipeline as SVG, with the run on it where available.
    """

    header: Header
    rows: Mapping[str, int]
    pages: PageCounts | None = None
    timeline: Timeline | None = None
    failures: tuple[FailureFacts, ...] = ()
    hosts: tuple[HostFacts, ...] = ()
    host_count: int = 0
    proxies: tuple[ProxyUse, ...] = ()
    strategies: StrategyReport = StrategyReport()
    steps: tuple[StepFacts, ...] = ()
    tables: tuple[TableSample, ...] = ()
    letters: tuple[DeadLetterFacts, ...] = ()
    letter_count: int = 0
    warnings: tuple[str, ...] = ()
    changes: ChangeReport | None = None
    graph: str = ""
