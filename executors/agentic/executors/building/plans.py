"""From pages and example rows to the intent of a pipeline, and the pages it was checked on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from agentic.core.errors import AgenticError
from agentic.core.http import canonical_url
from agentic.executors.building.examples_file import ExampleRow, as_rows
from agentic.executors.building.faults import (
    equal_examples,
    no_page_of_row,
    no_place,
    not_one_kind,
    not_one_record,
    not_rows,
    unsure_fields,
    warnings_of,
)
from agentic.executors.building.looks import Looks
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from agentic.core.pipeline import IntentSpec
    from agentic.core.types import JSONValue
    from agentic.core.wrappers import BuiltField, Locator, Offer, OfferedField, PageTree
    from agentic.core.wrappers.building import FoundRows

PAGES = 3
"""Pages that fields are checked on, if the site has them."""

_ROWS = 3
"""Fewer elements that look alike are parts of a record as often as rows."""

MAX_EXAMPLE_PAGES = 6
SAME_LAYOUT = 0.5
PlanKind = Literal["page", "rows", "details"]


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """The request of a user.

    Attributes:
        url: The page to build from.
        examples: Rows of values.
        pages: Further pages of the same kind.
        name: Of the pipeline.
        hosts: Private hosts that may be asked.
        is_list: Whether the values are of rows in a list; None: as the page shows.
    """

    url: str
    examples: Sequence[ExampleRow]
    pages: Sequence[str] = ()
    name: str = "pipeline"
    hosts: Sequence[str] = ()
    is_list: bool | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A pipeline to be, and how it was found.

    Attributes:
        kind: Fields of a page, rows of a list, or fields of the pages that a list leads to.
        intent: Of the pipeline.
        locators: Field -> its places.
        urls: Pages that it is checked on.
        fields: What examples found, of fields of a page.
        notes: Sentences for the user.
        warnings: Sentences on fields that may be wrong.
    """

    kind: PlanKind
    intent: IntentSpec
    locators: Mapping[str, Sequence[Locator]]
    urls: Sequence[str]
    fields: Mapping[str, BuiltField]
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()


async def plan_by_examples(asked: BuildRequest, looks: Looks) -> Plan:
    """Return a plan for the fields whose values were given.

    Raises:
        OptionError: A value is not on its page, or no list leads to the pages of the examples.
    """
    here = [row for row in asked.examples if not row.url or _same(row.url, asked.url)]
    away = [row for row in asked.examples if row not in here]
    if away and not here and asked.is_list is not False:
        return await _details(asked, looks, away)
    _check_kind(asked, len(here), len(away))
    rows = [one for row in here for one in as_rows(row) or ()] if len(here) == 1 else here
    found, is_list = None, False
    if not away and asked.is_list is not False and (asked.is_list or not asked.pages or len(here) > 1):
        found, is_list = await _rows_found(asked, looks, rows or here)
    if found is not None and is_list:
        return await _rows(asked, looks, found, rows or here)
    if asked.is_list or len(here) > 1:
        raise not_rows(rows or here, await looks.tree(asked.url), found)
    try:
        plan = await _page(asked, looks, [*here, *away])
    except OptionError:
        if len(rows) > 1 and found is not None:
            raise not_rows(rows, await looks.tree(asked.url), found) from None
        raise
    if found is None:
        return plan
    if found.missing:
        apart = f"read as one record, but its values are in several rows of a list of {found.offer.count}"
        said = f"{apart}: give values that stand in one row, and --rows reads all of them"
        is_apart = _is_of_rows(plan, await looks.tree(asked.url), found)
        return replace(plan, warnings=[*plan.warnings, said]) if is_apart else plan
    said = f"read as one record; the values are also in a list of {found.offer.count}: --rows reads its rows"
    if _is_of_rows(plan, await looks.tree(asked.url), found):
        return replace(plan, warnings=[*plan.warnings, said])
    return replace(plan, notes=[*plan.notes, said])


