"""What a pipeline that succeeded did not get, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from agentic.core.pipeline.result import FailedItem, PipelineResult


def shortfalls(result: PipelineResult) -> tuple[str, ...]:
    """Return a sentence each for the pages, items of loops and steps that were given up, if there are any."""
    items = [failed for failed in result.failed_items if failed.item is not None]
    steps = [failed for failed in result.failed_items if failed.item is None]
    return tuple(filter(None, (_pages(result), _given_up("item", items), _given_up("step", steps))))


def _pages(result: PipelineResult) -> str:
    pages = result.pages
    if pages is None or not pages.failed:
        return ""
    others = _counted(result.failed_items)
    counts = {name: totals.count - others[name] for name, totals in result.failures.items()}
    return f"{pages.failed} of {pages.done + pages.failed} pages failed: {_listed(counts)}"


def _given_up(noun: str, failed: list[FailedItem]) -> str:
    if not failed:
        return ""
    nouns = noun if len(failed) == 1 else f"{noun}s"
    return f"{len(failed)} {nouns} failed: {_listed(_counted(failed))}"


def _counted(failed: Iterable[FailedItem]) -> Counter[str]:
    return Counter(one.failure_class for one in failed)


def _listed(counts: Mapping[str, int]) -> str:
    """Return the classes with their counts, the commonest first."""
    found = sorted((-count, name) for name, count in counts.items() if count > 0)
    return ", ".join(f"{name} {-count}" for count, name in found)
