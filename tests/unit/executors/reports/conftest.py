"""A report with everything in it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agentic.executors.reports.changes import ChangedPage, ChangeReport, PageChange
from agentic.executors.reports.facts import (
    DeadLetterFacts,
    FailureExample,
    FailureFacts,
    Header,
    HostFacts,
    PageCounts,
    RunReport,
    StepFacts,
    StrategyFacts,
    StrategyReport,
    TableSample,
    Timeline,
    TriedPage,
)

BEGAN = datetime(2026, 5, 4, 10, 0, 0, tzinfo=UTC)


@pytest.fixture
def header() -> Header:
    return Header(
        execution_id="e" * 32,
        agent="shop",
        platform="web",
        project="default",
        status="succeeded",
        pipeline="shop-crawl",
        description="Reads a shop.",
        digest="d" * 64,
        version=3,
        attempts=2,
        workers=("host/1", "host/2"),
        superstep_count=8,
        event_count=16,
        created_at=BEGAN,
        started_at=BEGAN,
        finished_at=BEGAN + timedelta(seconds=90),
        made_at=BEGAN + timedelta(hours=1),
    )


@pytest.fixture
def full(header: Header) -> RunReport:
    return RunReport(
        header=header,
        rows={"inserted": 10, "updated": 1, "unchanged": 5, "rejected": 2},
        pages=PageCounts(known=20, done=15, failed=2),
        timeline=Timeline(began=BEGAN, step_s=1, counts=(5, 0, 9), of=15, ways={"http": 12, "browser": 2}),
        failures=(
            FailureFacts(
                failure_class="http_404",
                count=2,
                examples=(FailureExample(subject="https://a/gone", message="https://a/gone is gone"),),
            ),
        ),
        hosts=(HostFacts(host="a.example", done=15, failed=2, left=3),),
        host_count=1,
        strategies=StrategyReport(
            page_count=2,
            looked_at=2,
            recovered=1,
            kinds=(
                StrategyFacts(
                    failure_class="http_403", action="fallback", next="browser", count=2, recovered=1
                ),
            ),
            pages=(TriedPage(url="https://a/x", tries=("fetch: http_403", "browser: ok"), is_done=True),),
        ),
        steps=(
            StepFacts(
                name="pages",
                count=3,
                total_s=2.5,
                longest_s=1.5,
                histogram=(0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0),
            ),
        ),
        tables=(
            TableSample(name="web_pages", columns=("url",), rows=({"url": "https://a/1"},), total=15),
            TableSample(
                name="items",
                columns=("title", "price", "tags", "note"),
                rows=({"title": "Lamp", "price": 3.5, "tags": ["a"], "note": None},),
                total=9,
            ),
        ),
        letters=(
            DeadLetterFacts(step="pages", item="https://a/y", failure_class="timeout", message="too slow"),
        ),
        letter_count=1,
        warnings=("a row had no key",),
        changes=ChangeReport(
            execution_id="e" * 32,
            against_id="f" * 32,
            counts={**dict.fromkeys(PageChange, 0), PageChange.NEW: 40, PageChange.GONE: 1},
            pages={
                PageChange.NEW: (ChangedPage(url="https://a/new"),),
                PageChange.GONE: (ChangedPage(url="https://a/old", reason="http_404"),),
            },
            is_whole=True,
        ),
        graph='<svg class="agentic-graph"></svg>',
    )