async def plan_of_offer(
    asked: BuildRequest, looks: Looks, offer: Offer, fields: Mapping[str, OfferedField]
) -> Plan:
    """Return a plan for chosen fields of an offer."""
    from agentic.core.pipeline import intent_of_offer

    intent = intent_of_offer(offer, fields, url=asked.url, name=asked.name, allow_private_hosts=asked.hosts)
    locators = {name: one.locators for name, one in fields.items()}
    if offer.items:
        trees = await _further(asked.url, offer, looks)
        urls = [tree.url for tree in trees]
        return Plan("rows", intent, locators, urls, {}, _row_notes(offer, fields))
    trees = await alike(asked.url, looks)
    return Plan("page", intent, locators, [tree.url for tree in trees], {})


# The kinds of plans.


async def _page(asked: BuildRequest, looks: Looks, rows: Sequence[ExampleRow]) -> Plan:
    from agentic.core.pipeline import IntentSpec

    first = [asked.url, *(row.url for row in rows if row.url and not _same(row.url, asked.url))]
    urls = list(dict.fromkeys([*first[:MAX_EXAMPLE_PAGES], *asked.pages]))
    trees = [await looks.tree(url) for url in urls]
    if len(trees) < PAGES:
        trees += [one for one in await alike(asked.url, looks) if one.url not in {tree.url for tree in trees}]
    examples = [_values_on(url, asked.url, rows) for url in urls]
    fields = _built(trees, examples)
    intent = IntentSpec(
        kind="page",
        name=asked.name,
        url=asked.url,
        fields=_rules(fields),
        browser="never",
        allow_private_hosts=tuple(asked.hosts),
    )
    shown = [*urls, *(tree.url for tree in trees[len(urls) :])]
    return Plan("page", intent, _places(fields), shown, fields, (), warnings_of(fields, shown, examples))


async def _details(asked: BuildRequest, looks: Looks, rows: Sequence[ExampleRow]) -> Plan:
    """Return a plan for the pages that a list leads to; the examples are of some of these pages."""
    from agentic.core.wrappers import find_offers
    from agentic.core.wrappers.building import find_rows
    from agentic.core.wrappers.selecting import SelectorIndex

    tree = await looks.tree(asked.url)
    index = SelectorIndex(tree)
    linked = [{"link": row.url} for row in rows]
    found = None
    for some in (linked, *([one] for one in linked)):
        found = find_rows(index, some)
        if found is not None:
            break
    if found is not None:
        link = found.offer.fields[0]
        links = tuple(text for row in link.texts for text in row)
        offer = replace(found.offer, link=link.locators[0].path, links=links)
    else:
        likely = [one for one in find_offers([tree]) if one.links and _lead_alike(one.links, rows)]
        if not likely:
            raise OptionError(
                f"no list on {asked.url} leads to {rows[0].url} or a page like it; give the list that does, "
                "or only --examples to read pages without a list"
            )
        offer = likely[0]
    return await _followed(asked, looks, tree, offer, rows)


async def _followed(
    asked: BuildRequest, looks: Looks, tree: PageTree, offer: Offer, rows: Sequence[ExampleRow]
) -> Plan:
    from agentic.core.pipeline import IntentSpec
    from agentic.core.wrappers import globs_of
    from agentic.core.wrappers.building import find_paging
    from agentic.core.wrappers.selecting import SelectorIndex

    urls = list(dict.fromkeys(row.url for row in rows))[:MAX_EXAMPLE_PAGES]
    trees = [await looks.tree(url) for url in urls]
    others = [url for url in offer.links if url not in urls]
    more = await looks.likely_trees(others, max(0, PAGES - len(trees)))
    examples = [_values_on(url, "", rows) for url in urls]
    fields = _built([*trees, *more], examples)
    paging = find_paging(SelectorIndex(tree), offer.rows)
    not_details = [asked.url, *(paging.urls if paging is not None else ())]
    intent = IntentSpec(
        kind="list",
        name=asked.name,
        url=asked.url,
        items=offer.items,
        link=offer.link or None,
        next=paging.selector if paging is not None else None,
        details=globs_of([*offer.links, *urls], not_details),
        fields=_rules(fields),
        browser="never",
        allow_private_hosts=tuple(asked.hosts),
    )
    notes = [f"{offer.count} links on {asked.url} lead to the pages", _paging_note(paging is not None)]
    shown = [*urls, *(one.url for one in more)]
    warnings = warnings_of(fields, shown, examples)
    return Plan("details", intent, _places(fields), shown, fields, notes, warnings)


