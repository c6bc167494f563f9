"""Results of an agent's run: pages, links and failures, from the outputs of its actors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from agentic.core.errors import AgenticError
from agentic.core.pipeline import PipelineResult
from agentic.core.types import JSONValue

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The results.

    Attributes:
        pages: Records from :func:`~agentic.plugins.firecrawl.documents.record_of`.
        links: URLs with their data from a map or a search, in the order of the answer.
        failed: A sentence for each failed page.
        robots_blocked: Pages that robots.txt forbids.
        credits: Spent credits, if the service reports them; None for a map or a search.
    """

    pages: tuple[Item, ...] = ()
    links: tuple[Item, ...] = ()
    failed: tuple[str, ...] = ()
    robots_blocked: tuple[str, ...] = ()
    credits: int | None = None

    def summary(self) -> dict[str, object]:
        """Return the counts, for the summary of the result."""
        counts: dict[str, object] = {
            "pages": len(self.pages),
            "links": len(self.links),
            "failed": len(self.failed),
            "robots_blocked": len(self.robots_blocked),
        }
        return counts if self.credits is None else {**counts, "credits": self.credits}


class NothingFoundError(AgenticError):
    """Every single page failed."""

    def __init__(self, failed: tuple[str, ...]) -> None:
        what = "no result" if len(failed) == 1 else f"no result of {len(failed)}; the first"
        super().__init__(f"{what}: {failed[0]}")
        self.failed = failed


def found_in(result: PipelineResult) -> Found:
    """Return the results of a pipeline of :class:`FirecrawlAgentSettings`."""
    gave_up = tuple(_sentence(one.item, one.failure_class, one.message) for one in result.failed_items)
    if result.pipeline == "firecrawl_scrape":
        return _scraped(result.items, gave_up)
    if not result.items:  # the one step failed, and error_handling continues without it
        return Found(failed=gave_up)
    (answer,) = result.items
    match result.pipeline:
        case "firecrawl_crawl":
            return _crawled(answer)
        case "firecrawl_map":
            return Found(links=tuple(_items(answer, "listed")))
        case _:
            results = tuple(_items(answer, "items"))
            return Found(links=results, pages=tuple(one for one in results if "metadata" in one))


def _scraped(pages: tuple[Item, ...], failed: tuple[str, ...]) -> Found:
    told = [page["metadata"].get("credits_used") for page in pages]
    return Found(pages=pages, failed=failed, credits=sum(one for one in told if isinstance(one, int)))


def _crawled(answer: Item) -> Found:
    failed = (_sentence(one["url"], one["failure_class"], one["message"]) for one in _items(answer, "failed"))
    return Found(
        pages=tuple(_items(answer, "items")),
        failed=tuple(failed),
        robots_blocked=tuple(map(str, answer["robots_blocked"])),
        credits=int(answer["counts"]["credits"]),
    )


def _items(answer: Item, name: Literal["items", "failed", "listed"]) -> Iterator[Item]:
    yield from cast("Iterable[Item]", answer[name])


def _sentence(url: JSONValue, failure_class: str, message: str) -> str:
    """Describe a failure; a failure of more than one page has no ``url``."""
    return message if url is None or str(url) in message else f"{url} ({failure_class}): {message}"
