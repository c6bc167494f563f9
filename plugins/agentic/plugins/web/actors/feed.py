"""The actor that reads feeds."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from agentic.core.actors import Actor, ActorContext, ActorError, FromResults, LinksOutput
from agentic.core.http import HttpRequest, HttpResponse, HttpSession
from agentic.core.reading.addresses import absolute
from agentic.core.reading.feeds import ACCEPT, Feed, Item, read_feed
from agentic.core.reading.markup import MarkupError
from agentic.core.settings import safe_url
from agentic.core.threads import in_spare_thread
from agentic.plugins.web.login.sessions import used_session
from agentic.plugins.web.reading.html import parse

FEED_LINK = 'link[rel~="alternate"][href][type="application/{}" i]'
FEED_LINKS = ", ".join(FEED_LINK.format(kind) for kind in ("atom+xml", "rss+xml", "feed+json"))


class FeedInput(BaseModel):
    """Which feed to read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = Field(description="A feed, or a page that names one.")
    max_items: PositiveInt = Field(
        default=1_000, description="Maximum number of items, in the order of the feed."
    )
    required: bool = Field(default=False, description="Fail with `empty` if the feed has no items.")
    session: Annotated[str | None, FromResults()] = Field(
        default=None, description="Name of a login session."
    )


class FeedOutput(LinksOutput):
    """The entries of a feed as items, and the pages they link to.

    An item has ``id``, ``title``, ``url``, ``published``, ``updated``, ``author``, ``summary``, ``content``,
    ``enclosures`` (``url``, ``type``, ``length``) and ``tags``; what the feed does not tell is null. A video
    of YouTube has ``video_id`` and ``views``, too. Times are in ISO 8601, addresses absolute, texts as the
    feed has them: often markup.
    """

    feed_url: str
    home_url: str | None = None
    language: str | None = None
    items: tuple[Item, ...]


class FeedActor(Actor[FeedInput, FeedOutput]):
    """Reads RSS, Atom, RDF and JSON Feed, even broken ones. Needs the extra ``feeds``."""

    name = "feed"
    version = "1"
    Input = FeedInput
    Output = FeedOutput
    failure_classes = frozenset({"decode", "empty", "error"})
    capabilities = frozenset({"network"})

    async def run(self, ctx: ActorContext, given: FeedInput, /) -> FeedOutput:
        """Return the feed at the URL, or the first one that the page there names."""
        async with used_session(ctx, given.session) as session:
            response = await _get(ctx, given.url, session)
            if (named := _named_feed(response)) is not None:
                response = await _get(ctx, named, session)
        feed = await _read(response)
        for note in feed.notes:
            ctx.warn(f"{safe_url(response.url)}: {note}")
        if given.required and not feed.items:
            raise ActorError(f"the feed {response.url} has no items", failure_class="empty")
        items = feed.items[: given.max_items]
        return FeedOutput(
            list_item_urls=tuple(dict.fromkeys(str(item["url"]) for item in items if item["url"])),
            title=feed.title,
            feed_url=response.url,
            home_url=feed.url,
            language=feed.language,
            items=items,
        )


async def _get(ctx: ActorContext, url: str, session: HttpSession | None) -> HttpResponse:
    return await ctx.http.fetch(HttpRequest(url=url, headers={"accept": ACCEPT}, session=session))


async def _read(response: HttpResponse) -> Feed:
    try:
        kind = response.headers.get("content-type")
        return await in_spare_thread(read_feed, response.body, response.url, kind)
    except MarkupError as exc:
        message = f"{response.url} is not a feed: {exc}"
        raise ActorError(message, failure_class="decode", status=response.status) from None


def _named_feed(response: HttpResponse) -> str | None:
    """Return the feed that a page names, None if it is no page or names none."""
    if response.content_type not in ("text/html", "application/xhtml+xml"):
        return None
    link = parse(response.text).select_one(FEED_LINKS)
    return absolute(response.url, link.attr("href") or "") if link is not None else None
