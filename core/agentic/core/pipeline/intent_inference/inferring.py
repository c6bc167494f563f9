"""From words and pages to an intent: a model names the data and picks, a program writes the selectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from agentic.core.errors import AgenticError, line_of
from agentic.core.logging import get_logger
from agentic.core.pipeline.intent_inference.conversing import Conversation
from agentic.core.pipeline.intent_inference.errors import FieldNotOnPageError, NothingFitsError
from agentic.core.pipeline.intent_inference.filtering import NotApplied, filters_of
from agentic.core.pipeline.intent_inference.picking import OfferedPlace, OfferedRecord, pick, places_in
from agentic.core.pipeline.intent_inference.wanted import WantedData, WantedField, infer_wanted
from agentic.core.pipeline.offered import intent_of_offer
from agentic.core.pipeline.spec.intents import IntentSpec, ItemFilter
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue
from agentic.core.wrappers import (
    Locator,
    LocatorKind,
    Offer,
    OfferedField,
    OfferKind,
    PageTree,
    find_offers,
    globs_of,
)
from agentic.core.wrappers.addresses import link_of

if TYPE_CHECKING:
    from agentic.core.llm.adapter import LLMAdapter

TRIED_PAGES = 3
"""Pages that a pipeline is tried on, where there are as many."""

MAX_ASKED = 5
"""Addresses that are asked for some pages, those that fail included."""

_LINKS = frozenset({"href", "src", "data-src"})
log = get_logger(__name__)

Items = Sequence[Mapping[str, JSONValue]]


class WordsSite(Protocol):
    """The pages of a site, for :func:`infer_intent`."""

    async def fetch(self, url: str) -> PageTree:
        """Return a page. Raises ``AgenticError`` if it cannot be fetched or read."""
        ...

    async def alike(self, url: str) -> Sequence[str]:
        """Return the addresses of pages that a page links to and that have its layout, itself first."""
        ...

    async def read(self, intent: IntentSpec, url: str) -> Items:
        """Return the items that a pipeline of an intent reads from a page that was fetched."""
        ...


@dataclass(frozen=True, slots=True)
class InferredIntent:
    """An intent that was made of words.

    Attributes:
        intent: Ready for a builder.
        record: A record in the words of the model.
        fields: The picked places by field.
        count: How many records the page has.
        checked: The pages that the pipeline was tried on, with the number of items read.
        values: Field -> how many of these items have it.
        not_applied: The conditions that the pipeline does not check.
        calls: Of the model.
        tokens: Of the model, in and out.
        cost_usd: Of the model; 0 if its price is not known.
    """

    intent: IntentSpec
    record: str
    fields: Mapping[str, OfferedField]
    count: int
    checked: Mapping[str, int]
    values: Mapping[str, int]
    not_applied: tuple[NotApplied, ...]
    calls: int
    tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class _Found:
    """The picked record: its list if it has one, and its fields on pages that were fetched."""

    fields: Mapping[str, OfferedField]
    record: Offer
    urls: tuple[str, ...]
    from_list: Offer | None = None


async def infer_intent(
    model: LLMAdapter,
    words: str,
    urls: Sequence[str],
    site: WordsSite,
    *,
    name: str = "pipeline",
    allow_private_hosts: Sequence[str] = (),
) -> InferredIntent:
    """Return the intent behind words about a page.

    The model is asked at most five times, for at most 30,000 tokens: for the wanted data, from the words
    alone; for the numbers of the places on the page; and if a list lacks fields, for those on the pages that
    it leads to. It writes no selector, and chooses no address.

    Args:
        model: The model.
        words: The data that a person wants.
        urls: The page, then others of its kind.
        site: Its pages.
        name: Of the pipeline.
        allow_private_hosts: Private hosts that the pipeline may ask.

    Raises:
        NothingFitsError: The pages offer no such record, or not all of its fields.
        FieldNotOnPageError: No record of a further page of the list has a field.
        WordsError: The words are too long, the answers cannot be used, or a limit is reached.
        ModelError: The model did not reply.
    """
    talk = Conversation(model)
    wanted = await infer_wanted(talk, words)
    found = await _find(talk, wanted, urls, site)
    found, read = await _tried(found, wanted, urls, site)
    items = [item for of_page in read.values() for item in of_page]
    intent = _intent(found, urls[0], name)
    filters, others = filters_of(wanted, {name: one.type for name, one in found.fields.items()}, items)
    filters, limit, more = _countable(wanted, filters, found.from_list or found.record)
    others = (*others, *more, *_unfollowed(intent, found.from_list))
    changed = {
        "filters": filters,
        "limit": limit,
        "goal": "\n".join([words, *(f"Not applied: {one.words} ({one.reason})." for one in others)]),
        "allow_private_hosts": tuple(allow_private_hosts),
    }
    spent = await talk.spent()
    return InferredIntent(
        intent=IntentSpec.model_validate({**dict(intent), **changed}),
        record=wanted.record,
        fields=found.fields,
        count=(found.from_list or found.record).count,
        checked={url: len(of_page) for url, of_page in read.items()},
        values={name: _count(name, items) for name in found.fields},
        not_applied=others,
        calls=talk.calls,
        tokens=spent.tokens,
        cost_usd=spent.usd,
    )


async def _tried(
    found: _Found, wanted: WantedData, urls: Sequence[str], site: WordsSite
) -> tuple[_Found, Mapping[str, Items]]:
    """Return the record with types that its texts have, and the items of each page.

    Raises:
        FieldNotOnPageError: No record of a further page of a list has a field that the words name.
    """
    read = await _read(found, urls, site)
    if misread := _misread(found, [item for items in read.values() for item in items]):
        found = replace(found, fields={**found.fields, **misread})
        read = await _read(found, urls, site)
    if found.record.items:  # a record of its own page may lack a field
        _check_lists(read, [one.name for one in wanted.fields if one.is_asked])
    return found, read


def _check_lists(read: Mapping[str, Items], fields: Sequence[str]) -> None:
    for url, items in read.items():
        for name in fields:
            if items and not _count(name, items):
                raise FieldNotOnPageError(name, url, next(iter(read)))


async def _read(found: _Found, urls: Sequence[str], site: WordsSite) -> Mapping[str, Items]:
    intent = _intent(found, urls[0], "pipeline")
    read = {url: await site.read(intent, url) for url in found.urls}
    return {url: items for url, items in read.items() if items}  # the last pages of a list may be empty


def _count(name: str, items: Items) -> int:
    return sum(not _is_empty(item.get(name)) for item in items)


async def _find(talk: Conversation, wanted: WantedData, urls: Sequence[str], site: WordsSite) -> _Found:
    """Return the picked record with all fields that the words name: on the page, or on those it leads to."""
    offers = find_offers([await site.fetch(url) for url in urls])
    picks = await pick(talk, wanted, wanted.fields, [_offered(one) for one in offers])
    record = offers[picks.record]
    fields = _chosen(record, picks.places, wanted)
    if not _missing(fields, wanted):
        return _Found(fields, record, await _pages_of(record, urls, site))
    if not record.links:
        raise _no_place(wanted, fields, record)
    pages = await _reached(record.links, TRIED_PAGES, site)
    own = [one for one in find_offers([*pages.values()]) if one.kind is OfferKind.PAGE] if pages else []
    if not own:
        raise _no_place(wanted, fields, record)
    picks = await pick(talk, wanted, wanted.fields, [_offered(one) for one in own])
    fields = _chosen(own[picks.record], picks.places, wanted)
    if _missing(fields, wanted):
        raise _no_place(wanted, fields, own[picks.record])
    return _Found(fields, own[picks.record], tuple(pages), record)


async def _reached(urls: Iterable[str], wanted: int, site: WordsSite) -> dict[str, PageTree]:
    """Return some of the pages, without pages that cannot be fetched."""
    found: dict[str, PageTree] = {}
    for url in islice(urls, MAX_ASKED):
        if len(found) == wanted:
            break
        try:
            found[url] = await site.fetch(url)
        except AgenticError as exc:
            log.info("page.skipped", url=safe_url(url), reason=line_of(exc))
    return found


async def _pages_of(record: Offer, urls: Sequence[str], site: WordsSite) -> tuple[str, ...]:
    """Return the given pages and others to try a pipeline on: like them, or further ones of a list's host."""
    if record.kind is OfferKind.PAGE:
        others = await site.alike(urls[0]) if len(urls) < TRIED_PAGES else ()
        return tuple(dict.fromkeys([*urls, *others]))[: max(TRIED_PAGES, len(urls))]
    found, host = list(urls), urlsplit(urls[0]).netloc
    further = list(record.paging.urls) if record.paging is not None else []
    while len(found) < TRIED_PAGES:
        own = [url for url in further if url not in found and urlsplit(url).netloc == host]
        pages = await _reached(own, TRIED_PAGES - len(found), site)
        found += pages
        further = [url for tree in pages.values() for url in _next_pages(record, tree)]
        if not pages:
            break
    return tuple(found)