async def _rows_found(
    asked: BuildRequest, looks: Looks, rows: Sequence[ExampleRow]
) -> tuple[FoundRows | None, bool]:
    """Return the list whose rows hold the examples, and whether it is the one to build."""
    from agentic.core.wrappers.building import are_rows, find_rows
    from agentic.core.wrappers.selecting import SelectorIndex

    index = SelectorIndex(await looks.tree(asked.url))
    values = [{name: value for name, value in row.values.items() if value} for row in rows]
    found = find_rows(index, values)
    if found is None or (found.missing and not found.offer.link):
        return found, False
    return found, asked.is_list or are_rows(found, index, values)


async def _rows(asked: BuildRequest, looks: Looks, found: FoundRows, rows: Sequence[ExampleRow]) -> Plan:
    from agentic.core.pipeline import intent_of_offer
    from agentic.core.wrappers.building import find_paging, link_in_row
    from agentic.core.wrappers.selecting import SelectorIndex

    tree = await looks.tree(asked.url)
    if found.missing:  # they may be on the page of the row
        pages = [link_in_row(tree, found.offer, place) for place in found.places]
        away = [ExampleRow(url, row.values) for url, row in zip(pages, rows, strict=True) if url]
        if not away:
            raise no_page_of_row(rows, found, None)
        try:
            await looks.tree(away[0].url)
        except AgenticError as exc:
            raise no_page_of_row(rows, found, exc) from exc
        return await _followed(asked, looks, tree, found.offer, away)
    offer = replace(found.offer, paging=find_paging(SelectorIndex(tree), found.offer.rows))
    fields = {one.name: one for one in offer.fields}
    intent = intent_of_offer(offer, fields, url=asked.url, name=asked.name, allow_private_hosts=asked.hosts)
    trees = await _further(asked.url, offer, looks)
    locators = {name: one.locators for name, one in fields.items()}
    urls = list(dict.fromkeys([asked.url, *(tree.url for tree in trees[1:]), *asked.pages]))
    warnings = [*unsure_fields(offer.fields), *equal_examples([row.values for row in rows])]
    return Plan("rows", intent, locators, urls, {}, _row_notes(offer, fields), warnings)


# Their parts.


def _check_kind(asked: BuildRequest, here: int, away: int) -> None:
    """Check that the examples are of one record, or of one list and no other pages."""
    if here > 1 and asked.is_list is False:
        raise not_one_record(asked.url, here)
    if away and (here > 1 or asked.is_list):
        raise not_one_kind(asked.url)


def _built(
    trees: Sequence[PageTree], examples: Sequence[Mapping[str, str | list[str]]]
) -> dict[str, BuiltField]:
    from agentic.core.wrappers import find_examples

    found = find_examples(trees, examples)
    fields = {name: field for name, field in found.items() if field is not None}
    if missing := [name for name in found if name not in fields]:
        name = missing[0]
        place = next(number for number, row in enumerate(examples) if row.get(name))
        counts = {len(value) for value in examples[place].values() if not isinstance(value, str)}
        raise no_place(
            name,
            examples[place][name],
            trees[place],
            has_others=len(trees) > 1,
            is_uneven=len(counts) > 1 or len(examples[place]) > 1,
        )
    return fields


