"""Sentences about the borders of a crawl: pages left out, and sites that it moved to."""

from __future__ import annotations

from collections.abc import Iterator

from agentic.core.http.sessions.cookies import registered_domain
from agentic.core.pipeline.crawl.seeding import starts_of
from agentic.core.pipeline.crawl.store import FrontierCounts
from agentic.core.pipeline.spec.spec import CrawlStep
from agentic.core.settings import safe_url


def border_notes(step: CrawlStep, counts: FrontierCounts) -> Iterator[str]:
    """Yield a sentence for each limit that kept pages out of a crawl, and for each other site it moved to.

    Pages that a crawl from storage leaves as they are have sentences, too.

    Args:
        step: The crawl, its references resolved.
        counts: Its counts at the end.
    """
    if counts.unstored:
        yield (
            f"{_counted(counts.unstored, 'page')} left unchanged because nothing of it is stored that is as "
            "new as its row: set `store: {html: true}` and crawl again"
        )
    if counts.left and counts.is_offline:
        yield (
            f"{_counted(counts.left, 'known page')} not fetched because only stored pages were read again: "
            "repeat it with --failed, which fetches them and the failed pages"
        )
    elif left := counts.left - counts.held:
        yield (
            f"{_counted(left, 'known page')} left because of max_pages ({step.max_pages}): raise it, "
            "or set rules in follow"
        )
    if counts.beyond:
        yield (
            f"{_counted(counts.beyond, 'page')} left because of max_depth ({step.max_depth}): more links "
            "away from the start pages"
        )
    if counts.outside and step.follow.include and counts.total <= len(starts_of(step)):
        why = (
            "lead to other hosts or fit no rule of follow"
            if step.follow.same_host
            else "fit no rule of follow"
        )
        yield f"no link was followed: all {counts.outside} links of the pages {why}"
    for move in counts.moves:
        if registered_domain(move.start) != registered_domain(move.to):
            yield (
                f"the start page {safe_url(move.start)} leads to another site, {safe_url(move.to)}: its "
                "pages were crawled; if this is not intended, change start"
            )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun} was" if count == 1 else f"{count} {noun}s were"
