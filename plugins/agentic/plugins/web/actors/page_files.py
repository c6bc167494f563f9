"""The actor that finds the files of a page: images, documents, sounds, films."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from agentic.core.actors import Actor, ActorContext, FilesOutput, Page
from agentic.core.http import url_key
from agentic.core.reading.addresses import absolute, base_of
from agentic.plugins.web.reading.file_addresses import FileAddresses
from agentic.plugins.web.reading.html import document_of
from agentic.plugins.web.reading.selectors import Selector

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
        base = base_of(document, page.final_url)
        elements = document.select(given.select)
        reading = FileAddresses(given.attr)
        found: dict[str, str] = {}
        unusable: list[str] = []
        for address in (address for element in elements for address in reading.of(element)):
            url = absolute(base, address, page.encoding)
            if url is None:
                unusable.append(address)
            elif len(found) < given.max_per_page:
                found.setdefault(url_key(url), url)
            elif url_key(url) not in found:
                limit = f"{page.final_url} has more than {given.max_per_page} files; see max_per_page"
                ctx.warn_about("files above max_per_page", limit)
                break
        if unusable:
            count = f"{len(unusable)} addresses on {page.final_url} are not the URL of a file"
            ctx.warn_about("addresses of files", f"{count}: {unusable[0][:200]!r}")
        if reading.is_cut:
            cut = f"some elements that {given.select!r} selects on {page.final_url} hold too many others"
            ctx.warn_about("elements with too many others inside", f"{cut}; select those with the URL")
        elif elements and not (found or unusable) and "data:" not in page.text:
            empty = (
                f"{given.select!r} fits {len(elements)} elements on {page.final_url}, but none names a file"
            )
            ctx.warn_about("elements without files", f"{empty}; name the attribute with its URL in attr")
        return FilesOutput(file_urls=tuple(found.values()))
