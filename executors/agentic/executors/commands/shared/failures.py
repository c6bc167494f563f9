"""Failures of an execution by class, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from agentic.core.cli import print_rows
from agentic.core.http.errors import reason_in

if TYPE_CHECKING:
    from rich.console import Console

    from agentic.executors.reports.crawls import CrawlReader
    from agentic.executors.reports.facts import FailureExample, FailureFacts
    from agentic.executors.reports.masking import Shown


def failures_of(crawl: CrawlReader, result: object) -> tuple[FailureFacts, ...]:
    """Return the failures of an execution: of its pages or, without a crawl, those that its result names.

    Args:
        crawl: Reads its pages.
        result: Its result, as JSON.
    """
    return tuple(crawl.failures()) or tuple(_of_result(result, crawl.shown))


def print_failures(failures: Sequence[FailureFacts], where: Console | None = None) -> None:
    """Print class, count and an example of each.

    Args:
        failures: What to print.
        where: Console; standard output by default.
    """
    print_rows("Failures", ["class", "count", "example"], list(map(_failure_row, failures)), where=where)


def _failure_row(facts: FailureFacts) -> dict[str, object]:
    example = facts.examples[0] if facts.examples else None
    words = "" if example is None else "\n".join(filter(None, _words(example)))
    return {"class": facts.failure_class, "count": f"{facts.count:,}", "example": words}


def _words(example: FailureExample) -> tuple[str, str]:
    """Return what failed, and why without naming it again."""
    return example.subject, reason_in(
        example.message, example.subject
    ) if example.subject else example.message


def _of_result(result: object, shown: Shown) -> Iterator[FailureFacts]:
    from agentic.executors.reports.facts import FailureExample, FailureFacts

    found = result.get("failures") if isinstance(result, Mapping) else None
    for name, facts in found.items() if isinstance(found, Mapping) else ():
        if isinstance(facts, Mapping) and isinstance(count := facts.get("count"), int):
            said = facts.get("examples")
            examples = [FailureExample(subject="", message=shown.text(str(one))) for one in said or ()]
            yield FailureFacts(failure_class=str(name), count=count, examples=tuple(examples))
