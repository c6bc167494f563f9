"""The old place of a field on pages of a new layout: whether it still gives the field."""

from __future__ import annotations

from collections.abc import Sequence

from agentic.core.types import JSONValue
from agentic.core.wrappers.candidates import Candidate
from agentic.core.wrappers.ranking import ALIKE, PageFacts, still_fits
from agentic.core.wrappers.values import AGREES, SAME_LIST, Kind, agreement, is_telling
from agentic.core.wrappers.words import plain, text_words
from agentic.core.wrappers.wrapper import Wrapper


class OldPlace:
    """What the first place of a field that gives something gives on some pages.

    Args:
        wrapper: The field.
        pages: Of the new layout.
    """

    def __init__(self, wrapper: Wrapper, pages: Sequence[PageFacts]) -> None:
        self._wrapper = wrapper
        stored = [(page.row.get(wrapper.name), _texts_at(page, wrapper)) for page in pages]
        self._fits = [
            still_fits(wrapper, texts, known)
            for known, texts in stored
            for _ in range(1 if known is None else 2)  # a page whose value is known says more
        ]
        self._stored = [(known, texts) for known, texts in stored if known is not None]
        self._agreed = [agreement(wrapper.kind, texts, known) for known, texts in self._stored]

    @property
    def fits(self) -> bool:
        """Whether it gives something that can be the field on half of the pages at least."""
        return 2 * sum(self._fits) >= len(self._fits)

    @property
    def is_doubtful(self) -> bool:
        """Whether it gives other values than the stored ones. Numbers change: one alone says nothing."""
        best = max(self._agreed, default=1.0)
        if len(self._agreed) > 1 and best < ALIKE:
            return True
        if self._wrapper.is_list:
            return best < SAME_LIST
        least = AGREES if self._wrapper.kind is Kind.ADDRESS else 1.0
        return best < least and not self._wrapper.kind.is_amount

    def is_disproved_by(self, new: Sequence[tuple[JSONValue, Sequence[str]]]) -> bool:
        """Return whether a new place has the stored values, while the old one has not, and not by chance.

        It is proof if two different values stand there. Texts are proof, too, if they are long or the old
        place has them among other words, and it does not look as before: when "in stock" has become "sold
        out", the old text may stand elsewhere.

        Args:
            new: The stored value and the texts at the new place of each page with a row.
        """
        kind = self._wrapper.kind
        agreed = [agreement(kind, texts, known) for known, texts in new]
        at_two = {plain(str(known)) for (known, _), one in zip(new, agreed, strict=True) if one >= AGREES}
        if len(at_two) > 1 and max(self._agreed, default=0.0) < ALIKE:
            return True
        if min(agreed, default=0.0) < (AGREES if kind is Kind.ADDRESS else 1.0):
            return False
        is_telling_all = all(is_telling(known, 1.0, kind) for known, _ in new)
        if self._wrapper.is_list:
            return is_telling_all
        if kind.is_amount or self._distance(self._stored) <= self._distance(new):
            return False
        return is_telling_all or all(_has_among_words(texts, str(known)) for known, texts in self._stored)

    def _distance(self, found: Sequence[tuple[JSONValue, Sequence[str]]]) -> float:
        """Return how far the size of some texts is from the learnt one."""
        texts = tuple(text for _, there in found for text in there[:1])
        return abs((Candidate((), texts).size if texts else 0.0) - self._wrapper.fingerprint.length)


def _texts_at(page: PageFacts, wrapper: Wrapper) -> tuple[str, ...]:
    """Return the texts at the first place of a field that gives some."""
    found = (page.texts_at(locator, is_list=wrapper.is_list) for locator in wrapper.locators)
    return next(filter(None, found), ())


def _has_among_words(texts: Sequence[str], known: str) -> bool:
    """Return whether the first text has the words of another one in a row."""
    words = [" ".join(["", *text_words(text), ""]) for text in (*texts[:1], known)]
    return len(words) > 1 and words[1] in words[0]
