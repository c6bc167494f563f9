"""The search for the addresses of pages that a crawl no longer reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from agentic.core.pipeline.crawl.follow import fits_page
from agentic.core.pipeline.repairs.proposals import (
    ProposalEvidence,
    Repair,
    RepairAbstention,
    RepairProposal,
    SpecChange,
)
from agentic.core.pipeline.repairs.searches.site import SeenPage, SiteView, home_of
from agentic.core.pipeline.repairs.spec_parts import Config, CrawlPart, StartPart
from agentic.core.pipeline.repairs.stored_rows import MIN_TELLING, is_beside, links_of
from agentic.core.types import JSONValue
from agentic.core.wrappers.building import globs_of
from agentic.core.wrappers.words import plain

MIN_MOVED = 2
MAX_CHECKED = 3
DEAD = "links to no page that the crawl reads or follows"
"""The fault of a start page that answers; the end of a sentence that begins with its address."""

Moved = Mapping[str, str]
"""Address of a stored row -> its address now."""


async def find_crawl_repairs(site: SiteView, part: CrawlPart) -> list[Repair]:
    """Return the repair of the globs of a crawl; none if its rows are still read.

    Rows have moved if their pages redirect, or if a start page links to other addresses with their titles.
    The new globs are added, and the old ones stay.
    """
    rules = list(_rules(part))
    patterns = [glob for _, globs in rules for glob in globs]
    moved = {old: new for old, new in (await _moved(site, part)).items() if not fits_page(new, patterns)}
    for keys, globs in rules:
        ours = {old: new for old, new in moved.items() if fits_page(old, globs)}
        if len(ours) < MIN_MOVED:
            continue
        if new := globs_of(list(ours.values()), await _others(site, part)):
            return [_proposal(part, keys, globs, new, ours)]
        urls = tuple(ours.values())
        reason = (
            f"{len(ours)} stored rows are at other addresses now, and no glob fits them and no other page"
        )
        return [RepairAbstention(kind="start_page", subject=part.subject, reason=reason, choices=urls)]
    return []


async def dead_starts(site: SiteView, part: CrawlPart) -> list[StartPart]:
    """Return the start pages that answer, but link to no page that the crawl reads or follows."""
    follow = part.config.get("follow")
    include = _texts(follow.get("include")) if isinstance(follow, dict) else []
    if not include:  # all links are followed
        return []
    patterns = [*include, *(glob for _, globs in _rules(part) for glob in globs)]
    found = []
    for start in part.starts:
        seen = await site.see(start.url)
        tree = seen.tree
        if tree is not None and not any(
            fits_page(url, patterns) for _, url in links_of(tree) if url not in (start.url, seen.final_url)
        ):
            found.append(start)
    return found


def _proposal(
    part: CrawlPart, keys: tuple[str | int, ...], globs: Sequence[str], new: Sequence[str], ours: Moved
) -> RepairProposal:
    changes = [_change(part.config, part.place, (*keys, "match"), [*globs, *new])]
    follow = part.config.get("follow")
    include = _texts(follow.get("include")) if isinstance(follow, dict) else []
    if include and not all(fits_page(url, include) for url in ours.values()):
        changes.append(_change(part.config, part.place, ("follow", "include"), [*include, *new]))
    evidence = tuple(
        ProposalEvidence(url=after, old=before, new=after)
        for before, after in list(ours.items())[:MAX_CHECKED]
    )
    return RepairProposal(
        kind="start_page",
        subject=part.subject,
        changes=tuple(changes),
        score=1.0,
        note=f"{len(ours)} stored rows are at other addresses now, which the crawl does not read",
        evidence=evidence,
    )


async def _others(site: SiteView, part: CrawlPart) -> list[str]:
    """Return addresses that no glob of rows may fit: the start pages, the home page, and links in menus."""
    found = []
    for start in part.starts[:1]:
        seen = await site.see(start.url)
        found += [seen.final_url, home_of(seen.final_url)]
        if (tree := seen.tree) is not None:
            found += [url for number, url in links_of(tree) if is_beside(tree, number)]
    return found


async def _moved(site: SiteView, part: CrawlPart) -> Moved:
    """Return the rows that have another address now, where that was seen on their pages."""
    rows = await site.rows()
    pages = [seen for seen in await site.row_pages() if rows.by_url(seen.url) is not None]
    found = {seen.url: seen.final_url for seen in pages if _shows(site, seen, seen.url)}
    for start in part.starts[:1]:
        tree = (await site.see(start.url)).tree
        links = list(links_of(tree)) if tree is not None else []
        for number, url in links:
            row = rows.by_text(tree.text(number)) if tree is not None else None
            old = str(rows.rows[row].get("url")) if row is not None else ""
            if old in found or rows.by_url(old) != row or rows.by_url(url) == row:
                continue
            if row is not None and len(found) < MAX_CHECKED:
                seen = await site.see(url)
                if _shows(site, seen, old):
                    found[old] = seen.final_url
    return {old: new for old, new in found.items() if old != new}


def _shows(site: SiteView, seen: SeenPage, url: str) -> bool:
    """Return whether a page belongs to a stored row: a text of the row is in its title."""
    row = next((row for row in site.stored if row.get("url") == url), {})
    texts = [plain(value) for name, value in row.items() if name != "url" and isinstance(value, str)]
    return seen.tree is not None and any(
        len(text) >= MIN_TELLING and text in seen.tree.title for text in texts
    )


def _rules(part: CrawlPart) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    """Yield the place of each rule of ``detail`` within the step, and its globs."""
    detail = part.config.get("detail")
    if isinstance(detail, dict):
        yield ("detail",), _texts(detail.get("match"))
    for at, rule in enumerate(detail if isinstance(detail, list) else []):
        if isinstance(rule, dict):
            yield ("detail", at), _texts(rule.get("match"))


def _texts(value: JSONValue) -> list[str]:
    """Return one text or several; none if some are known in a run only."""
    given = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [] if "${" in str(given) else [one for one in given if isinstance(one, str)]


def _change(
    step: Config, place: tuple[str | int, ...], keys: tuple[str | int, ...], new: Sequence[str]
) -> SpecChange:
    old: JSONValue = cast(JSONValue, step)
    for key in keys:
        old = cast(dict[str | int, JSONValue], old)[key]
    return SpecChange(place=(*place, *keys), old=old, new=[*new])
