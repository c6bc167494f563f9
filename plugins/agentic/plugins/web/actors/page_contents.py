"""The actor that reads of a page what a crawl is to keep of it."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, Field
from turbohtml import Document, Element

from agentic.core.actors import Actor, ActorContext, ContentsOutput, Page, PageLink
from agentic.core.http import canonical_url
from agentic.core.reading.addresses import absolute, base_of
from agentic.plugins.web.reading.html import (
    UNSEEN,
    canonical_url_of,
    document_of,
    language_of,
    parse_apart,
    text_of,
)

LINKS = "a[href], area[href]"
MAX_TEXT = 500
"""Characters stored of a link's text: some links contain a whole card."""


class PageContentsInput(BaseModel):
    """A page, and what to read of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page: Page
    links: bool = Field(default=False, description="All links of the page.")
    text: bool = Field(default=False, description="Readable text of the page.")
    markdown: bool = Field(default=False, description="Readable text as Markdown.")
    html: bool = Field(default=False, description="Raw body of the page.")


class PageContentsActor(Actor[PageContentsInput, ContentsOutput]):
    """Extracts the links, text and markup of a whole page, to store them.

    What is no HTML has no links; its text and its raw body are the body, if that is text.
    """

    name = "page_contents"
    version = "1"
    Input = PageContentsInput
    Output = ContentsOutput
    failure_classes = frozenset({"too_large"})

    async def run(self, ctx: ActorContext, given: PageContentsInput, /) -> ContentsOutput:  # noqa: ARG002 - as declared
        """Return what was asked for."""
        page = given.page
        if not page.is_html:
            return _of_no_html(given)
        document = document_of(page)
        return ContentsOutput(
            canonical_url=canonical_url_of(document, page.final_url),
            language=language_of(document),
            text=text_of_page(page) if given.text else None,
            markdown=markdown_of(page) if given.markdown else None,
            html=page.text if given.html else None,
            links=tuple(links_of(document, page.final_url, page.encoding)) if given.links else None,
        )


def links_of(document: Document, url: str, encoding: str = "utf-8") -> Iterator[PageLink]:
    """Yield each page that a page from ``url`` links to once, in order; marks on the page itself are none."""
    base = base_of(document, url)
    found: dict[str, tuple[str, list[Element]]] = {}
    for node in document.select(LINKS):
        address = (node.attr("href") or "").partition("#")[0]
        if address and (target := absolute(base, address, encoding)) is not None:
            found.setdefault(canonical_url(target), (target, []))[1].append(node)
    for target, nodes in found.values():
        common = set.intersection(*(_words(node) for node in nodes))
        texts = (text for node in nodes if (text := text_of(node)))
        yield PageLink(url=target, rel=" ".join(sorted(common)), text=next(texts, "")[:MAX_TEXT])


def text_of_page(page: Page) -> str:
    """Return the words of a page: blocks with an empty line between them, tables in columns."""
    body = _seen(page).select_one("body")
    return body.to_text().strip() if body is not None else ""


def markdown_of(page: Page) -> str:
    """Return a page as Markdown, with absolute addresses."""
    document = _seen(page)
    base = base_of(document, page.final_url)
    document.rewrite_links(lambda address: absolute(base, address, page.encoding))
    return document.to_markdown().strip()


def _seen(page: Page) -> Document:
    document = parse_apart(page.text)
    document.remove(UNSEEN)
    return document


def _of_no_html(given: PageContentsInput) -> ContentsOutput:
    return ContentsOutput(
        text=given.page.text if given.text else None,
        markdown="" if given.markdown else None,
        html=given.page.text if given.html else None,
        links=() if given.links else None,
    )


def _words(node: Element) -> set[str]:
    return set((node.attr("rel") or "").lower().split())
