"""The search for the items of a list page, and for the link to its next page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from agentic.core.pipeline.repairs.lists import (
    ListMatch,
    broken_selectors,
    find_item_fields,
    find_list,
    items_by,
    list_of,
    write_places,
)
from agentic.core.pipeline.repairs.paging import hint_of, is_next_page, write_next
from agentic.core.pipeline.repairs.proposals import (
    ProposalEvidence,
    Repair,
    RepairAbstention,
    RepairProposal,
    SpecChange,
)
from agentic.core.pipeline.repairs.searches.site import SiteView
from agentic.core.pipeline.repairs.searches.starts import find_start, match_evidence
from agentic.core.pipeline.repairs.spec_parts import Config, StepPart, single_places
from agentic.core.pipeline.repairs.stored_rows import KnownRows
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue
from agentic.core.wrappers import PageTree
from agentic.core.wrappers.building import next_link

REL_NEXT = 'a[rel~="next"][href], link[rel~="next"][href]'
"""As extract_list looks for the next page unless a selector is given."""

_MORE_THAN_A_VALUE = ("fields", "list", "alternatives")


async def find_list_repairs(site: SiteView, part: StepPart) -> list[Repair]:
    """Return the repairs of a list step and of its start page; none if both work."""
    start, tree = await find_start(site, part.start)
    if start is not None:
        return [start, *(await _on_page(site, part, tree) if tree is not None else [])]
    seen = await site.see(part.start.url)
    if seen.tree is None:
        reason = f"{safe_url(seen.final_url)} is not HTML; read it with the actor json"
        return [RepairAbstention(kind="list", subject=part.subject, reason=reason)]
    is_gone = not items_by(seen.tree, _selector(part)) and isinstance(
        find_list(seen.tree, await site.rows()), str
    )
    if is_gone and len(part.start.readers) == 1:  # for another step the page may be right
        start, tree = await find_start(site, part.start, "no longer shows the list")
        if start is not None and tree is not None:
            return [start, *await _on_page(site, part, tree)]
    return await _on_page(site, part, seen.tree)


async def _on_page(site: SiteView, part: StepPart, tree: PageTree) -> list[Repair]:
    """Return the repairs of a list step on its page."""
    rows, selector = await site.rows(), _selector(part)
    match = find_list(tree, rows)
    if items := items_by(tree, selector):
        if isinstance(match, ListMatch) and not list_of(tree, items, rows).rows:
            return [_other_list(part, tree, selector, match)]
        fields = await _field_repairs(site, part, tree, selector)
        return [*fields, *await _next_repairs(site, part, tree, selector)]
    if isinstance(match, str):
        reason = f"{selector!r} matches nothing on {safe_url(tree.url)}, and {match}"
        return [RepairAbstention(kind="list", subject=part.subject, reason=reason)]
    return await _list_repairs(site, part, tree, match)


def _selector(part: StepPart) -> str:
    return str(part.config.get("item_selector", ""))


def _other_list(part: StepPart, tree: PageTree, selector: str, match: ListMatch) -> RepairAbstention:
    """Return that a selector gives other elements than the list; perhaps they are right."""
    places = write_places(tree, match)
    reason = (
        f"the elements of {selector!r} on {safe_url(tree.url)} show no stored row, and another block shows "
        f"{len(match.rows)}; check which one is the list"
    )
    choices = (places.item_selector,) if places is not None else ()
    return RepairAbstention(
        kind="list", subject=part.subject, reason=reason, score=match.score, choices=choices
    )


async def _list_repairs(site: SiteView, part: StepPart, tree: PageTree, match: ListMatch) -> list[Repair]:
    other = await _next_page(site, tree, match.items)
    others = [other] if other is not None else []
    places = write_places(tree, match, others)
    if places is None:
        pages = "the first and the next page" if others else tree.url
        reason = f"a block of {tree.url} has the stored rows, but no selector gives its items on {pages}"
        return [RepairAbstention(kind="list", subject=part.subject, reason=reason, score=match.score)]
    changes = [_change(part, "item_selector", places.item_selector)]
    if places.link_selector != part.config.get("link_selector", "a[href]"):
        changes.append(_change(part, "link_selector", places.link_selector))
    checked = [(other, items) for other in others if (items := items_by(other, places.item_selector))]
    fields, unsure = _fields(part, tree, match, await site.rows(), checked)
    note = f"the list has {len(match.items)} items, {len(match.rows)} of them stored rows"
    note += "; the selector also gives items on the next page" if others else ""
    proposal = RepairProposal(
        kind="list",
        subject=part.subject,
        changes=(*changes, *fields),
        score=match.score,
        runner_up=match.runner_up,
        note=note,
        evidence=match_evidence(tree, match, site),
    )
    return [proposal, *unsure, *await _next_repairs(site, part, tree, places.item_selector)]


async def _field_repairs(site: SiteView, part: StepPart, tree: PageTree, selector: str) -> list[Repair]:
    """Return the repairs of the fields of items, where the selector of the items works."""
    rows = await site.rows()
    match = list_of(tree, items_by(tree, selector), rows)
    others = []
    if broken_selectors(tree, match, rows, _selectors(part), _attrs(part)):
        other = await _next_page(site, tree, match.items)
        if other is not None and (items := items_by(other, selector)):
            others.append((other, items))
    changes, unsure = _fields(part, tree, match, rows, others)
    if not changes:
        return list(unsure)
    proposal = RepairProposal(
        kind="list",
        subject=part.subject,
        changes=tuple(changes),
        score=match.score,
        note=f"{len(match.rows)} stored rows are on the page; some values stand elsewhere in their items",
        evidence=match_evidence(tree, match, site),
    )
    return [proposal, *unsure]


def _fields(
    part: StepPart,
    tree: PageTree,
    match: ListMatch,
    rows: KnownRows,
    others: Sequence[tuple[PageTree, Sequence[int]]],
) -> tuple[list[SpecChange], list[RepairAbstention]]:
    """Return the changes of the fields of items whose selectors give nothing, and those that are unsure."""
    selectors, attrs = _selectors(part), _attrs(part)
    broken = broken_selectors(tree, match, rows, selectors, attrs)
    wanted = {name: selectors[name] for name in broken}
    found = find_item_fields(tree, match, rows, wanted, others, attrs=attrs)
    rules = cast(Config, part.config.get("fields") or {})
    changes, unsure = [], []
    for name, choice in found.items():
        if isinstance(choice, str):
            unsure.append(RepairAbstention(kind="list", subject=f"{part.subject}.{name}", reason=choice))
            continue
        old = rules[name]
        place: Config = {"selector": choice.path, **({"attr": choice.attr} if choice.attr else {})}
        new: JSONValue = {**old, **place} if isinstance(old, dict) else choice.path
        changes.append(SpecChange(place=(*part.place, "fields", name), old=old, new=new))
    return changes, unsure


def _selectors(part: StepPart) -> dict[str, str]:
    return single_places(part.config.get("fields"), "selector", _MORE_THAN_A_VALUE)


def _attrs(part: StepPart) -> dict[str, str]:
    rules = cast(Config, part.config.get("fields") or {})
    return {
        name: str(rule["attr"]) for name, rule in rules.items() if isinstance(rule, dict) and rule.get("attr")
    }


async def _next_repairs(site: SiteView, part: StepPart, tree: PageTree, selector: str) -> list[Repair]:
    """Return the repair of the link to the next page; none if it works, or if only one page was wanted."""
    given = part.config.get("next_selector")
    if given is None and part.config.get("pages", 1) == 1:
        return []
    if tree.document.select_one(str(given or REL_NEXT)) is not None:
        return []
    items = items_by(tree, selector)
    second = await _next_page(site, tree, items)
    if second is None or not is_next_page(tree, second, selector):
        hint = hint_of(tree, items)
        if not hint and given is None:
            return []
        reason = hint or "no link leads to a next page with other items; the list may have one page now"
        return [_unsure_of_next(part, f"{str(given or REL_NEXT)!r} matches nothing, and {reason}")]
    found = write_next(tree, second, selector)
    if found is None:
        reason = f"{second.url} is the next page, but no selector of the link to it holds on both pages"
        return [_unsure_of_next(part, reason)]
    return [
        RepairProposal(
            kind="paging",
            subject=part.subject,
            changes=(_change(part, "next_selector", found),),
            score=1.0,
            note="the link leads to a page with other items of the list, and does not lead back on that page",
            evidence=(ProposalEvidence(url=tree.url, new=second.url),),
        )
    ]


async def _next_page(site: SiteView, tree: PageTree, items: Sequence[int]) -> PageTree | None:
    link = next_link(tree, items)
    return (await site.see(link[1])).tree if link is not None else None


def _unsure_of_next(part: StepPart, reason: str) -> RepairAbstention:
    return RepairAbstention(kind="paging", subject=part.subject, reason=reason)


def _change(part: StepPart, key: str, new: str) -> SpecChange:
    return SpecChange(place=(*part.place, key), old=part.config.get(key), new=new)
