"""Works out the repair of a kind of pages: fetches some, finds the fields, proves them on others."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agentic.core.actors import ActorError, Page
from agentic.core.http import HttpError
from agentic.core.pipeline.crawl.page import PageProcessor
from agentic.core.pipeline.drift.incidents import Cause, Incident
from agentic.core.pipeline.drift.sights import EMPTY, kind_of
from agentic.core.pipeline.repairs.proposals import Repair, RepairAbstention
from agentic.core.pipeline.repairs.requests import RepairRequest
from agentic.core.pipeline.repairs.store import RepairedStep, RepairStore
from agentic.core.pipeline.spec.spec import CrawlStep
from agentic.core.pipeline.spec.step_names import detail_place
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue

if TYPE_CHECKING:
    from agentic.core.pipeline.repairs.fields import Fault, LookedAtPage
    from agentic.core.wrappers import Abstained, Found

MOST_FETCHED = 12
"""Pages that are fetched for a repair."""

MOST_TRIED = 2 * MOST_FETCHED
"""Pages that are requested, at most: of a site that is down, each request may take minutes."""

MAX_TAGS = 50_000
"""A page with more tags is not used: the elements of a dozen of them would take gigabytes."""

MAKERS = 4
"""Of these, pages to find the fields on; the others prove them."""

PARTIAL_ROWS = 4
"""Of these, pages whose stored row lacks a field."""

MIN_PROVED = 4
"""With fewer pages, all are needed to find the fields, and none is left to prove them."""

MOST_OTHERS = 4
"""Of the pages that still have the former layout: new places must not change them."""

LOOKED_THROUGH = 200
SCHEMA = "schema"


@dataclass(frozen=True, slots=True)
class CrawlRepair:
    """Works out repairs for a crawl.

    Attributes:
        processor: Of the crawl step as it is in effect, with its references resolved.
        written: The step as it was written.
        in_effect: The step with accepted repairs.
        store: The stored repairs and rows.
    """

    processor: PageProcessor
    written: CrawlStep
    in_effect: RepairedStep
    store: RepairStore

    async def request(self, incident: Incident) -> RepairRequest:
        """Return the repairs of the fields of an incident, each found or not."""
        number = _rule_of(incident, self.written)
        rules = None if number is None else _schema(self.in_effect.step, number)
        if number is None or rules is None or not self.in_effect.place:
            reason = "only fields in the schema of extract_detail can be repaired; correct the rules by hand"
            return self._request(incident, [_abstained(incident.label, reason)])
        faults: Mapping[str, Fault] = {one.field: one.fault for one in incident.faults}
        pages, others = await self._pages(number, rules.keys(), faults)
        if not pages:
            reason = (
                "the site shows the pages as before again; continue with `agentic crawls release`"
                if others
                else "no page of the new layout could be fetched and searched; see `agentic crawls held`"
            )
            return self._request(incident, [_abstained(incident.label, reason)])
        return await self._of_fields(incident, number, rules, pages, others)

    def _request(self, incident: Incident, repairs: Sequence[Repair], checked: int = 0) -> RepairRequest:
        return RepairRequest(
            kind=incident.kind, why=incident.summary, repairs=tuple(repairs), checked=checked
        )

    async def _of_fields(
        self,
        incident: Incident,
        number: int,
        rules: Mapping[str, JSONValue],
        pages: Sequence[LookedAtPage],
        others: Sequence[LookedAtPage],
    ) -> RepairRequest:
        from agentic.core.pipeline.repairs.fields import broken_fields, find_places, repaired_rule
        from agentic.core.pipeline.repairs.proving import (
            Findings,
            Proof,
            harmed_fields,
            judged,
            proved_places,
        )

        broken = broken_fields(rules, pages, {one.field: one.fault for one in incident.faults})
        makers, provers = _parted(pages)
        learnt = await self.store.wrappers(self.processor.step.details[number])
        found = await in_thread(find_places, rules, makers, broken, learnt)
        proof = Proof(makers, provers, await self.store.expectation(incident.kind), broken.keys())
        readings = [await self._read_all(number, new, proof.pages) for new in _rules_by_place(rules, found)]
        places, doubts = proved_places(rules, found, readings, proof)
        is_part = incident.cause is Cause.VARIANT or bool(others)
        new = {
            name: repaired_rule(rules[name], kept, broken[name], is_part=is_part)
            for name, kept in places.items()
        }
        doubts |= harmed_fields(new, others, await self._read_all(number, new, others))
        reading = await self._read_all(number, new, proof.pages)
        place = (*self.in_effect.place, *detail_place(self.in_effect.step, number), "config", SCHEMA)
        repairs, checked = judged(rules, Findings(found, doubts, new), place, reading, proof)
        return self._request(incident, repairs, checked)

    async def _read_all(
        self, number: int, new: Mapping[str, JSONValue], pages: Sequence[LookedAtPage]
    ) -> list[Mapping[str, JSONValue] | None]:
        """Return the fields of pages, read with new rules for some of them."""
        step = with_rules(self.processor.step, number, new)
        processor = replace(self.processor, step=step, inputs={})
        found: list[Mapping[str, JSONValue] | None] = []
        for page in pages:
            found.append(await _read(processor, number, page.page))
            await asyncio.sleep(0)  # signs of life of other work
        return found

    async def _pages(
        self, number: int, fields: Collection[str], faults: Mapping[str, Fault]
    ) -> tuple[list[LookedAtPage], list[LookedAtPage]]:
        """Return pages of the new layout, and some that still have the former one.

        Some of them have a row without a value for one of the fields: a place that gives one there is wrong.
        """
        from agentic.core.pipeline.repairs.fields import shows_fault

        drifted = await self.store.drifted_pages(LOOKED_THROUGH)
        urls = [url for url in drifted.held if self.processor.scope.detail_of(url) == number]
        found: list[LookedAtPage] = []
        others: list[LookedAtPage] = []
        for url in pages_to_try(urls, await self.store.rows(urls), fields, drifted.suspects):
            if len(found) >= MOST_FETCHED or (page := await self._page(url, number)) is None:
                continue
            looked_at = replace(page, is_suspect=url in drifted.suspects)
            if shows_fault(looked_at, faults):
                found.append(looked_at)
            elif len(others) < MOST_OTHERS:
                others.append(looked_at)
        return found, others

    async def _page(self, url: str, number: int) -> LookedAtPage | None:
        """Return a page with its fields; None if it cannot be fetched, or something else is shown."""
        try:
            page = await self.processor.fetch(url)
        except (ActorError, HttpError, ValidationError):
            return None
        if not can_be_searched(page) or self.processor.scope.detail_of(page.final_url) != number:
            return None
        item = await _read(self.processor, number, page)
        if item is None or self.processor.watcher.wall_on(page, number, [item])[0] is not None:
            return None
        rows = await self.store.rows([page.final_url])
        from agentic.core.pipeline.repairs.fields import LookedAtPage, tree_of

        tree = await in_thread(tree_of, page)
        return LookedAtPage(page, item, rows.get(page.final_url, {}), tree)


async def _read(processor: PageProcessor, number: int, page: Page) -> Mapping[str, JSONValue] | None:
    """Return the fields of a page; None if they cannot be read."""
    try:
        items = await processor.read(number, page)
    except (ActorError, ValidationError):
        return None
    return items[0].fields if len(items) == 1 else None


def can_be_searched(page: Page) -> bool:
    """Return whether a page is HTML of a size that can be searched for fields."""
    return page.is_html and page.text.count("<") <= MAX_TAGS


def pages_to_try(
    held: Sequence[str],
    rows: Mapping[str, Mapping[str, JSONValue]],
    fields: Collection[str],
    suspects: Sequence[str],
) -> list[str]:
    """Return pages to fetch: those with whole rows, some whose rows lack a field, others, and the suspects.

    Args:
        held: Pages that wait.
        rows: Stored rows, by the address of their page.
        fields: Names of all fields.
        suspects: Pages that raised the alarm.
    """

    def count(url: str) -> int:
        row = rows.get(url, {})
        return sum(row.get(name) not in EMPTY for name in fields)

    whole = [url for url in held if count(url) == len(fields)]
    part = [url for url in held if 0 < count(url) < len(fields)]
    rest = [url for url in held if not count(url)]
    first = part[: max(PARTIAL_ROWS, MOST_FETCHED - len(whole))]
    chosen = [*whole[: MOST_FETCHED - len(first)], *first, *rest][:MOST_FETCHED]
    # Of a site that shows two layouts, half of the pages may still be as before.
    more = [url for url in (*whole, *part, *rest) if url not in chosen][: MOST_FETCHED // 2]
    return [*chosen, *more, *suspects][:MOST_TRIED]


def _parted(pages: Sequence[LookedAtPage]) -> tuple[Sequence[LookedAtPage], Sequence[LookedAtPage]]:
    """Return the pages to find places on, whose rows say most, and those to prove them on."""
    from agentic.core.pipeline.repairs.fields import most_telling

    ordered = most_telling(pages)
    count = min(MAKERS, len(pages) // 2) if len(pages) >= MIN_PROVED else len(pages)
    return ordered[:count], ordered[count:]


def _rules_by_place(
    rules: Mapping[str, JSONValue], found: Mapping[str, Found | Abstained]
) -> Iterator[Mapping[str, JSONValue]]:
    """Yield rules with the first place of each field alone, with the second, and so on."""
    from agentic.core.pipeline.repairs.fields import rule_at
    from agentic.core.wrappers import Found

    places = {name: one.locators for name, one in found.items() if isinstance(one, Found)}
    for index in range(max(map(len, places.values()), default=0)):
        yield {name: rule_at(rules[name], one[index]) for name, one in places.items() if index < len(one)}


def with_rules(step: CrawlStep, number: int, new: Mapping[str, JSONValue]) -> CrawlStep:
    """Return a crawl step with new rules for some fields of one rule of ``detail``."""
    details = [*step.details]
    rule = details[number]
    schema = {**(_schema(step, number) or {}), **new}
    details[number] = rule.model_copy(update={"config": {**rule.config, SCHEMA: schema}})
    return step.model_copy(
        update={"detail": tuple(details) if isinstance(step.detail, tuple) else details[0]}
    )


def _rule_of(incident: Incident, step: CrawlStep) -> int | None:
    """Return the number of the rule that reads the pages of an incident."""
    kinds = [kind_of(rule).key for rule in step.details]
    return kinds.index(incident.kind) if incident.kind in kinds else None


def _schema(step: CrawlStep, number: int) -> Mapping[str, JSONValue] | None:
    schema = step.details[number].config.get(SCHEMA)
    return schema if isinstance(schema, dict) else None


def _abstained(subject: str, reason: str) -> RepairAbstention:
    return RepairAbstention(kind="field", subject=subject, reason=reason)
