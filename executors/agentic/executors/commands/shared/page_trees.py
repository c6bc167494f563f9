"""Pages that a command fetches to look at their elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from agentic.core.errors import AgenticError
from agentic.core.hooks import get_registry
from agentic.executors.commands.shared.options import OptionError

if TYPE_CHECKING:
    from agentic.core.actors import Page
    from agentic.core.wrappers import PageTree


async def fetch_pages(urls: Sequence[str], private_hosts: Sequence[str]) -> list[Page]:
    """Return pages as the actor ``fetch`` gets them, in the order of their addresses.

    Raises:
        OptionError: A host is private, and may not be asked.
        AgenticError: A page cannot be fetched.
    """
    from agentic.core.actors import ActorContext, PageOutput
    from agentic.core.http import HttpPolicy, open_fetcher
    from agentic.core.pipeline.steps.calls import call_until_done

    fetch = get_registry().actors["fetch"]
    try:
        async with open_fetcher(HttpPolicy(allow_private_hosts=tuple(private_hosts))) as http:
            ctx = ActorContext(http=http)
            given: list[Mapping[str, object]] = [{"url": url, "mode": "http"} for url in urls]
            return [cast(PageOutput, await call_until_done(fetch, ctx, one)).page for one in given]
    except AgenticError as exc:
        if getattr(exc, "failure_class", "") != "private_address":
            raise
        raise OptionError(f"{exc}, here with --allow-private-host") from exc


def tree_of(page: Page) -> PageTree:
    """Return the elements of a page.

    Raises:
        OptionError: It is not HTML.
    """
    from turbohtml import parse

    from agentic.core.wrappers import PageTree

    if not page.is_html:
        raise OptionError(f"{page.final_url} is {page.content_type}, not HTML; give a page that people read")
    return PageTree(parse(page.text, positions=False), page.final_url)