def _next_pages(record: Offer, tree: PageTree) -> list[str]:
    if record.paging is None:
        return []
    links = Locator(LocatorKind.CSS, record.paging.selector).find(tree)
    return [url for number in links if (url := link_of(tree, number)) is not None]


def _offered(offer: Offer) -> OfferedRecord:
    places = (
        OfferedPlace(one.name, one.label, tuple(texts[0] for texts in one.texts if texts), one.attr in _LINKS)
        for one in offer.fields
    )
    return OfferedRecord(offer.title, offer.count, tuple(places))


def _chosen(offer: Offer, places: Mapping[str, int], wanted: WantedData) -> dict[str, OfferedField]:
    fields = {one.name: one for one in wanted.fields}
    return {name: _typed(fields[name], offer.fields[place]) for name, place in places.items()}


def _typed(field: WantedField, offered: OfferedField) -> OfferedField:
    """Return a place with the type of a wanted field; the address of a link stays one."""
    kind = "url" if offered.attr in _LINKS else field.type
    if field.type == "integer" and offered.type == "number":
        kind = "number"
    return replace(offered, name=field.name, type=kind)


def _missing(fields: Mapping[str, OfferedField], wanted: WantedData) -> list[str]:
    asked = [one.name for one in wanted.fields if one.is_asked]
    return [name for name in asked or [wanted.fields[0].name] if name not in fields]


