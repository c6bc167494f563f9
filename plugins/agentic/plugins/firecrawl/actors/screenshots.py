"""Screenshots of pages: the service returns their address, and they are saved before they expire."""

from __future__ import annotations

import base64
import binascii
from dataclasses import asdict
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from agentic.core.actors import ActorContext, ActorError
from agentic.core.http import url_key
from agentic.core.linear import LinearPattern
from agentic.plugins.firecrawl.documents import Document

PNG = "image/png"
DATA_URL = LinearPattern(r"\Adata:(image/[a-z]+);base64,")
UNSAFE = LinearPattern("[^a-z0-9.]+")


class WrittenFile(BaseModel):
    """A file that was written; ``path`` is below the project's folder of files."""

    model_config = ConfigDict(frozen=True)

    path: str
    media_type: str
    size_bytes: int
    sha256: str


async def keep_screenshot(ctx: ActorContext, url: str, document: Document) -> WrittenFile:
    """Save the screenshot of a page as a file: ``firecrawl/shop.example-1f0c9a7e.png``.

    The cloud stores screenshots for a day, and they are fetched from there by the pipeline's HTTP rules;
    other services may include them in the answer.

    Raises:
        ActorError: The page has none (``empty``).
        FetchError: It cannot be fetched from the service's address.
    """
    picture = document.get("screenshot")
    if not isinstance(picture, str) or not picture:
        message = f"Firecrawl returned no screenshot of {url}; fetch it with the actor `screenshot`"
        raise ActorError(message, failure_class="empty")
    content, media_type = _sent_along(picture) or await _fetched(ctx, picture)
    name = f"firecrawl/{_slug(url)}-{url_key(url)[:8]}.{media_type.rpartition('/')[2]}"
    return WrittenFile(**asdict(await ctx.files.write(name, content, media_type)))


async def _fetched(ctx: ActorContext, url: str) -> tuple[bytes, str]:
    response = await ctx.http.fetch(url)
    media_type = response.content_type
    return response.body, media_type if media_type.startswith("image/") else PNG


def _sent_along(picture: str) -> tuple[bytes, str] | None:
    if (found := DATA_URL.search(picture[:100])) is None:
        return None
    try:
        return base64.b64decode(picture[found.end :], validate=True), found[1]
    except binascii.Error as exc:
        message = "the screenshot of Firecrawl cannot be read; fetch it with the actor `screenshot`"
        raise ActorError(message, failure_class="decode") from exc


def _slug(url: str) -> str:
    return UNSAFE.sub("-", urlsplit(url).hostname or "").strip(".-")
