"""From words and pages to an intent: a model names the data and picks, a program writes the selectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from agentic.core.pipeline.offered import intent_of_offer
from agentic.core.pipeline.spec.intents import IntentSpec, ItemFilter
from agentic.core.pipeline.words.conversing import Conversation
from agentic.core.pipeline.words.errors import NothingFitsError
from agentic.core.pipeline.words.filtering import NotApplied, filters_of
from agentic.core.pipeline.words.picking import OfferedPlace, OfferedRecord, pick, places_in
from agentic.core.pipeline.words.wanted import WantedData, WantedField, infer_wanted
from agentic.core.types import JSONValue
from agentic.core.wrappers import Offer, OfferedField, OfferKind, PageTree, find_offers, globs_of

if TYPE_CHECKING:
    from agentic.core.llm.adapter import LLMAdapter

MAX_DETAIL_PAGES = 3
_LINKS = frozenset({"href", "src", "data-src"})
Items = Sequence[Mapping[str, JSONValue]]


class WordsSite(Protocol):
    """The pages of a site, for :func:`infer_intent`."""

    async def fetch(self, urls: Sequence[str]) -> Sequence[PageTree]:
        """Return pages in the order of their addresses."""
        ...

    async def read(self, intent: IntentSpec, urls: Sequence[str]) -> Items:
        """Return the items that a pipeline of an intent reads from fetched pages."""
        ...


@dataclass(frozen=True, slots=True)
class InferredIntent:
    """An intent that was made of words.

    Attributes:
        intent: Ready for a builder.
        record: A record in the words of the model.
        fields: The picked places by field.
        count: How many records the page has.
        not_applied: The conditions that the pipeline does not check.
        calls: Of the model.
        tokens: Of the model, in and out.
    """

    intent: IntentSpec
    record: str
    fields: Mapping[str, OfferedField]
    count: int
    not_applied: tuple[NotApplied, ...]
    calls: int
    tokens: int


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
        WordsError: The words are too long, the answers cannot be used, or a limit is reached.
        ModelError: The model did not reply.
    """
    talk = Conversation(model)
    wanted = await infer_wanted(talk, words)
    found = await _find(talk, wanted, urls, site)
    intent = _intent(found, urls[0], name)
    items = await site.read(intent, found.urls)
    if misread := _misread(found, items):
        found = replace(found, fields={**found.fields, **misread})
        intent = _intent(found, urls[0], name)
        items = await site.read(intent, found.urls)
    kinds = {name: one.type for name, one in found.fields.items()}
    filters, others = filters_of(wanted, kinds, items)
    filters, limit, more = _countable(wanted, filters, found.from_list or found.record)
    others = (*others, *more, *_unfollowed(intent, found.from_list))
    told = [f"Not applied: {one.words} ({one.reason})." for one in others]
    changed = {
        "filters": filters,
        "limit": limit,
        "goal": "\n".join([words, *told]),
        "allow_private_hosts": tuple(allow_private_hosts),
    }
    return InferredIntent(
        IntentSpec.model_validate({**dict(intent), **changed}),
        wanted.record,
        found.fields,
        (found.from_list or found.record).count,
        others,
        talk.calls,
        await talk.tokens(),
    )


async def _find(talk: Conversation, wanted: WantedData, urls: Sequence[str], site: WordsSite) -> _Found:
    """Return the picked record with all fields that the words name: on the page, or on those it leads to."""
    offers = find_offers(await site.fetch(urls))
    picks = await pick(talk, wanted, wanted.fields, [_offered(one) for one in offers])
    record = offers[picks.record]
    fields = _chosen(record, picks.places, wanted)
    if not _missing(fields, wanted):
        return _Found(fields, record, tuple(urls) if record.kind is OfferKind.PAGE else (urls[0],))
    if not record.links:
        raise _no_place(wanted, fields, record)
    links = record.links[:MAX_DETAIL_PAGES]
    own = [one for one in find_offers(await site.fetch(links)) if one.kind is OfferKind.PAGE]
    picks = await pick(talk, wanted, wanted.fields, [_offered(one) for one in own])
    fields = _chosen(own[picks.record], picks.places, wanted)
    if _missing(fields, wanted):
        raise _no_place(wanted, fields, own[picks.record])
    return _Found(fields, own[picks.record], links, record)


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
    return (NotApplied("the further pages of the list", "their addresses look like those of its records"),)


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