def _no_place(wanted: WantedData, fields: Mapping[str, OfferedField], record: Offer) -> NothingFitsError:
    return NothingFitsError(wanted.record, _missing(fields, wanted), places_in(_offered(record)))


def _intent(found: _Found, url: str, name: str) -> IntentSpec:
    intent = intent_of_offer(found.record, found.fields, url=url, name=name)
    if found.from_list is None:
        return intent
    listed = found.from_list
    changed: dict[str, object] = {"kind": "list", "items": listed.items, "link": listed.link}
    if listed.paging is not None:
        details = () if listed.paging.kind == "next" else globs_of(listed.links, [url, *listed.paging.urls])
        is_followed = listed.paging.kind == "next" or bool(details)
        changed |= {"next": listed.paging.selector if is_followed else None, "details": details}
    return IntentSpec.model_validate({**dict(intent), **changed})


def _unfollowed(intent: IntentSpec, listed: Offer | None) -> tuple[NotApplied, ...]:
    if listed is None or listed.paging is None or intent.next is not None:
        return ()
    return (
        NotApplied("the further pages of the list", "their addresses look like the addresses of its records"),
    )


def _misread(found: _Found, items: Items) -> dict[str, OfferedField]:
    """Return the fields whose texts are not of the type that the words have for them, as texts."""
    return {
        name: replace(one, type="string")
        for name, one in found.fields.items()
        if one.type != "string" and items and all(_is_empty(item.get(name)) for item in items)
    }


def _is_empty(value: JSONValue) -> bool:
    return value in (None, "", []) or (isinstance(value, dict) and value.get("amount") is None)


def _countable(
    wanted: WantedData, filters: tuple[ItemFilter, ...], listed: Offer
) -> tuple[tuple[ItemFilter, ...], int | None, tuple[NotApplied, ...]]:
    """Return the filters and the limit that a pipeline can keep, and the words of the others."""
    if listed.paging is None or listed.paging.kind == "next":
        return filters, wanted.limit, ()
    reason = "the list has no link to its next page, and a crawl of its pages stores each item"
    words = [one.words for one in wanted.filters if any(one.field == kept.field for kept in filters)]
    words += [f"at most {wanted.limit}"] if wanted.limit else []
    return (), None, tuple(NotApplied(one, reason) for one in words)
