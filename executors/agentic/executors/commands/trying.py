"""``agentic pipelines try``: fetches a page and tests selectors on it, before a pipeline is written."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer
from pydantic import ValidationError

from agentic.core.cli import console, print_facts, print_json, print_rows, print_sample
from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.options import AsJson, OptionError, read_values

if TYPE_CHECKING:
    from agentic.core.actors import ActorContext, Page

SHOWN_ROWS = 10

Row = dict[str, JSONValue]
Wanted = tuple[Sequence[str], str | None, Mapping[str, JSONValue]]
"""Selectors to print the matches of; the items; the rules of their fields."""


class Mode(StrEnum):
    """How to fetch the page."""

    HTTP = "http"
    BROWSER = "browser"
    AUTO = "auto"


def try_page(  # noqa: PLR0913 - one option each
    url: Annotated[str, typer.Argument(metavar="URL", help="Page to fetch; robots.txt applies.")],
    *,
    select: Annotated[
        list[str] | None,
        typer.Option(metavar="CSS", help="Print all matches; of JSON by JMESPath. Repeatable."),
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=CSS",
            help="Extract a field; rules as JSON or @FILE, too; of JSON by JMESPath. Repeatable.",
        ),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(metavar="CSS", help="Extract the fields of each matching element, or item of JSON."),
    ] = None,
    mode: Annotated[
        Mode, typer.Option(help="Fetch over HTTP, with a browser, or automatically.")
    ] = Mode.HTTP,
    wait_for: Annotated[
        str | None,
        typer.Option(
            metavar="CSS",
            help="In a browser: wait for this element. Default: any selected element.",
        ),
    ] = None,
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
    if nameless := [rule for rule in field or () if rule[:1] != "@" and "=" not in rule]:
        raise OptionError(f"--field takes NAME=CSS or @FILE, such as title=h1; {nameless[0]!r} has no '='")
    rules = read_values(field or (), "--field")
    try:
        wanted: Wanted = (select or (), item, rules)
        awaited = [wait_for] if wait_for is not None else _css_in(*wanted)
        page, rows = asyncio.run(_tried(url, mode, awaited, allow_private_host or (), wanted))
    except ValidationError as exc:
        # The place is one of our own making: the message names the selector.
        faults = "; ".join(str(error["msg"]).removeprefix("Value error, ") for error in exc.errors())
        raise OptionError(f"this cannot be tried: {faults}") from None
    except AgenticError as exc:
        if getattr(exc, "failure_class", "") != "private_address":
            raise
        raise OptionError(f"{exc}, here with --allow-private-host") from exc
    unfit = _unfit(rows, *wanted)
    if select:
        found = [(css, value) for css in select for value in cast(list[JSONValue], rows[0][css])]
        rows = [{"selector": css, "found": value} for css, value in found]
    if as_json:
        print_json({"page": page, "items": rows})
        return
    _print_found(page, rows, is_of_items=not select)
    if unfit and page.get("scripts") and page["fetched_by"] == "http":
        unfit.append("if scripts build this page, add --mode browser")
    for said in unfit:
        console.print(said, markup=False, highlight=False, soft_wrap=True)


def _unfit(
    rows: Sequence[Row], select: Sequence[str], item: str | None, rules: Mapping[str, JSONValue]
) -> list[str]:
    """Return a sentence for each selector that matches nothing, and each field that no item has."""
    if item is not None and not rows:
        return [f"{item!r} matches nothing"]
    if select:
        return [f"{css!r} matches nothing" for css in dict.fromkeys(select) if not rows[0][css]]
    lacking = [name for name in rules if all(row.get(name) in (None, "", []) for row in rows)]
    place = "" if item is None else f" in all {len(rows)} items"
    return [f"{name!r} is empty{place}: {_rule_text(rules[name])} matches nothing" for name in lacking]


def _rule_text(rule: JSONValue) -> str:
    return repr(rule) if isinstance(rule, str) else json.dumps(rule, ensure_ascii=False)


def _print_found(page: Row, rows: Sequence[Row], *, is_of_items: bool) -> None:
    url = str(page["final_url"])
    columns = [*dict.fromkeys(key for row in rows for key in row)]
    columns.sort(key="url".__eq__)  # addresses are long
    if not rows:
        print_facts(url, {name: fact for name, fact in page.items() if name != "final_url"})
    elif is_of_items:
        count = f" (first {SHOWN_ROWS} of {len(rows)})" if len(rows) > SHOWN_ROWS else ""
        print_sample(f"{url}{count}", columns, rows[:SHOWN_ROWS])
    else:
        print_rows(url, columns, rows)


async def _tried(
    url: str, mode: Mode, awaited: Sequence[str], private_hosts: Sequence[str], wanted: Wanted
) -> tuple[Row, list[Row]]:
    """Return facts about the page, and its items."""
    from agentic.core.actors import ActorContext
    from agentic.core.browser import BrowserFetcher
    from agentic.core.http import HttpPolicy, open_fetcher
    from agentic.executors.agents.actor_resources import SharedBrowser

    async with open_fetcher(HttpPolicy(allow_private_hosts=tuple(private_hosts))) as http:
        browser = SharedBrowser(load_settings())
        ctx = ActorContext(http=http, pages=BrowserFetcher(http, browser))
        try:
            page = await _fetched(ctx, {"url": url, "mode": mode.value}, awaited)
            return await _facts(ctx, page), await _read(ctx, page, *wanted)
        finally:
            await browser.aclose()


def _css_in(select: Sequence[str], item: str | None, rules: Mapping[str, JSONValue]) -> list[str]:
    """Return the CSS selectors to wait for; selectors within items do not apply to a whole page."""
    if item is not None:
        return [item]
    given = [rule.get("selector") if isinstance(rule, Mapping) else rule for rule in rules.values()]
    return [*select, *(css for css in given if isinstance(css, str))]


async def _fetched(ctx: ActorContext, given: Mapping[str, JSONValue], awaited: Sequence[str]) -> Page:
    """Return a page; a browser waits for one of the elements, and shows the page without them in the end."""
    from agentic.core.actors import ActorError, PageOutput
    from agentic.core.pipeline.steps.calls import call_until_done

    fetch = get_registry().actors["fetch"]
    if awaited and given["mode"] != Mode.HTTP.value:
        waiting = {**given, "wait_for": ", ".join(awaited)}
        try:
            return cast(PageOutput, await call_until_done(fetch, ctx, waiting)).page
        except ActorError as exc:
            if exc.failure_class != "selector_missing":
                raise
    return cast(PageOutput, await call_until_done(fetch, ctx, given)).page


async def _facts(ctx: ActorContext, page: Page) -> Row:
    facts: Row = {
        "final_url": page.final_url,
        "status": page.status,
        "content_type": page.content_type,
        "fetched_by": page.fetched_by,
        "characters": len(page.text),
    }
    if page.is_html:
        found = await _call(ctx, "extract_list", {"page": page, "item_selector": "a[href], area[href]"})
        facts |= {"title": found["title"], "links": len(cast(list[str], found["list_item_urls"]))}
        facts["scripts"] = page.text.lower().count("<script")
    elif page.kind == "json":
        facts["json"] = _outline(page.text)
    return facts


def _outline(text: str) -> str:
    """Return what JSON holds, in a line: ``hits: list of 20, total``."""
    from agentic.core.reading.json_text import parse_json

    try:
        data = parse_json(text)
    except ValueError as exc:
        return f"none: {exc}"
    if isinstance(data, Mapping):
        return ", ".join(
            f"{key}: list of {len(value)}" if isinstance(value, list) else key for key, value in data.items()
        )
    if isinstance(data, list):
        keys = data[0].keys() if data and isinstance(data[0], dict) else ()
        return f"list of {len(data)}" + (f": {', '.join(keys)}" if keys else "")
    return str(data)


async def _read(
    ctx: ActorContext, page: Page, select: Sequence[str], item: str | None, rules: Mapping[str, JSONValue]
) -> list[Row]:
    is_json = page.kind == "json"
    if item is not None and is_json:
        found = await _call(ctx, "json", {"page": page, "items": item, "fields": rules or None})
        return cast(list[Row], found["items"])
    if item is not None:
        given = {"page": page, "item_selector": item, "fields": rules or None}
        found = await _call(ctx, "extract_list", given)
        links = [{"url": url} for url in cast(list[str], found["list_item_urls"])]
        return cast(list[Row], found.get("items", links))
    place = "json" if is_json else "selector"
    schema: dict[str, object] = {one: {place: one, "list": True} for one in select}
    schema |= {name: {place: rule} if isinstance(rule, str) else rule for name, rule in rules.items()}
    if schema:
        found = await _call(ctx, "extract_detail", {"page": page, "schema": schema})
        return [cast(Row, found["item"])]
    return []


async def _call(ctx: ActorContext, actor: str, given: Mapping[str, object]) -> Row:
    from agentic.core.pipeline.steps.calls import call_until_done, results_of

    return results_of(await call_until_done(get_registry().actors[actor], ctx, given))
