"""The actor that searches a site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, cast

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat

from agentic.core.actors import Actor, ActorContext, ActorError, FromResults, Page
from agentic.core.actors.context import ignore_warning
from agentic.core.http import HttpRequest, HttpSession
from agentic.core.reading.addresses import base_of
from agentic.core.types import JSONValue
from agentic.plugins.web.actors.extract_list import NEXT, ExtractListActor, ExtractListInput, ListOutput
from agentic.plugins.web.fetching.answers import page_of
from agentic.plugins.web.login.sessions import used_session
from agentic.plugins.web.reading.html import document_of
from agentic.plugins.web.reading.search_forms import description_url, fill, find_form, template_of
from agentic.plugins.web.reading.selectors import Selector

FORM = {"content-type": "application/x-www-form-urlencoded"}
NOTHING = ":not(*)"


class SearchInput(BaseModel):
    """What to look for, and where."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keywords: str | tuple[str, ...] = Field(min_length=1, description="Search terms, all required.")
    url_template: str | None = Field(
        default=None, pattern=r"\{(query|searchTerms)\}", description="https://example.org/search?q={query}"
    )
    page: Annotated[Page | None, FromResults()] = Field(
        default=None,
        description="A page of the site: its search form, or the OpenSearch description it names.",
    )
    platform: str | None = Field(default=None, description="Search with the actor <platform>_search instead.")
    item_selector: Selector | None = Field(
        default=None,
        description="CSS selector of the results: links, or elements with one. No match is `empty`.",
    )
    session: Annotated[str | None, FromResults()] = Field(
        default=None, description="Name of a login session."
    )
    timeout_s: PositiveFloat | None = Field(default=None, description="Timeout, instead of the policy's.")

    @property
    def query(self) -> str:
        """The words as one text."""
        return self.keywords if isinstance(self.keywords, str) else " ".join(self.keywords)


class SearchOutput(ListOutput):
    """The page of results, and where the next one is; with ``item_selector`` also what the results link to.

    A platform gives what its own search gives: items or links, and no page.
    """

    page: Page | None = None


class SearchActor(Actor[SearchInput, SearchOutput]):
    """Searches a site (by URL template, form or OpenSearch description) or a platform."""

    name = "search"
    version = "1"
    aliases = ("SearchExecutor",)
    Input = SearchInput
    Output = SearchOutput
    failure_classes = frozenset({"decode", "empty", "not_html", "reference", "selector_missing", "too_large"})
    capabilities = frozenset({"network"})

    async def run(self, ctx: ActorContext, given: SearchInput, /) -> SearchOutput:
        """Return the first page of results."""
        if given.platform is not None:
            return await _by_platform(ctx, given, given.platform)
        async with used_session(ctx, given.session) as session:
            request = await _request(ctx, given, session)
            page = page_of(request.url, await ctx.http.fetch(request), datetime.now(UTC))
        found = await _results(ctx, given, page)
        return SearchOutput(
            page=page, list_item_urls=found.list_item_urls, next_url=found.next_url, title=found.title
        )


async def _request(ctx: ActorContext, given: SearchInput, session: HttpSession | None) -> HttpRequest:
    """Return the request that searches."""
    body: bytes | None = None
    if given.url_template is not None:
        url = fill(given.url_template, given.query)
    elif given.page is not None:
        url, body = await _as_the_site_says(ctx, given, given.page, session)
    else:
        message = "no search page is known; give `search` a url_template, or put a `fetch` step first"
        raise ActorError(message, failure_class="reference")
    return HttpRequest(
        url=url,
        method="GET" if body is None else "POST",
        headers={} if body is None else FORM,
        body=body,
        timeout_s=given.timeout_s,
        session=session,
    )


async def _as_the_site_says(
    ctx: ActorContext, given: SearchInput, page: Page, session: HttpSession | None
) -> tuple[str, bytes | None]:
    document = document_of(page)
    base = base_of(document, page.final_url)
    if (form := find_form(document, base)) is not None:
        return form.filled(given.query)
    described = description_url(document, base)
    if described is None:
        message = (
            f"{page.final_url} has neither a search form nor an OpenSearch description; give url_template"
        )
        raise ActorError(message, failure_class="selector_missing", status=page.status)
    response = await ctx.http.fetch(HttpRequest(url=described, session=session))
    template = template_of(response.text, response.url)
    if template is None:
        message = f"{response.url} describes no search with HTML results; give url_template"
        raise ActorError(message, failure_class="decode", status=response.status)
    return fill(template, given.query), None


async def _results(ctx: ActorContext, given: SearchInput, page: Page) -> ListOutput:
    """Return what is on a page of results."""
    if not page.is_html and given.item_selector is None:
        return ListOutput(list_item_urls=())
    asked = ExtractListInput(page=page, item_selector=given.item_selector or NOTHING, next_selector=NEXT)
    quiet = ctx if given.item_selector else replace(ctx, warn=ignore_warning)
    found = await ExtractListActor().run(quiet, asked)
    if given.item_selector is not None and not found.list_item_urls:
        message = (
            f"no results for {given.query!r}: {given.item_selector!r} matches nothing on {page.final_url}"
        )
        raise ActorError(message, failure_class="empty", status=page.status)
    return found


async def _by_platform(ctx: ActorContext, given: SearchInput, platform: str) -> SearchOutput:
    """Search with the actor of a platform, and return what of its results a search gives."""
    from agentic.core.hooks import get_registry
    from agentic.core.hooks.offers import clash_over
    from agentic.core.pipeline.steps.calls import call_until_done, known_parts

    actors = get_registry().actors
    name = f"{platform}_search"
    if clash := clash_over(name, actors):
        raise ActorError(str(clash), failure_class="reference") from clash
    if name not in actors:
        known = sorted({name.removesuffix("_search") for name in actors if name.endswith("_search")})
        message = (
            f"no plugin searches {platform!r} (known: {', '.join(known) or 'none'}); see `agentic plugins`"
        )
        raise ActorError(message, failure_class="reference")
    actor = actors[name]
    words: dict[str, JSONValue] = {"query": given.query, "keywords": given.query, "session": given.session}
    output = await call_until_done(actor, ctx, known_parts(actor, words))
    found = cast(Mapping[str, object], output.model_dump())
    known_fields = {name: found[name] for name in SearchOutput.model_fields if found.get(name) is not None}
    return SearchOutput.model_validate({"list_item_urls": (), **known_fields})
