"""Judge the results of a run: it succeeded, succeeded in part, or failed though it ran to its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from agentic.core.pipeline.crawl.page_items import has_value
from agentic.core.pipeline.shortages import listed_classes, shortfalls
from agentic.core.pipeline.spec.amounts import exceeds
from agentic.core.pipeline.spec.spec import Limits, PipelineSpec
from agentic.core.pipeline.spec.walking import detail_patterns, downloads_files, reads_items
from agentic.core.pipeline.steps.result import PageTotals, PipelineResult
from agentic.core.types import SaveCounts

PARTIAL_ABOVE = "5%"
"""Rejected rows of a platform without pipelines before its execution is partial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict on results, and the reasons if it is not a full success."""

    outcome: Literal["succeeded", "partial", "failed"] = "succeeded"
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The basis of a judgement of a pipeline.

    Attributes:
        spec: The pipeline.
        result: Its result.
        saved: Rows, by the effect of storing them.
        warnings: Warnings from storing them.
    """

    spec: PipelineSpec
    result: PipelineResult
    saved: SaveCounts
    warnings: Sequence[str] = ()

    @property
    def limits(self) -> Limits:
        """The limits of the pipeline."""
        return self.spec.limits

    @property
    def item_count(self) -> int:
        """Items with a value, including items on the pages of a crawl."""
        return sum(map(has_value, self.result.items)) + (self.pages.items if self.pages else 0)

    @property
    def lost_items(self) -> int:
        """Items of loops that failed."""
        return sum(failed.item is not None for failed in self.result.failed_items)

    @property
    def lost_steps(self) -> int:
        """Steps outside of loops that failed."""
        return len(self.result.failed_items) - self.lost_items

    @property
    def pages(self) -> PageTotals | None:
        """The pages of the crawl, if there is one."""
        return self.result.pages

    @property
    def reads_pages(self) -> bool:
        """Whether the crawl had to read items on its pages."""
        return reads_items(self.spec.steps)

    @property
    def wants_files_alone(self) -> bool:
        """Whether the crawl reads no items, and its warnings may be about files."""
        return self.pages is not None and not self.reads_pages and downloads_files(self.spec.steps)


def judge(evidence: Evidence) -> Judgement:
    """Return the judgement of a pipeline run.

    It failed if it lost everything: all items or rows, or if a selector matched nothing and it has no items.
    It is partial if it lost more than its limits allow.
    """
    if (failure := next(_failures(evidence), None)) is not None:
        return Judgement(outcome="failed", reason=failure)
    losses = [*_losses(evidence)]
    return Judgement(outcome="partial", reason="; ".join(losses)) if losses else Judgement()


def judge_rows(saved: SaveCounts, warnings: Sequence[str], allowed: int | str = PARTIAL_ABOVE) -> Judgement:
    """Return the judgement of rows: failed if all are rejected, partial if more than ``allowed`` are."""
    if failure := _all_rejected(saved, warnings):
        return Judgement(outcome="failed", reason=failure)
    if loss := _rejected(saved, warnings, allowed):
        return Judgement(outcome="partial", reason=loss)
    return Judgement()


def _failures(of: Evidence) -> Iterator[str]:
    """Yield why the run failed."""
    count, result, limits = of.item_count, of.result, of.limits
    if reason := _all_rejected(of.saved, of.warnings, of.pages.items if of.pages else 0):
        yield reason
    if of.lost_items and not count:
        yield f"all {of.lost_items} items failed: {listed_classes(_of_items(result))}"
    if limits.min_items is not None and count < limits.min_items:
        yield f"{_counted(count, 'item')}, fewer than min_items ({limits.min_items})"
    if not count and limits.min_items is None:
        yield from _nothing(of)
    lost = of.lost_items + of.lost_steps
    if exceeds(lost, limits.max_failed, of=len(result.items) + lost):
        yield f"{lost} failed, more than max_failed ({limits.max_failed})"


def _nothing(of: Evidence) -> Iterator[str]:
    """Yield why items are missing, although some were expected."""
    warnings, pages = of.result.warnings, of.pages
    if of.reads_pages and pages is not None and pages.done + pages.failed:
        why = "; ".join(shortfalls(of.result)) if pages.failed else ""
        patterns = ", ".join(dict.fromkeys(detail_patterns(of.spec.steps)))
        whole = (
            f"`detail` fits none of its {_counted(pages.done, 'page')} (match: {patterns}), or its selectors "
            "find nothing there; test them with `agentic pipelines try URL --field NAME=SELECTOR`"
        )
        yield f"the crawl extracted no items: {why or (warnings[0] if warnings else whole)}"
    elif warnings and not of.wants_files_alone:
        others = f" (and {_counted(len(warnings) - 1, 'more warning')})" if warnings[1:] else ""
        yield f"no items: {warnings[0]}{others}"
    elif of.result.items:
        yield f"none of its {_counted(len(of.result.items), 'item')} has a value"


def _losses(of: Evidence) -> Iterator[str]:
    """Yield the losses of the run that exceed its limits."""
    allowed, pages, result = of.limits.partial_above, of.pages, of.result
    lacks_pages = pages is not None and exceeds(pages.failed, allowed, of=pages.done + pages.failed)
    lacks_items = exceeds(of.lost_items, allowed, of=len(result.items) + of.lost_items)
    if pages is not None and pages.drift:
        held = f" ({_counted(pages.held, 'page')} not fetched)" if pages.held else ""
        yield f"{'; '.join(pages.drift)}{held}"
    yield from shortfalls(result, pages=lacks_pages, items=lacks_items, steps=of.lost_steps > 0)
    if loss := _rejected(of.saved, of.warnings, allowed):
        yield loss
    if result.gives_nothing and of.limits.min_items is None:
        yield (
            "nothing was stored because no step returns an `item` or `items`: end with extract_detail, "
            "extract_list with `fields`, or aggregate; or set `limits: {min_items: 0}` if this is intended"
        )


def _all_rejected(saved: SaveCounts, warnings: Sequence[str], page_items: int = 0) -> str | None:
    """Return why all is lost if all rows were rejected, or as many as the pages had items."""
    stored = saved.inserted + saved.updated + saved.unchanged
    if not saved.rejected or (stored and not 0 < page_items <= saved.rejected):
        return None
    if saved.rejected == 1:
        return f"the only {'item' if stored else 'row'} was rejected{_first(warnings)}"
    what = "items on its pages" if stored else "rows"
    return f"all {saved.rejected} {what} were rejected{_first(warnings)}"


def _rejected(saved: SaveCounts, warnings: Sequence[str], allowed: int | str) -> str | None:
    total = saved.inserted + saved.updated + saved.unchanged + saved.rejected
    if not exceeds(saved.rejected, allowed, of=total):
        return None
    return f"{saved.rejected} of {total} rows were rejected{_first(warnings)}"


def _first(warnings: Sequence[str]) -> str:
    return f": {warnings[0]}" if warnings else ""


def _of_items(result: PipelineResult) -> list[str]:
    return [failed.failure_class for failed in result.failed_items if failed.item is not None]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
