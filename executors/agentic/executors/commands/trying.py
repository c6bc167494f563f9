"""``agentic pipelines try``: fetches a page and tests selectors on it, before a pipeline is written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer
from pydantic import ValidationError

from agentic.core.cli import console, print_json, print_rows
from agentic.core.hooks import get_registry
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.options import AsJson, OptionError, read_values

if TYPE_CHECKING:
    from agentic.core.actors import ActorContext, Page

Row = dict[str, JSONValue]


class Mode(StrEnum):
    """How to fetch the page."""

    HTTP = "http"
    BROWSER = "browser"
    AUTO = "auto"


def add_trying(pipelines: typer.Typer) -> None:
    """Add the command."""
    pipelines.command("try")(try_page)


def try_page(  # noqa: PLR0913 - one option each
    url: Annotated[str, typer.Argument(metavar="URL", help="Page to fetch; robots.txt applies.")],
    *,
    select: Annotated[
        list[str] | None, typer.Option(metavar="CSS", help="Print all matching texts. Repeatable.")
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=CSS",
            help="Extract a field; rules as JSON or @FILE, too. Repeatable.",
        ),
    ] = None,
    item: Annotated[
        str | None, typer.Option(metavar="CSS", help="Extract the fields of each matching element.")
    ] = None,
    mode: Annotated[
        Mode, typer.Option(help="Fetch over HTTP, with a browser, or automatically.")
    ] = Mode.HTTP,
    allow_private_host: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="Allow this private host.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a page and test selectors on it, as a crawl or a step does."""
    if select and (field or item):
        raise OptionError(
            "--select prints matching texts; leave it out where --field or --item extracts items"
        )
    rules: dict[str, JSONValue] = {css: {"selector": css, "list": True} for css in select or ()}
    rules |= read_values(field or (), "--field")
    try:
        page, rows = asyncio.run(_tried(url, mode, allow_private_host or (), (item, rules)))
    except ValidationError as exc:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors())
        raise OptionError(f"this cannot be tried: {faults}") from None
    unfit = [item] if item is not None and not rows else []
    if select:
        unfit = [css for css in dict.fromkeys(select) if not rows[0][css]]
        rows = [{"selector": css, "found": text} for css in select for text in cast(list[str], rows[0][css])]
    if as_json:
        print_json({"page": page, "items": rows})
    else:
        shown = rows or [page]
        print_rows(str(page["final_url"]), [*dict.fromkeys(key for row in shown for key in row)], shown)
        for css in unfit:
            said = f"{css!r} matches nothing on {page['final_url']}"
            console.print(said, markup=False, highlight=False, soft_wrap=True)


async def _tried(
    url: str, mode: Mode, private_hosts: Sequence[str], wanted: tuple[str | None, Mapping[str, JSONValue]]
) -> tuple[Row, list[Row]]:
    """Return facts about the page, and its items."""
    from agentic.core.actors import ActorContext, PageOutput
    from agentic.core.browser import BrowserFetcher
    from agentic.core.http import HttpPolicy, open_fetcher
    from agentic.core.pipeline.steps.calls import call_until_done
    from agentic.executors.agents.actor_resources import SharedBrowser

    async with open_fetcher(HttpPolicy(allow_private_hosts=tuple(private_hosts))) as http:
        browser = SharedBrowser(load_settings())
        ctx = ActorContext(http=http, pages=BrowserFetcher(http, browser))
        try:
            given = {"url": url, "mode": mode.value}
            fetched = await call_until_done(get_registry().actors["fetch"], ctx, given)
            page = cast(PageOutput, fetched).page
            return await _facts(ctx, page), await _read(ctx, page, *wanted)
        finally:
            await browser.aclose()


async def _facts(ctx: ActorContext, page: Page) -> Row:
    facts: Row = {
        "final_url": page.final_url,
        "status": page.status,
        "content_type": page.content_type,
        "fetched_by": page.fetched_by,
        "characters": len(page.text),
    }
    if page.is_html:
        found = await _call(ctx, "extract_list", {"page": page, "item_selector": "a[href]"})
        facts |= {"title": found["title"], "links": len(cast(list[str], found["list_item_urls"]))}
    return facts


async def _read(ctx: ActorContext, page: Page, item: str | None, rules: Mapping[str, JSONValue]) -> list[Row]:
    if item is not None:
        given = {"page": page, "item_selector": item, "fields": rules or None}
        found = await _call(ctx, "extract_list", given)
        links = [{"url": url} for url in cast(list[str], found["list_item_urls"])]
        return cast(list[Row], found.get("items", links))
    if rules:
        found = await _call(ctx, "extract_detail", {"page": page, "schema": rules})
        return [cast(Row, found["item"])]
    return []


async def _call(ctx: ActorContext, actor: str, given: Mapping[str, object]) -> Row:
    from agentic.core.pipeline.steps.calls import call_until_done, results_of

    return results_of(await call_until_done(get_registry().actors[actor], ctx, given))
