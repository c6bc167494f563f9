"""Places of a field in the data of pages: JSON-LD, ``<meta>`` and the JSON of scripts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice

from agentic.core.wrappers.locators import Locator, LocatorKind
from agentic.core.wrappers.ranking import PageFacts
from agentic.core.wrappers.values import Kind, agreement, is_telling
from agentic.core.wrappers.words import plain, words_of
from agentic.core.wrappers.wrapper import Wrapper

MAX_PLACES = 2
MIN_CHARS = 4


def holding_places(wrapper: Wrapper, pages: Sequence[PageFacts]) -> list[Locator]:
    """Return the places that hold the stored value on each page with a row, if chance cannot explain it.

    ``<meta>`` is left out: its texts are for previews of links, often cut or decorated.
    Chance is out if two pages have different values, the value is long, or it is a text of some letters at a
    place with a name of the field. A number on one page proves nothing: ``bestRating`` is often 5, too.
    """
    stored = [(page, known) for page in pages if (known := page.row.get(wrapper.name)) is not None]
    if wrapper.is_list or not stored:
        return []

    def agreed(locator: Locator) -> list[float]:
        return [
            agreement(wrapper.kind, page.texts_at(locator, is_list=False), known) for page, known in stored
        ]

    is_sure = len({plain(str(known)) for _, known in stored}) > 1
    is_sure = is_sure or any(is_telling(known, 1.0, wrapper.kind) for _, known in stored)
    is_address = wrapper.kind is Kind.ADDRESS  # that of an image is whole there
    places = (one for one in pages[0].data if is_address or one.kind is not LocatorKind.META)
    is_text = not wrapper.kind.is_amount and all(len(plain(str(known))) >= MIN_CHARS for _, known in stored)
    found = (one for one in places if is_sure or (is_text and _is_named(one, wrapper)))
    return _last_first([one for one in found if min(agreed(one)) == 1.0], wrapper)


def equal_places(texts: Sequence[str], pages: Sequence[PageFacts]) -> list[Locator]:
    """Return up to two places that hold the same text as the elements of a field on each page."""
    wanted = [plain(text) for text in texts]
    if not all(wanted):
        return []

    def is_equal(locator: Locator) -> bool:
        there = zip(pages[1:], wanted[1:], strict=True)
        return all([*map(plain, page.texts_at(locator, is_list=False))] == [text] for page, text in there)

    return [*islice(filter(is_equal, pages[0].data_by_text.get(wanted[0], ())), MAX_PLACES)]


def named_places(wrapper: Wrapper, page: PageFacts, shown: Collection[str]) -> list[Locator]:
    """Return up to two places with a word of the field whose text is not shown by its other choices."""
    known = set(map(plain, shown))
    found = [
        one for one in page.data if _is_named(one, wrapper) and plain("".join(page.data[one])) not in known
    ]
    return _last_first(found, wrapper)[:MAX_PLACES]


def _is_named(locator: Locator, wrapper: Wrapper) -> bool:
    return not wrapper.all_words.isdisjoint(words_of(locator.path))


def _last_first(found: Sequence[Locator], wrapper: Wrapper) -> list[Locator]:
    """Return places whose last name is the field's before the others."""

    def is_other(locator: Locator) -> bool:
        return wrapper.all_words.isdisjoint(words_of(locator.path.rpartition(".")[2]))

    return sorted(found, key=is_other)
