"""Firecrawl's documents of pages.

It answers for a refusing site as for any other: the status is in the metadata. So the answer is judged by
the fetcher's own rules, as if we had fetched the page ourselves.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, cast

from agentic.core.actors import ActorContext, ActorError, Page
from agentic.core.http import Headers, HttpRequest, HttpResponse
from agentic.core.http.resolving import request_url
from agentic.core.masking import mask_known
from agentic.core.types import JSONValue

Document = dict[str, JSONValue]

FETCHED_BY = "firecrawl"
SHOWN = ("title", "description", "language")
CONTENTS = ("markdown", "html", "links")


def plain(document: Any) -> Document:  # noqa: ANN401 - of the client, which is not typed
    """Return a document of the client as data, with the client's names and without nulls."""
    return cast(Document, document.model_dump(mode="json", exclude_none=True))


def metadata_of(document: Document) -> dict[str, JSONValue]:
    """Return the service's metadata of a page."""
    metadata = document.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def page_of(asked_url: str, document: Document, now: datetime) -> Page:
    """Return the page as the site returned it.

    Raises:
        ActorError: The service only reports an error (``error``).
        InvalidUrlError: The page has an invalid address.
    """
    metadata = metadata_of(document)
    text = str(document.get("raw_html", ""))
    return Page(
        url=asked_url,
        final_url=request_url(str(metadata.get("url") or metadata.get("source_url") or asked_url)),
        status=_status(asked_url, metadata),
        content_type=str(metadata.get("content_type", "")).partition(";")[0].strip().lower(),
        text=text,
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        fetched_at=now,
        fetched_by=FETCHED_BY,
    )


def summary_of(document: Document) -> dict[str, JSONValue]:
    """Return the summary of a page for lists: address, status, title, and the requested formats."""
    metadata = metadata_of(document)
    told = {name: metadata[name] for name in SHOWN if name in metadata}
    return {
        "url": metadata.get("url") or metadata.get("source_url"),
        "status": metadata.get("status_code"),
        **told,
        **_made(document),
    }


def record_of(document: Document, url: str, status: JSONValue, item: dict[str, JSONValue]) -> Document:
    """Return all data of a page: the requested formats, the service's metadata, the item of a model.

    Args:
        document: Of the service.
        url: Of the page.
        status: The site's.
        item: Read by a model; empty without one.
    """
    record = {"url": url, "status": status, **_made(document), "metadata": metadata_of(document)}
    return {**record, "item": item} if item else record


async def judge(ctx: ActorContext, page: Page) -> None:
    """Refuse pages that the fetcher would refuse: a status from 400 on, a challenge instead of the page.

    Raises:
        FetchError: It is refused; the failure class says why.
    """
    response = HttpResponse(
        url=page.final_url,
        status=page.status,
        headers=Headers([("content-type", page.content_type)]),
        body=page.text.encode(),
    )
    await ctx.http.judge(HttpRequest(url=page.url), response)


def _made(document: Document) -> Document:
    return {name: document[name] for name in CONTENTS if name in document}


def _status(asked_url: str, metadata: dict[str, JSONValue]) -> int:
    status = metadata.get("status_code")
    if isinstance(status, int) and status > 0:
        return status
    if error := metadata.get("error"):
        said = mask_known(str(error))[:200]
        message = f"Firecrawl has no page of {asked_url}: {said}; try again, or fetch it another way"
        raise ActorError(message, failure_class="error")
    return 200
