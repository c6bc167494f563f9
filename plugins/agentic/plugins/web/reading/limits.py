"""What one page may cost: each text is read again for each element it is in."""

from __future__ import annotations

from collections.abc import Sequence

from turbohtml import Document, Element

from agentic.core.actors import ActorError
from agentic.core.linear import LinearPattern

MAX_TEXT_CHARS = 32_000_000
"""Characters one actor reads from one page, over all fields and items."""

MAX_NESTED = 100
"""Maximum nesting of items: comments and their answers."""

MAX_ELEMENTS = 10_000
"""Elements of a page whose XPath expression searches the page again from each."""

MAX_CROSSED = 1_000
"""The same before or after each element at all: that takes cubic time."""

# Axes without a number behind the step.
_CROSSING = LinearPattern(
    r"(?:preceding|following)(?:-sibling)?\s*::\s*[\w*:-]+(?:\([^)]*\))?\s*(?:[^\w*:\-(\[\s]|\[\s*[^\s\d]|\Z)"
)
_REPEATING = LinearPattern(r"(?:preceding|following)(?:-sibling)?\s*::|\[[^\]]*(?://|/|\.\.|::|string\s*\()")


class TextMeter:
    """Counts the characters that are read of a page.

    Args:
        url: Of the page, for messages.
    """

    __slots__ = ("_left", "_url")

    def __init__(self, url: str) -> None:
        self._url = url
        self._left = MAX_TEXT_CHARS

    def take(self, characters: int) -> None:
        """Count a text.

        Raises:
            ActorError: With it there is too much (``too_large``).
        """
        self._left -= characters
        if self._left < 0:
            message = (
                f"the fields of {self._url} have more than {MAX_TEXT_CHARS:,} characters because they are "
                "nested in each other; select the fields of one item only"
            )
            raise ActorError(message, failure_class="too_large")


def check_nesting(nodes: Sequence[Element], selector: str, url: str) -> None:
    """Check how deep elements that fit a selector stand in each other.

    Raises:
        ActorError: Too deep (``too_large``).
    """
    if len(nodes) <= MAX_NESTED:
        return
    depths: dict[Element, int] = {}
    for node in nodes:
        parent = node.parent
        around = parent.closest(selector) if isinstance(parent, Element) else None
        depths[node] = depth = (depths.get(around, 1) if around is not None else 0) + 1
        if depth > MAX_NESTED:
            message = (
                f"on {url} more than {MAX_NESTED} elements that match {selector!r} are nested in each other"
            )
            raise ActorError(f"{message}; select fewer", failure_class="too_large")


def check_xpath(expression: str, document: Document) -> None:
    """Check whether a page is too large for an XPath expression.

    Raises:
        ActorError: It is (``too_large``).
    """
    if not _REPEATING.occurs_in(expression):
        return
    most = MAX_CROSSED if _CROSSING.occurs_in(expression) else MAX_ELEMENTS
    if (count := len(document.select("*"))) > most:
        advice = (
            "put [1] behind the axis, or use a CSS selector" if most == MAX_CROSSED else "use a CSS selector"
        )
        message = (
            f"the XPath {expression!r} searches the page again from each of its {count:,} elements; the "
            f"limit is {most:,}; {advice}"
        )
        raise ActorError(message, failure_class="too_large")
