"""A whole report gathered, on each database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentic.core.errors import DuplicateNameError
from agentic.core.graph.model.result import RunStatus
from agentic.core.hooks import Offers, PluginRegistry
from agentic.core.ledger import ActivationStatus
from agentic.executors.reports.changes import PageChange
from agentic.executors.reports.facts import PageCounts
from agentic.executors.reports.gathering import gather_report
from agentic.executors.reports.page import render
from agentic.mappers.tables.ledger import ActivationModel, RunModel

if TYPE_CHECKING:
    from tests.integration.executors.reports.conftest import Archive

    from agentic.mappers import ExecutionModel
from tests.integration.executors.reports.conftest import Known

pytestmark = pytest.mark.integration


def run(archive: Archive, execution: ExecutionModel, run_id: str, took_s: dict[str, float]) -> None:
    """Add a run with an activation of each of these executors."""
    owner = execution.project_id
    times = {"created_at": 0.0, "updated_at": 0.0}
    with archive.database.writing() as session:
        session.add(
            RunModel(
                project_id=owner,
                run_id=run_id,
                status=RunStatus.COMPLETED,
                superstep=1,
                revision=1,
                priority=0,
                is_paused=False,
                workflow="agent:toy",
                **times,
            )
        )
        for position, (name, seconds) in enumerate(took_s.items()):
            session.add(
                ActivationModel(
                    project_id=owner,
                    run_id=run_id,
                    superstep=position,
                    executor_id=name.rstrip("'"),
                    shard=0,
                    status=ActivationStatus.DONE,
                    is_held=0,
                    position=0,
                    lanes=1,
                    priority=0,
                    fence=1,
                    crashes=0,
                    max_crashes=2,
                    not_before=0.0,
                    started_at=100.0,
                    finished_at=100.0 + seconds,
                    queue="q",
                    on_crash="retry",
                    worker=f"worker-{name[0]}",
                )
            )


def test_steps_are_those_of_the_runs_that_did_the_work(archive: Archive) -> None:
    execution = archive.crawl({"http://a/1": Known(content="h")})
    run(archive, execution, execution.id, {"execute": 9.0})
    run(archive, execution, f"{execution.id}/execute.1.0", {"pages": 2.0, "pages'": 0.005, "result": 0.5})
    run(archive, execution, f"{execution.id}0", {"foreign": 1.0})
    report = gather_report(archive.database, execution, archive.agent)
    assert [(step.name, step.count, step.longest_s) for step in report.steps] == [
        ("pages", 2, 2.0),
        ("result", 1, 0.5),
    ]
    assert report.steps[0].total_s == pytest.approx(2.005)
    assert report.steps[0].histogram == (0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0)
    assert report.header.workers == ("worker-p", "worker-e", "worker-r")
    assert report.header.is_changed


def test_a_crawl_is_told_with_its_changes_also_where_its_platform_is_gone(archive: Archive) -> None:
    archive.crawl({"http://a/1": Known(content="h"), "http://a/2": Known(content="h")})
    execution = archive.crawl({"http://a/1": Known(content="new"), "http://a/2": Known(failure="gone")})
    report = gather_report(archive.database, execution, archive.agent)
    assert report.pages == PageCounts(known=2, done=1, failed=1)
    assert report.changes is not None
    assert (report.changes.counts[PageChange.CHANGED], report.changes.counts[PageChange.GONE]) == (1, 1)
    assert (report.timeline, report.tables, report.graph) == (None, (), "")
    assert "http://a/2" in render(report)


@pytest.mark.requirement("PL07")
def test_where_two_plugins_claim_its_platform_nothing_is_left_out_without_a_word(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution = archive.crawl({"http://a/1": Known(content="h")})
    clash = DuplicateNameError("platform", "toy", "agentic-plugin-a 1.0 (a)", "agentic-plugin-b 2.0 (b)")
    monkeypatch.setattr(PluginRegistry, "platforms", Offers({}, {"toy": clash}))
    with pytest.raises(DuplicateNameError, match=r"agentic-plugin-a 1\.0 .*agentic-plugin-b 2\.0"):
        gather_report(archive.database, execution, archive.agent)
