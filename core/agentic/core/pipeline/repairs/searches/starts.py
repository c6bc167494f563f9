"""The search for start pages that moved."""

from __future__ import annotations

from agentic.core.pipeline.repairs.lists import ListMatch
from agentic.core.pipeline.repairs.proposals import (
    ProposalEvidence,
    Repair,
    RepairAbstention,
    RepairProposal,
    SpecChange,
)
from agentic.core.pipeline.repairs.searches.site import SiteView, home_of
from agentic.core.pipeline.repairs.spec_parts import StartPart
from agentic.core.pipeline.repairs.start_pages import (
    StartFault,
    choose_record,
    choose_start,
    start_candidates,
    start_fault,
)
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue
from agentic.core.wrappers import PageTree

SHOWN = 3


async def find_start(
    site: SiteView, start: StartPart, why: str = ""
) -> tuple[Repair | None, PageTree | None]:
    """Return the repair of a start page, and the page that takes its place; neither if it works.

    Args:
        site: Its pages.
        start: The start page.
        why: Its fault, although it answers; empty if none is known.
    """
    if not why:
        fault = await _fault(site, start)
        if fault is None:
            return None, None
        why = fault.message
        if not fault.has_moved:
            return _unsure(start, why), None
    if "json" in start.readers:
        return _unsure(start, f"{why}; find its new address in the network panel of a browser"), None
    return await _found(site, start, why)


async def _found(site: SiteView, start: StartPart, why: str) -> tuple[Repair, PageTree | None]:
    """Return the page of the site that takes the place of a start page, or why it is unclear."""
    trees, urls = await _candidates(site, start)
    if not trees:
        return _unsure(start, f"{why}, and no page of the site has a name like it"), None
    rows = await site.rows()
    if "record" in start.readers:
        return _record(site, start, why, trees, urls)
    found = choose_start(trees, rows)
    if isinstance(found, str):
        return _unsure(start, f"{why}; {found}", urls), None
    tree, match = found
    evidence = match_evidence(tree, match, site)
    note = f"{safe_url(start.url)} {why}; the new page lists {len(match.rows)} stored rows"
    return _proposal(start, tree, note, evidence, (match.score, match.runner_up)), tree


async def _fault(site: SiteView, start: StartPart) -> StartFault | None:
    seen = await site.see(start.url)
    fault = start_fault(seen.sight)
    if fault is not None and fault.is_by_words and seen.tree is not None:
        return None if (await site.rows()).found_on(seen.tree) else fault
    if fault is None and seen.page is None:
        said = seen.fault or "more pages are broken than are looked at"
        return StartFault(f"cannot be read now; try it again later ({said})", has_moved=False)
    return fault


def match_evidence(tree: PageTree, match: ListMatch, site: SiteView) -> tuple[ProposalEvidence, ...]:
    """Return some items of a list with the addresses of their stored rows."""
    shown = list(match.rows.items())[:SHOWN]
    return tuple(
        ProposalEvidence(url=tree.url, old=site.stored[row].get("url"), new=tree.text(item)[:80])
        for item, row in shown
    )


async def _candidates(site: SiteView, start: StartPart) -> tuple[list[PageTree], list[str]]:
    home = await site.see(home_of(start.url))
    around = [home, *await site.row_pages()]
    trees = [seen.tree for seen in around if seen.tree is not None]
    row_urls = [seen.final_url for seen in around[1:] if seen.page is not None]
    row_urls += [str(row["url"]) for row in site.stored if row.get("url")]
    urls = start_candidates(start.url, trees, row_urls, await site.sitemap(start.url))
    found = [await site.see(url) for url in dict.fromkeys(urls)]
    pages = {
        seen.final_url: seen.tree for seen in found if seen.tree is not None and not start_fault(seen.sight)
    }
    return list(pages.values()), list(pages)


def _record(
    site: SiteView, start: StartPart, why: str, trees: list[PageTree], urls: list[str]
) -> tuple[Repair, PageTree | None]:
    row = next((row for row in site.stored if row.get("url") == start.url), None)
    if row is None:
        return _unsure(start, f"{why}, and no stored row has its address", urls), None
    found = choose_record(trees, row)
    if isinstance(found, str):
        return _unsure(start, f"{why}; {found}", urls), None
    tree, count = found
    texts: list[JSONValue] = [
        value for name, value in row.items() if name != "url" and isinstance(value, str)
    ]
    evidence = (ProposalEvidence(url=tree.url, old=texts[:SHOWN], new=texts[:SHOWN]),)
    note = f"{safe_url(start.url)} {why}; the new page has {count} stored values, one of them as its title"
    score = min(1.0, count / max(1, len(texts)))
    return _proposal(start, tree, note, evidence, (score, 0.0)), tree


def _proposal(
    start: StartPart,
    tree: PageTree,
    note: str,
    evidence: tuple[ProposalEvidence, ...],
    scores: tuple[float, float],
) -> RepairProposal:
    change = SpecChange(place=start.place, old=start.url, new=tree.url)
    return RepairProposal(
        kind="start_page",
        subject=start.subject,
        changes=(change,),
        score=scores[0],
        runner_up=scores[1],
        note=note,
        evidence=evidence,
    )


def _unsure(start: StartPart, why: str, urls: list[str] | None = None) -> RepairAbstention:
    return RepairAbstention(
        kind="start_page",
        subject=start.subject,
        reason=f"{safe_url(start.url)} {why}",
        choices=tuple(urls or ())[:10],
    )
