"""Where the next page of an API's list is."""

from __future__ import annotations

from typing import Self, cast
from urllib.parse import quote_plus, unquote_plus, urljoin, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, model_validator

from agentic.core.actors import ActorError, Page
from agentic.core.records import record
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.conversions import UNTRUE
from agentic.plugins.web.reading.json_data import JsonPath, found_in


class Paging(BaseModel):
    """Where the next page of an API's list is: exactly one of next, link_header, cursor, page and offset."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    next: JsonPath | None = Field(default=None, description="JMESPath of the next page's URL in the answer.")
    link_header: bool = Field(default=False, description="The header Link with rel=next names it.")
    cursor: JsonPath | None = Field(
        default=None, description="JMESPath of the next page's cursor in the answer; needs param."
    )
    page: str | None = Field(
        default=None, min_length=1, description="Parameter with the number of the page, such as page."
    )
    offset: str | None = Field(
        default=None,
        min_length=1,
        description="Parameter with the number of items before the page, such as offset.",
    )
    param: str | None = Field(
        default=None,
        min_length=1,
        description="With cursor: the parameter that takes it. With a JSON body it is a place in the "
        "body: variables.after.",
    )
    first: NonNegativeInt | None = Field(
        default=None, description="Number of the first page (1 unless given), or its offset (0)."
    )
    more: JsonPath | None = Field(
        default=None, description="JMESPath of a value that is false on the last page: pageInfo.hasNextPage."
    )

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        ways = {
            "next": self.next,
            "link_header": self.link_header or None,
            "cursor": self.cursor,
            "page": self.page,
            "offset": self.offset,
        }
        given = [name for name, value in ways.items() if value is not None]
        if len(given) != 1:
            raise ValueError(f"give one of {', '.join(ways)}, not {' and '.join(given) or 'nothing'}")
        if (self.cursor is None) != (self.param is None):
            raise ValueError("cursor and param belong together: cursor: meta.next, param: after")
        if self.first is not None and self.counter is None:
            raise ValueError("first is the first number of page or offset")
        return self

    @property
    def counter(self) -> str | None:
        """The parameter that counts pages or items; None if none does."""
        return self.page or self.offset

    @property
    def start(self) -> int:
        """The first number of the counter."""
        return self.first if self.first is not None else int(self.page is not None)


@record
class PageRequest:
    """A request for a page of a list.

    Attributes:
        url: Its address.
        body: The JSON body; None for a GET.
    """

    url: str
    body: JSONValue = None

    def with_value(self, name: str, value: JSONValue) -> PageRequest:
        """Return the request with another value of a parameter, or of a place in the body."""
        if self.body is None:
            return PageRequest(url=_with_param(self.url, name, value))
        return PageRequest(url=self.url, body=_with_place(self.body, name.split("."), value))

    def value(self, name: str) -> JSONValue:
        """Return the value of a parameter, or of a place in the body; None if it is not there."""
        if self.body is None:
            return _param(self.url, name)
        found: JSONValue = self.body
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found


def following(
    paging: Paging, asked: PageRequest, page: Page, data: JSONValue, item_count: int
) -> PageRequest | None:
    """Return the request for the page after ``page``; None after the last page.

    Args:
        paging: The place of the next page.
        asked: The request for ``page``.
        page: The page.
        data: Its content.
        item_count: Items on it; a page without items is the last one.

    Raises:
        ActorError: The next page's place holds something else (``schema_invalid``).
    """
    url = page.final_url
    if item_count == 0 or (paging.more is not None and not _is_true(found_in(paging.more, data, url))):
        return None
    if paging.link_header:
        return None if page.next_url is None else PageRequest(url=page.next_url, body=asked.body)
    if paging.next is not None:
        address = _scalar(found_in(paging.next, data, url), paging.next, url)
        return None if address is None else PageRequest(url=urljoin(url, str(address)), body=asked.body)
    if paging.cursor is not None:
        cursor = _scalar(found_in(paging.cursor, data, url), paging.cursor, url)
        return None if cursor is None else asked.with_value(cast(str, paging.param), cursor)
    counter = cast(str, paging.counter)
    number = _number(asked.value(counter), paging.start)
    return asked.with_value(counter, number + (1 if paging.page is not None else item_count))


def _is_true(found: JSONValue) -> bool:
    """Whether an API says that there is more; some say "false", and some give an address or a cursor."""
    return bool(found) and not (isinstance(found, str) and found.strip().lower() in UNTRUE)


def _scalar(found: JSONValue, path: str, url: str) -> str | int | float | None:
    if found is None or found is False or found == "":
        return None
    if isinstance(found, str | int | float) and found is not True:
        return found
    message = f"{path!r} of {url} is {str(found)[:60]}, and no address or cursor of a next page"
    raise ActorError(message, failure_class="schema_invalid")


def _number(value: JSONValue, default: int) -> int:
    try:
        return int(cast(str, value))
    except (TypeError, ValueError):
        return default


def _with_param(url: str, name: str, value: JSONValue) -> str:
    """Return a URL with a parameter set; the others stay as they are written."""
    parts = urlsplit(url)
    written = f"{quote_plus(name)}={quote_plus(str(value))}"
    pairs = [pair for pair in parts.query.split("&") if pair]
    places = [index for index, pair in enumerate(pairs) if _name(pair) == name]
    if places:
        pairs[places[0]] = written
        pairs = [pair for index, pair in enumerate(pairs) if index not in places[1:]]
    else:
        pairs.append(written)
    return urlunsplit(parts._replace(query="&".join(pairs)))


def _param(url: str, name: str) -> str | None:
    pairs = urlsplit(url).query.split("&")
    return next((unquote_plus(pair.partition("=")[2]) for pair in pairs if _name(pair) == name), None)


def _name(pair: str) -> str:
    return unquote_plus(pair.partition("=")[0])


def _with_place(data: JSONValue, parts: list[str], value: JSONValue) -> JSONValue:
    name, *rest = parts
    inner = dict(data) if isinstance(data, dict) else {}
    inner[name] = _with_place(inner.get(name), rest, value) if rest else value
    return inner
