"""From the records that a page offers to an intent: the pipeline that reads the chosen fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agentic.core.pipeline.spec.intents import IntentSpec

if TYPE_CHECKING:  # a check of a pipeline looks at no pages
    from agentic.core.wrappers import Offer, OfferedField

URL = "url"


def intent_of_offer(
    offer: Offer,
    fields: Mapping[str, OfferedField],
    *,
    url: str,
    name: str,
    goal: str = "",
    allow_private_hosts: Sequence[str] = (),
) -> IntentSpec:
    """Return the intent to read the chosen fields of an offer, from all pages of its list.

    Args:
        offer: As from :func:`~agentic.core.wrappers.find_offers`.
        fields: Name -> field of the offer.
        url: The page with the offer.
        name: Of the pipeline.
        goal: In the user's own words.
        allow_private_hosts: Private hosts that the pipeline may ask.

    Raises:
        ValidationError: ``name`` is not a name for a pipeline.
    """
    from agentic.core.wrappers import rule_of

    rules = {
        field: rule_of(one.locators, is_list=one.is_list, attr=one.attr, kind=one.type, regex=one.regex)
        for field, one in fields.items()
    }
    is_page = not offer.items
    return IntentSpec(
        kind="page" if is_page else "rows",
        name=name,
        goal=goal,
        url=url,
        items=offer.items or None,
        link=offer.link or None,
        reaches_next=offer.reaches_next,
        next=offer.paging.selector if offer.paging is not None else None,
        fields=rules,
        key=URL if is_page else key_of_rows(offer, fields) or URL,
        browser="never",
        allow_private_hosts=tuple(allow_private_hosts),
    )


def key_of_rows(offer: Offer, fields: Mapping[str, OfferedField]) -> str | None:
    """Return the field that identifies the rows of an offer: their link, or the first that can."""
    count = max((len(one.texts) for one in fields.values()), default=0)
    if len(set(offer.links)) == count:
        return URL
    for name, one in fields.items():
        texts = [row for row in one.texts if row and row[0]]
        if len(texts) == count and len(set(texts)) == count and not one.is_list:
            return name
    return None
