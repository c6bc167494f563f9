"""What a report tells: plain data, gathered once and then only drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from agentic.executors.reports.changes import ChangeReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Which execution it was.

    Attributes:
        execution_id: The execution.
        agent: Name of its agent.
        platform: Of the agent.
        project: Of the agent.
        pipeline: Name of the pipeline, if the agent is one.
        description: Of the pipeline.
        digest: Hash of the pipeline as it is now.
        version: Under which it is stored in the project, if it is.
        is_changed: Whether the agent was changed since, so that what is shown of it is not what was run.
        status: How the execution stands.
        error: What went wrong.
        reason: Why its results are partial, or a failure.
        attempts: How often it was begun, or went on after an end.
        workers: Who worked on it.
        superstep_count: Of the run.
        event_count: Of the run.
        created_at: When it was asked for.
        started_at: When it was begun.
        finished_at: When it ended.
        made_at: When this was looked at.
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
        """How long it took, up to now if it goes on; None before it began."""
        if self.started_at is None:
            return None
        return ((self.finished_at or self.made_at) - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCounts:
    """Pages of a crawl: known, fetched, given up; ``excluded`` are those given up as the site wants it."""

    known: int = 0
    done: int = 0
    failed: int = 0
    excluded: int = 0

    @property
    def left(self) -> int:
        """Known, and neither fetched nor given up."""
        return self.known - self.done - self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """When pages were fetched.

    Attributes:
        began: Of the first interval.
        step_s: Length of each interval.
        counts: Pages in each interval.
        of: Pages fetched in all; a row that a later execution gave again has that one's time.
        ways: How they were fetched -> pages, where that is known.
    """

    began: datetime
    step_s: float
    counts: tuple[int, ...]
    of: int
    ways: Mapping[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Pages whose time is known."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureExample:
    """Something that failed, and what was said."""

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
    """What was done about failures of one class: for how many pages, and how many were had in the end."""

    failure_class: str
    action: str
    next: str
    count: int
    recovered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedPage:
    """A page that took more than one try: each try in words, and whether it was had in the end."""

    url: str
    tries: tuple[str, ...]
    is_done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyReport:
    """What was done about failures.

    Attributes:
        page_count: Pages that took more than one try.
        looked_at: Of these, as many as this is about.
        recovered: Of those, the ones that were had in the end.
        kinds: What was done, the most frequent first.
        pages: The first few.
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
            last is of those that took longer than all.
    """

    name: str
    count: int
    total_s: float
    longest_s: float
    histogram: tuple[int, ...]


STEP_BOUNDS_S = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSample:
    """A few rows of a table, and how many the execution gave."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, object], ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFacts:
    """Something that was given up and kept to be looked at."""

    step: str
    item: str
    failure_class: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """All that a report tells.

    Attributes:
        header: Which execution it was.
        rows: What became of rows -> how many: inserted, updated, unchanged, rejected.
        pages: Of its crawl, if it has one.
        timeline: When pages were fetched.
        failures: The most frequent class first.
        hosts: The busiest first.
        host_count: How many hosts there are in all.
        strategies: What was done about failures.
        steps: The longest in all first.
        tables: Samples of the rows it gave.
        letters: The first things given up and kept.
        letter_count: How many there are in all.
        warnings: What was wrong with parts of the results.
        changes: Against the crawl before, if there is one.
        graph: The pipeline as SVG, with the run on it where that can be had.
    """

    header: Header
    rows: Mapping[str, int]
    pages: PageCounts | None = None
    timeline: Timeline | None = None
    failures: tuple[FailureFacts, ...] = ()
    hosts: tuple[HostFacts, ...] = ()
    host_count: int = 0
    strategies: StrategyReport = StrategyReport()
    steps: tuple[StepFacts, ...] = ()
    tables: tuple[TableSample, ...] = ()
    letters: tuple[LetterFacts, ...] = ()
    letter_count: int = 0
    warnings: tuple[str, ...] = ()
    changes: ChangeReport | None = None
    graph: str = ""
