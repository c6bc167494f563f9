"""The losses of a pipeline, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from agentic.core.pipeline.steps.result import FailedItem, PipelineResult


def shortfalls(
    result: PipelineResult, *, pages: bool = True, items: bool = True, steps: bool = True
) -> tuple[str, ...]:
    """Return one sentence each about failed pages, items of loops and steps, if there are any.

    Args:
        result: Of the pipeline.
        pages: Whether to include pages.
        items: Whether to include items of loops.
        steps: Whether to include steps outside of loops.
    """
    of_items = [failed for failed in result.failed_items if failed.item is not None]
    of_steps = [failed for failed in result.failed_items if failed.item is None]
    sentences = (
        _pages(result) if pages else "",
        _given_up("item", of_items) if items else "",
        _given_up("step", of_steps) if steps else "",
    )
    return tuple(filter(None, sentences))


def listed_classes(classes: Iterable[str]) -> str:
    """Return failure classes with their counts, the most frequent first: ``timeout 3, dns 1``."""
    return _listed(Counter(classes))


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
    found = sorted((-count, name) for name, count in counts.items() if count > 0)
    return ", ".join(f"{name} {-count}" for count, name in found)
