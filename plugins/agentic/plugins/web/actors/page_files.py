"""The actor that finds the files of a page: images, documents, sounds, films."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from agentic.core.actors import Actor, ActorContext, FilesOutput, Page
from agentic.core.http import url_key
from agentic.core.reading.addresses import absolute
from agentic.plugins.web.reading.file_addresses import addresses_of
from agentic.plugins.web.reading.html import Selector, base_of, document_of

MAX_PER_PAGE = 100


class PageFilesInput(BaseModel):
    """A page, and which of its files to find."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    page: Page
    select: Selector = Field(description="Elements that name files: img, a[href$='.pdf' i].")
    attr: str | None = Field(
        default=None,
        min_length=1,
        description="Attribute with the URL. Default: src, srcset, href and so on.",
    )
    max_per_page: PositiveInt = Field(default=MAX_PER_PAGE, description="Largest number of files.")


class PageFilesActor(Actor[PageFilesInput, FilesOutput]):
    """Finds the files that elements of a page name, for ``download``.

    Of an image in several sizes (``srcset``) it takes the largest, of a lazy image the image
    (``data-src``) and not the placeholder, and of a film also its ``poster``. Files inside the page
    (``data:``) are left out.
    """

    name = "page_files"
    version = "1"
    Input = PageFilesInput
    Output = FilesOutput
    failure_classes = frozenset({"not_html", "too_large"})

    async def run(self, ctx: ActorContext, given: PageFilesInput, /) -> FilesOutput:
        """Return the URLs."""
        page = given.page
        document = document_of(page)
        elements = document.select(given.select)
        addresses = [address for element in elements for address in addresses_of(element, given.attr)]
        if not elements:
            return FilesOutput(file_urls=())
        base = base_of(document, page.final_url)
        found: dict[str, str] = {}
        for address in addresses:
            url = absolute(base, address, page.encoding)
            if url is not None:
                found.setdefault(url_key(url), url)
            else:
                ctx.warn_about(
                    "addresses of files", f"{address[:200]!r} on {page.final_url} is not a URL of a file"
                )
        if not addresses and not _holds_data(page.text):
            message = (
                f"{given.select!r} fits {len(elements)} elements on {page.final_url}, but none names a file"
            )
            ctx.warn_about("elements without files", f"{message}; name the attribute with its URL in attr")
        if (more := len(found) - given.max_per_page) > 0:
            message = f"{page.final_url} has {len(found)} files, and {more} were left out; see max_per_page"
            ctx.warn_about("files above max_per_page", message)
        return FilesOutput(file_urls=tuple(found.values())[: given.max_per_page])


def _holds_data(text: str) -> bool:
    """Whether a page may hold files itself."""
    return "data:" in text
