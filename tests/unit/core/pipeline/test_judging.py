"""What results are worth: succeeded, partial or failed, by rules that a pipeline may set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from agentic.core.pipeline import Evidence, Judgement, PipelineResult, judge, judge_rows
from agentic.core.pipeline.spec.amounts import exceeds
from agentic.core.pipeline.spec.spec import Limits, PipelineSpec
from agentic.core.pipeline.steps.result import FailedItem, FailureTotals, PageTotals
from agentic.core.types import JSONValue, SaveCounts

FETCH: dict[str, Any] = {"actor": "fetch", "config": {"url": "http://a/"}}
CRAWL: dict[str, Any] = {"type": "crawl", "start": "http://a/", "detail": {"match": ["*"]}}
NO_FIT = "step 2 extract_list: 'div.x' matches nothing on http://a/"


def lost(item: JSONValue = "http://a/1", failure_class: str = "timeout") -> FailedItem:
    return FailedItem(step="loop/fetch", item=item, failure_class=failure_class, message="30 s", attempts=())


def pages(done: int, failed: int = 0, *, items: int = 0, excluded: int = 0, **rows: int) -> PageTotals:
    counts: dict[str, Any] = {"inserted": 0, "updated": 0, "unchanged": 0, "rejected": 0, **rows}
    return PageTotals(done=done, failed=failed, left=0, items=items, excluded=excluded, **counts)


def judged(  # what a result may hold
    *,
    items: Sequence[dict[str, JSONValue]] = (),
    failed: Sequence[FailedItem] = (),
    crawl: PageTotals | None = None,
    warnings: Sequence[str] = (),
    saved: SaveCounts | None = None,
    limits: Limits | None = None,
    gives_nothing: bool = False,
    steps: Sequence[dict[str, Any]] = (),
) -> Judgement:
    spec = PipelineSpec.model_validate(
        {"steps": [*steps] or [CRAWL if crawl else FETCH], "limits": limits or Limits()}
    )
    failures = {"http_500": FailureTotals(count=crawl.failed, examples=())} if crawl else {}
    result = PipelineResult(
        pipeline="p",
        item_key="url",
        items=tuple(items),
        counts={},
        pages=crawl,
        failures=failures,
        failed_items=tuple(failed),
        retried=(),
        skipped=(),
        warnings=tuple(warnings),
        gives_nothing=gives_nothing,
    )
    rows = saved or SaveCounts(inserted=len(items) + (crawl.done if crawl else 0))
    return judge(Evidence(spec=spec, result=result, saved=rows))


def some(count: int) -> list[dict[str, JSONValue]]:
    return [{"url": f"http://a/{number}", "n": number} for number in range(count)]


def test_items_that_all_came_are_a_success() -> None:
    assert judged(items=some(3)) == Judgement()


def test_the_same_rows_again_are_a_success() -> None:
    assert judged(items=some(3), saved=SaveCounts(unchanged=3)) == Judgement()


def test_a_source_that_has_nothing_new_is_a_success() -> None:
    assert judged() == Judgement()


def test_no_item_after_a_selector_that_fits_nothing_is_a_failure() -> None:
    assert judged(warnings=[NO_FIT]) == Judgement(outcome="failed", reason=f"no items: {NO_FIT}")


def test_items_of_which_no_selector_fitted_are_no_items() -> None:
    found = judged(items=[{"url": "http://a/", "title": None}], warnings=[NO_FIT])
    assert found.outcome == "failed"


def test_a_warning_beside_items_changes_nothing() -> None:
    assert judged(items=some(1), warnings=[NO_FIT]) == Judgement()


def test_all_items_failed_is_a_failure() -> None:
    found = judged(failed=[lost(1), lost(2), lost(3, "dns")])
    assert found == Judgement(outcome="failed", reason="all 3 items failed: timeout 2, dns 1")


@pytest.mark.parametrize(
    ("kept", "lost_count", "outcome"), [(2, 1, "partial"), (19, 1, "succeeded"), (18, 1, "partial")]
)
def test_more_than_five_percent_of_items_lost_is_partial(kept: int, lost_count: int, outcome: str) -> None:
    found = judged(items=some(kept), failed=[lost(number) for number in range(lost_count)])
    assert found.outcome == outcome


def test_a_step_that_was_given_up_is_partial() -> None:
    found = judged(items=some(100), failed=[lost(None)])
    assert found == Judgement(outcome="partial", reason="1 step failed: timeout 1")


def test_all_rows_rejected_is_a_failure() -> None:
    found = judged(items=some(3), saved=SaveCounts(rejected=3))
    assert found == Judgement(outcome="failed", reason="all 3 rows were rejected")


def test_all_items_of_a_crawl_rejected_is_a_failure_though_its_pages_are_stored() -> None:
    found = judged(crawl=pages(9, items=8), saved=SaveCounts(inserted=9, rejected=8))
    assert found == Judgement(outcome="failed", reason="all 8 items on its pages were rejected")


def test_some_rows_rejected_are_partial() -> None:
    found = judged(items=some(3), saved=SaveCounts(inserted=2, rejected=1))
    assert found == Judgement(outcome="partial", reason="1 of 3 rows were rejected")


@pytest.mark.parametrize(
    ("done", "failed", "outcome"),
    [(95, 5, "succeeded"), (94, 6, "partial"), (1, 1, "partial")],
)
def test_more_than_five_percent_of_pages_failed_is_partial(done: int, failed: int, outcome: str) -> None:
    assert judged(crawl=pages(done, failed, items=done)).outcome == outcome


def test_pages_that_robots_txt_forbids_have_not_failed() -> None:
    assert judged(crawl=pages(10, 0, items=9, excluded=50)) == Judgement()


def test_a_crawl_that_read_no_item_is_a_failure() -> None:
    found = judged(crawl=pages(12, 108))
    reason = "the crawl extracted no items: 108 of 120 pages failed: http_500 108"
    assert found == Judgement(outcome="failed", reason=reason)


def test_a_crawl_whose_detail_fits_no_page_is_a_failure() -> None:
    found = judged(crawl=pages(12))
    assert found.outcome == "failed"
    assert "`detail` fits none of its 12 pages (match: *), or its selectors find nothing" in str(found.reason)
    details = [{"match": ["/a/*", "/b/*"]}, {"match": ["/a/*"], "actor": "article"}]
    crawl = {"type": "crawl", "start": "http://a/", "detail": details}
    assert "(match: /a/*, /b/*)" in str(judged(crawl=pages(12), steps=[crawl]).reason)


def test_a_crawl_that_is_to_read_no_items_needs_none() -> None:
    assert judged(crawl=pages(12), steps=[{"type": "crawl", "start": "http://a/"}]) == Judgement()


def test_a_pipeline_that_gives_nothing_to_store_is_partial_and_told_what_to_do() -> None:
    found = judged(gives_nothing=True)
    assert found.outcome == "partial"
    assert "no step returns an `item` or `items`" in str(found.reason)


class TestLimits:
    def test_no_items_may_be_meant(self) -> None:
        limits = Limits(min_items=0)
        assert judged(warnings=[NO_FIT], limits=limits) == Judgement()
        assert judged(gives_nothing=True, limits=limits) == Judgement()
        assert judged(crawl=pages(12), limits=limits) == Judgement()

    def test_fewer_items_than_wanted_are_a_failure(self) -> None:
        found = judged(items=some(2), limits=Limits(min_items=3))
        assert found == Judgement(outcome="failed", reason="2 items, fewer than min_items (3)")
        assert judged(crawl=pages(5, items=3), limits=Limits(min_items=3)) == Judgement()

    @pytest.mark.parametrize(
        ("amount", "outcome"), [(1, "partial"), (2, "succeeded"), ("10%", "partial"), ("20%", "succeeded")]
    )
    def test_what_may_be_lost_is_a_number_or_a_share(self, amount: int | str, outcome: str) -> None:
        limits = Limits(partial_above=amount)
        found = judged(items=some(8), failed=[lost(1), lost(2)], limits=limits)
        assert found.outcome == outcome

    def test_a_share_of_failures_fails_the_run_at_its_end(self) -> None:
        found = judged(items=some(8), failed=[lost(1), lost(2)], limits=Limits(max_failed="10%"))
        assert found == Judgement(outcome="failed", reason="2 failed, more than max_failed (10%)")

    @pytest.mark.parametrize("amount", ["5", "5 percent", "-1%", "101%", -1, 1.5, True, "1e1%", "٥%"])
    def test_what_is_no_amount_is_refused_with_examples(self, amount: object) -> None:
        with pytest.raises(ValidationError, match="is neither a number such as 10 nor a share such as 5%"):
            Limits.model_validate({"max_failed": amount})

    def test_shares_are_exact(self) -> None:
        assert not exceeds(7, "7%", of=100)
        assert exceeds(8, "7%", of=100)
        assert not exceeds(0, "0%", of=0)
        assert exceeds(1, "0%", of=1_000_000)
        assert not exceeds(29, "2.9%", of=1_000)


class TestRowsWithoutPipeline:
    @pytest.mark.parametrize(
        ("saved", "outcome"),
        [
            (SaveCounts(), "succeeded"),
            (SaveCounts(unchanged=4), "succeeded"),
            (SaveCounts(rejected=1), "failed"),
            (SaveCounts(inserted=18, rejected=1), "partial"),
            (SaveCounts(inserted=19, rejected=1), "succeeded"),
        ],
    )
    def test_rows_are_judged_by_what_was_rejected(self, saved: SaveCounts, outcome: str) -> None:
        assert judge_rows(saved, ()).outcome == outcome

    def test_the_reason_quotes_the_first_warning(self) -> None:
        assert judge_rows(SaveCounts(rejected=1), ["story 0 has no id"]).reason == (
            "the only row was rejected: story 0 has no id"
        )