def _is_of_rows(plan: Plan, tree: PageTree, found: FoundRows) -> bool:
    """Return whether the places of a record are in rows of a list: without labels, in three rows or more."""
    from agentic.core.wrappers import LocatorKind
    from agentic.core.wrappers.building import COUNTED_TEXT

    inside = {number for row in found.offer.rows for number in range(row, tree.ends[row])}
    first = [there[0] for there in plan.locators.values()]
    outer = [replace(one, path=one.path.partition(COUNTED_TEXT)[0]) for one in first]
    is_unlabelled = all(one.kind is LocatorKind.CSS or COUNTED_TEXT in one.path for one in first)
    is_inside = is_unlabelled and all(inside.issuperset(one.find(tree)) for one in outer)
    return len(found.offer.rows) >= _ROWS and is_inside


def _values_on(url: str, start: str, rows: Sequence[ExampleRow]) -> dict[str, str | list[str]]:
    for row in rows:
        if _same(row.url or start, url):
            return dict(row.values)
    return {}


def _rules(fields: Mapping[str, BuiltField]) -> dict[str, JSONValue]:
    from agentic.core.wrappers import rule_of

    return {
        name: rule_of(one.locators, is_list=one.is_list, attr=one.attr, kind=one.type, regex=one.regex)
        for name, one in fields.items()
    }


def _places(fields: Mapping[str, BuiltField]) -> dict[str, Sequence[Locator]]:
    return {name: one.locators for name, one in fields.items()}


def _row_notes(offer: Offer, fields: Mapping[str, OfferedField]) -> list[str]:
    from agentic.core.pipeline import key_of_rows

    notes = [f"{offer.count} rows on the first page", _paging_note(offer.paging is not None)]
    if key_of_rows(offer, fields) is None:
        notes.append("no field differs in all rows: rows with the same key become one; add a field that does")
    return notes


def _paging_note(is_paged: bool) -> str:
    return "links to further pages are followed" if is_paged else "no link to a further page was found"


async def _further(url: str, offer: Offer, looks: Looks) -> list[PageTree]:
    """Return a list page and up to two of its further pages."""
    from agentic.core.wrappers.building import find_paging
    from agentic.core.wrappers.selecting import SelectorIndex

    trees = [await looks.tree(url)]
    paging, seen = offer.paging, {canonical_url(url)}
    while paging is not None and len(trees) < PAGES:
        fresh = [one for one in paging.urls if canonical_url(one) not in seen]
        more = await looks.likely_trees(fresh[:1], 1)
        if not more:
            break
        seen |= {canonical_url(fresh[0]), canonical_url(more[0].url)}
        if more[0].text(0) != trees[0].text(0):  # `?page=1` is often the first page again
            trees += more
        paging = find_paging(SelectorIndex(more[0]))
    return trees


async def alike(url: str, looks: Looks) -> list[PageTree]:
    """Return the page and up to two pages that it links to and that have its layout."""
    from agentic.core.wrappers.building import links_of_kind

    first = await looks.tree(url)
    likely = await looks.likely_trees(links_of_kind(first)[: 2 * PAGES], PAGES)
    return [first, *(tree for tree in likely if _overlap(first, tree) >= SAME_LAYOUT)][:PAGES]


def _overlap(one: PageTree, other: PageTree) -> float:
    """Return the share of names and classes that two pages have in common."""
    a, b = set(one.frequencies), set(other.frequencies)
    mine = {*one.tags, *a}
    others = {*other.tags, *b}
    return len(mine & others) / max(1, len(mine | others))


def _lead_alike(links: Sequence[str], rows: Sequence[ExampleRow]) -> bool:
    """Return whether links lead to pages whose addresses are like the addresses of the examples."""
    from agentic.core.wrappers import globs_of

    return globs_of(links) == globs_of([*links, *(row.url for row in rows)])


def _same(one: str, other: str) -> bool:
    return canonical_url(one) == canonical_url(other)
