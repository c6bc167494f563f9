"""The actor that reads the article of a page, without what stands around it."""

from __future__ import annotations

from typing import cast

from pydantic import BaseModel, ConfigDict, Field

from agentic.core.actors import Actor, ActorContext, ActorError, ItemOutput, Page
from agentic.core.reading.extras import load, require
from agentic.core.reading.isolated import IsolatedCallError, ProcessEndedError, call_isolated
from agentic.core.threads import in_spare_thread
from agentic.core.types import JSONValue
from agentic.plugins.web.reading.html import canonical_url_of, document_of, language_of

MAX_TAGS = 60_000
"""Maximum number of tags of a page with an article."""


class ArticleInput(BaseModel):
    """A page with an article."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page: Page
    links: bool = Field(default=False, description="Keep links in the Markdown.")
    tables: bool = Field(default=True, description="Keep tables.")


class ArticleActor(Actor[ArticleInput, ItemOutput]):
    """Extracts an article: text, author and date. Needs the extra ``article``.

    The item has ``url``, ``canonical_url``, ``title``, ``author``, ``date``, ``language``, ``description``,
    ``site_name``, ``text`` and ``markdown``; what the page does not tell is null.
    """

    name = "article"
    version = "1"
    Input = ArticleInput
    Output = ItemOutput
    failure_classes = frozenset({"empty", "error", "not_html", "too_large"})

    async def run(self, ctx: ActorContext, given: ArticleInput, /) -> ItemOutput:  # noqa: ARG002 - as declared
        """Return the item."""
        document = document_of(given.page)
        found = await in_spare_thread(read_article, given)
        if found is None:
            raise ActorError(
                f"{given.page.final_url} has no article; read it with `extract_detail`, or fetch it with "
                f"mode: browser if a script writes it",
                failure_class="empty",
                status=given.page.status,
            )
        url = given.page.final_url
        language = found.pop("language") or language_of(document)
        item: dict[str, JSONValue] = {"url": url, "canonical_url": canonical_url_of(document, url)}
        return ItemOutput(item={**item, "language": language, **found})


def read_article(given: ArticleInput) -> dict[str, JSONValue] | None:
    """Return the article's words and what is known of it, None if there is none. Blocks for 20 to 40 ms.

    Raises:
        ActorError: The page has so many tags that it would take seconds, or keeps the library busy for longer
            than it may (``too_large``); or the library failed (``error``).
        MissingExtraError: trafilatura is not installed.
    """
    # trafilatura takes time by the square of their number: 64,000 take 3 s.
    if (count := given.page.text.count("<")) > MAX_TAGS:
        message = f"{given.page.final_url} has {count:,} tags; the limit for an article is {MAX_TAGS:,}"
        raise ActorError(f"{message}; read it with extract_detail", failure_class="too_large")
    require("trafilatura", "article")
    try:
        # 20 KB of `{` for the name of an author keep its regular expressions busy for minutes.
        found = call_isolated(f"{__name__}:{extract_article.__name__}", given.model_dump_json().encode())
    except IsolatedCallError as exc:
        is_too_large = isinstance(exc, ProcessEndedError) and exc.is_limit
        message = f"no article was read from {given.page.final_url}: {exc}; read it with extract_detail"
        raise ActorError(message, failure_class="too_large" if is_too_large else "error") from None
    return cast("dict[str, JSONValue] | None", found)


def extract_article(payload: bytes) -> JSONValue:
    """Return what :func:`read_article` does, for the process that it calls this in.

    Args:
        payload: An :class:`ArticleInput` in JSON.
    """
    given = ArticleInput.model_validate_json(payload)
    trafilatura = load("trafilatura", "article")
    found = trafilatura.bare_extraction(
        given.page.text,
        url=given.page.final_url,
        fast=True,
        with_metadata=True,
        include_comments=False,
        include_tables=given.tables,
        include_links=given.links,
        include_formatting=True,
    )
    if found is None or not found.text:
        return None
    plain = load("trafilatura.xml", "article").xmltotxt(found.body, include_formatting=False)
    return {
        "title": found.title,
        "author": found.author,
        "date": found.date,
        "language": found.language,
        "description": found.description,
        "site_name": found.sitename,
        "text": plain.strip(),
        "markdown": found.text.strip(),
    }
