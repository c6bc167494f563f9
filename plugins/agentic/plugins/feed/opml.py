"""Lists of feeds, as feed readers export them (http://opml.org/spec2.opml)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentic.core.reading.markup import MarkupError, elements
from agentic.plugins.feed.errors import UnreadableOpmlError
from agentic.plugins.feed.settings import MAX_FEEDS, check_feed_url


def read_opml(body: bytes, place: str) -> tuple[list[str], list[str]]:
    """Return the feed URLs of a list, in its order, and a warning for each invalid one.

    Args:
        body: As received.
        place: Its source, for messages.

    Raises:
        UnreadableOpmlError: It is not OPML, or lists more than 1,000 feeds.
    """
    urls: list[str] = []
    warnings: list[str] = []
    try:
        for url in _addresses(body):
            try:
                check_feed_url(url, "a feed of the OPML")
            except ValueError as exc:
                warnings.append(str(exc))
            else:
                urls.append(url)
    except MarkupError as exc:
        raise UnreadableOpmlError(place, str(exc)) from None
    if len(urls) > MAX_FEEDS:
        raise UnreadableOpmlError(place, f"it names {len(urls)} feeds; the limit is {MAX_FEEDS}")
    return urls, warnings


def _addresses(body: bytes) -> Iterator[str]:
    root = ""
    # Innermost first: a feed comes where its element ends, which is the order of the list.
    for element in elements([body]):
        root = element.path[0].lower()
        if root != "opml":
            break
        if element.path[-1].lower() == "outline" and (url := _url(element.attributes)):
            yield url
    if root != "opml":
        raise MarkupError(f"its root is <{root}>, not <opml>")


def _url(attributes: Mapping[str, str]) -> str:
    return next((value.strip() for name, value in attributes.items() if name.lower() == "xmlurl"), "")
