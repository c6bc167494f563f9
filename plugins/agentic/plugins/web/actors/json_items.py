"""The actor that reads the answers of an API, page after page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, model_validator

from agentic.core.actors import Actor, ActorContext, ActorError, FromResults, ItemsOutput, LinksOutput, Page
from agentic.core.http import FetchError
from agentic.core.http.urls import Param, origin_of, with_params
from agentic.core.reading.addresses import absolute
from agentic.core.records import record
from agentic.core.settings import safe_url
from agentic.core.types import JSONValue
from agentic.plugins.web.actors.extract_list import GONE
from agentic.plugins.web.actors.fetch import FetchActor
from agentic.plugins.web.fetching.inputs import FetchInput
from agentic.plugins.web.reading.fields import Item, Schema, read_json_fields
from agentic.plugins.web.reading.json_data import JsonPath, found_in, json_of, scripts_of
from agentic.plugins.web.reading.paging import PageRequest, Paging, following

MAX_PAGES = 1_000
"""Pages of a list that names its paging and no number of pages."""


def _as_json_rules(fields: object) -> object:
    """Return the rules with each plain string as a ``json`` path."""
    if not isinstance(fields, Mapping):
        return fields
    rules: dict[object, object] = {}
    for name, rule in fields.items():
        if isinstance(rule, str):
            rules[name] = {"json": rule}
        elif isinstance(rule, Mapping) and "fields" in rule:
            rules[name] = {**rule, "fields": _as_json_rules(rule["fields"])}
        else:
            rules[name] = rule
    return rules


JsonRules = Annotated[Schema, BeforeValidator(_as_json_rules)]
"""Field name -> path within an item, or rule."""


class JsonInput(BaseModel):
    """Which items of an API's answer to take."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    page: Annotated[Page | None, FromResults()] = Field(
        default=None, description="The answer; not needed with a url."
    )
    url: str | None = Field(default=None, description="URL to fetch first.")
    params: dict[str, Param | tuple[Param, ...]] | None = Field(
        default=None, description="Query parameters to add to the URL."
    )
    json_body: JSONValue = Field(
        default=None, alias="json", description="JSON body; the request is a POST then. For GraphQL, too."
    )
    headers: dict[str, str] = Field(default_factory=dict, description="Headers of each request.")
    session: Annotated[str | None, FromResults()] = Field(
        default=None, description="Name of a login session."
    )
    script: str | None = Field(
        default=None,
        min_length=1,
        description="In an HTML page: the id of a script (__NEXT_DATA__), or the variable it sets "
        "(window.__STATE__), whose JSON is read.",
    )
    items: JsonPath | None = Field(
        default=None, description="JMESPath of the list of items; the whole answer unless given."
    )
    fields: JsonRules | None = Field(
        default=None,
        description="Field name -> JMESPath within an item, or rule; all fields of the item unless given.",
    )
    link: JsonPath | None = Field(
        default=None, description="JMESPath within an item of the URL it links to: its `url` then."
    )
    required: bool = Field(default=False, description="Fail with selector_missing if no item was found.")
    paging: Paging | None = Field(default=None, description="Place of the next page.")
    pages: PositiveInt | None = Field(
        default=None, description=f"Maximum number of pages; 1 without paging, else {MAX_PAGES:,}."
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.json_body is not None and self.url is None:
            raise ValueError("a JSON body needs a url; leave out the step that fetches")
        if self.pages is not None and self.pages > 1 and self.paging is None:
            raise ValueError("several pages need paging: say where the next page is")
        paging = self.paging
        if paging is not None and (paging.cursor or paging.counter) and isinstance(self.json_body, list):
            raise ValueError("a list as body has no place for the parameters of paging; make it a mapping")
        return self

    @property
    def page_limit(self) -> int:
        """Maximum number of pages to read."""
        return self.pages or (MAX_PAGES if self.paging is not None else 1)


class JsonOutput(LinksOutput, ItemsOutput):
    """The items, the URLs they link to, and the URL of the next page, if it has one of its own."""


class JsonActor(Actor[JsonInput, JsonOutput]):
    """Extracts items from the JSON of an API, or of a script in a page, over one or more pages.

    It ends with the first page without items, with a page that repeats the last one, or where the API
    says that it was the last.
    """

    name = "json"
    version = "1"
    Input = JsonInput
    Output = JsonOutput
    failure_classes = frozenset(
        {"decode", "not_html", "reference", "schema_invalid", "selector_missing", "too_large"}
    )
    capabilities = frozenset({"network"})
    reads = frozenset({"html", "json"})

    @classmethod
    def needs(cls, config: Mapping[str, JSONValue]) -> frozenset[str]:
        """Return the capabilities for this config: one fetched page needs no network."""
        is_there = config.get("url") is None and config.get("paging") is None
        return frozenset() if is_there else cls.capabilities

    async def run(self, ctx: ActorContext, given: JsonInput, /) -> JsonOutput:
        """Return the items of all pages in order."""
        asked = _first_request(given)
        page = given.page if given.url is None else await _fetch(ctx, given, asked)
        if page is None:
            message = "no page was fetched before; give a url, or fetch a page first"
            raise ActorError(message, failure_class="reference")
        read = [_read(ctx, given, page, asked)]
        if not read[0].items:
            _tell_empty(ctx, given, page)
        seen = [asked]
        while (next_page := read[-1].following) is not None and next_page not in seen:
            if len(read) >= given.page_limit:
                if given.pages is None and given.paging is not None:
                    ctx.warn(
                        f"{asked.url} has more than {MAX_PAGES:,} pages; set pages to read more, or fewer"
                    )
                break
            seen.append(next_page)
            _check_origin(given, asked, next_page)
            try:
                page = await _fetch(ctx, given, next_page)
            except FetchError as exc:
                if exc.status in GONE:  # as some APIs answer after their last page
                    break
                raise
            found = _read(ctx, given, page, next_page)
            if found.items and found.items == read[-1].items:  # it does not know the parameter
                ctx.warn(f"{page.final_url} has the same items as the page before it; check paging")
                break
            read.append(found)
        last = read[-1].following
        return JsonOutput(
            items=tuple(item for one in read for item in one.items),
            list_item_urls=tuple(dict.fromkeys(url for one in read for url in one.links)),
            next_url=last.url if last is not None and last.body is None else None,
        )


@record
class _Read:
    """The content of a page."""

    items: Sequence[Item]
    links: Sequence[str]
    following: PageRequest | None


def _check_origin(given: JsonInput, asked: PageRequest, following: PageRequest) -> None:
    """Refuse to send headers and body to another site because an answer names it: they may hold a secret.

    Raises:
        ActorError: The next page is at another origin (``schema_invalid``).
    """
    if not (given.headers or following.body) or origin_of(following.url) == origin_of(asked.url):
        return
    message = (
        f"the next page is at {safe_url(origin_of(following.url))}, and the headers and the body of the step "
        f"are for {safe_url(origin_of(asked.url))}; read that site in a step of its own"
    )
    raise ActorError(message, failure_class="schema_invalid")


def _first_request(given: JsonInput) -> PageRequest:
    if given.url is None:
        return PageRequest(url=given.page.final_url if given.page is not None else "")
    url = with_params(given.url, given.params) if given.params else given.url
    asked = PageRequest(url=url, body=given.json_body)
    paging = given.paging
    if paging is None or paging.counter is None or paging.first is None:
        return asked
    return asked.with_value(paging.counter, paging.first)


async def _fetch(ctx: ActorContext, given: JsonInput, asked: PageRequest) -> Page:
    request = FetchInput(
        url=asked.url,
        method="GET" if asked.body is None else "POST",
        json=asked.body,
        headers={"accept": "application/json", **given.headers},
        session=given.session,
    )
    return (await FetchActor().run(ctx, request)).page


def _read(ctx: ActorContext, given: JsonInput, page: Page, asked: PageRequest) -> _Read:
    data = _data(given, page)
    found = found_in(given.items, data, page.final_url)
    values = found if isinstance(found, list) else [found] if found is not None else []
    links = [_link(given.link, value, page) for value in values]
    items = [_item(ctx, given, page, value, link) for value, link in zip(values, links, strict=True)]
    if given.items is None and given.link is None and values and not isinstance(data, list):
        items = [{"url": page.final_url, **items[0]}]  # the page is the item
    next_page = following(given.paging, asked, page, data, len(items)) if given.paging is not None else None
    return _Read(items=items, links=[link for link in links if link is not None], following=next_page)


def _tell_empty(ctx: ActorContext, given: JsonInput, page: Page) -> None:
    where = f"{given.items!r} matches nothing" if given.items is not None else "no item was found"
    if given.required:
        raise ActorError(f"{where} on {page.final_url}", failure_class="selector_missing", status=page.status)
    ctx.warn(f"{where} on {page.final_url}")


def _data(given: JsonInput, page: Page) -> JSONValue:
    if given.script is None:
        return json_of(page)
    data = next(scripts_of(page, given.script), None)
    if data is None:
        message = f"no script with the id or the variable {given.script!r} has JSON on {page.final_url}"
        raise ActorError(message, failure_class="selector_missing", status=page.status)
    return data


def _link(path: str | None, value: JSONValue, page: Page) -> str | None:
    if path is None:
        return None
    found = found_in(path, value, page.final_url)
    return absolute(page.final_url, found) if isinstance(found, str) and found else None


def _item(ctx: ActorContext, given: JsonInput, page: Page, value: JSONValue, link: str | None) -> Item:
    item: Item = {"value": value}
    if given.fields is not None:
        item = read_json_fields(page, given.fields, value, ctx.warn_about)
    elif isinstance(value, dict):
        item = {**value}
    return {"url": link, **item} if given.link is not None and item.get("url") is None else item
