"""The actor that downloads files: images, documents, archives."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Annotated, cast
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from agentic.core.actors import Actor, ActorContext, ActorError, FromResults, ItemsOutput
from agentic.core.actors.ports import IncomingFile, StoredFile
from agentic.core.http import FetchError, HttpRequest, HttpResponse, url_key
from agentic.core.http.resolving import request_url
from agentic.core.threads import in_thread
from agentic.core.types import JSONValue
from agentic.plugins.web.login.sessions import used_session

MAX_BYTES = 100_000_000
TIMEOUT_S = 600.0
AT_ONCE = 8
"""Files of one call that are downloaded at a time; hosts have limits of their own."""

UNKNOWN = frozenset({"", "application/octet-stream", "binary/octet-stream"})
"""Media types that say nothing."""

Item = dict[str, JSONValue]


class DownloadInput(BaseModel):
    """What to download, and where to."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str | tuple[str, ...] = Field(description="URL of a file, or a list of them.")
    folder: str = Field(
        default="downloads",
        min_length=1,
        description="Folder below the project's files, or a URL of an object store: s3://bucket/images.",
    )
    types: tuple[Annotated[str, Field(pattern=r"^[\w.+-]+(/[\w.+*-]+)?$")], ...] = Field(
        default=(), description="Media types to accept, such as image/*; all others fail with wrong_type."
    )
    max_bytes: PositiveInt = Field(default=MAX_BYTES, description="Largest file.")
    timeout_s: PositiveFloat = Field(default=TIMEOUT_S, description="Timeout for each file.")
    headers: dict[str, str] = Field(default_factory=dict, description="Headers of each request.")
    session: Annotated[str | None, FromResults()] = Field(
        default=None, description="Name of a login session."
    )

    @property
    def urls(self) -> Sequence[str]:
        """The URLs, each once."""
        return tuple(dict.fromkeys([self.url] if isinstance(self.url, str) else self.url))


class DownloadActor(Actor[DownloadInput, ItemsOutput]):
    """Downloads files, each once, named by their content, and returns an item for each.

    An item has ``url``, ``final_url``, ``path``, ``sha256``, ``size_bytes``, ``media_type``; images have
    ``width`` and ``height``, too. A file is stored whole or not at all. A site that says that a file has not
    changed does not send it again. If some of several files fail, the others are kept, with a warning.
    """

    name = "download"
    version = "1"
    has_effect = True
    Input = DownloadInput
    Output = ItemsOutput
    failure_classes = frozenset({"error", "wrong_type"})
    capabilities = frozenset({"network"})

    async def run(self, ctx: ActorContext, given: DownloadInput, /) -> ItemsOutput:
        """Return the items."""
        free = asyncio.Semaphore(AT_ONCE)

        async def attempt(url: str) -> Item | ActorError | FetchError:
            async with free:
                try:
                    return await _download(ctx, given, url)
                except (ActorError, FetchError) as exc:
                    return exc

        found = await asyncio.gather(*map(attempt, given.urls))
        faults = [one for one in found if isinstance(one, Exception)]
        if faults and len(faults) == len(found):
            raise faults[0]
        for fault in faults:
            ctx.warn(str(fault))
        return ItemsOutput(items=tuple(one for one in found if not isinstance(one, Exception)))


async def _download(ctx: ActorContext, given: DownloadInput, url: str) -> Item:
    memory_key = f"download/{url_key(url)}"
    known = await _known(ctx, given, memory_key)
    async with ctx.files.receive(given.folder) as file, used_session(ctx, given.session) as session:
        body = _Body(file, given, url)
        response = await ctx.http.fetch(
            HttpRequest(
                url=url,
                headers={"accept": "*/*", **_conditions(known), **given.headers},
                timeout_s=given.timeout_s,
                session=session,
                max_bytes=given.max_bytes,
                sink=body,
            )
        )
        if response.status == 304 and known is not None:
            return {**_addresses(url, response), **cast(Item, known["item"])}
        media_type = body.media_type
        size = await in_thread(lambda: image_size(file.path)) if media_type.startswith("image/") else None
        stored = await file.keep(content_name(file.sha256, media_type, response.url), media_type)
    facts = _facts(stored, size)
    validators = {name: response.headers.get(name) for name in ("etag", "last-modified")}
    # Without its addresses: they may contain a password.
    memory: JSONValue = {"folder": given.folder, "item": facts, **validators}
    await ctx.memory.put(memory_key, memory if any(validators.values()) else None)
    return {**_addresses(url, response), **facts}


async def _known(ctx: ActorContext, given: DownloadInput, key: str) -> Mapping[str, JSONValue] | None:
    """Return the facts of an earlier download to the same folder, if its file still exists."""
    known = await ctx.memory.get(key)
    if not isinstance(known, dict) or known.get("folder") != given.folder:
        return None
    item = known.get("item")
    if not isinstance(item, dict) or not await ctx.files.has(given.folder, str(item.get("path"))):
        return None
    return known


def _conditions(known: Mapping[str, JSONValue] | None) -> dict[str, str]:
    if known is None:
        return {}
    fields = {"if-none-match": known.get("etag"), "if-modified-since": known.get("last-modified")}
    return {name: str(value) for name, value in fields.items() if value}


def _addresses(url: str, response: HttpResponse) -> Item:
    return {"url": url, "final_url": request_url(response.url)}


def _facts(stored: StoredFile, size: tuple[int, int] | None) -> Item:
    facts: Item = asdict(stored)
    return facts if size is None else {**facts, "width": size[0], "height": size[1]}


class _Body:
    """Writes the body to a file, if it has a wanted type."""

    def __init__(self, file: IncomingFile, given: DownloadInput, url: str) -> None:
        self._file = file
        self._given = given
        self._url = url
        self.media_type = ""

    def begin(self, content_type: str) -> None:
        self._file.restart()
        self.media_type = media_type_of(content_type, self._url)
        wanted = self._given.types
        if wanted and not any(is_of_type(self.media_type, pattern) for pattern in wanted):
            kind = self.media_type or "of an unknown type"
            message = f"{self._url} is {kind}; accepted types: {', '.join(wanted)}"
            raise ActorError(message, failure_class="wrong_type")

    def write(self, data: bytes) -> None:
        self._file.write(data)


def media_type_of(content_type: str, url: str) -> str:
    """Return the media type of a file: as the server says, or else by the ending of its URL."""
    said = content_type.partition(";")[0].strip().lower()
    if said not in UNKNOWN:
        return said
    return mimetypes.guess_type(unquote(urlsplit(url).path))[0] or said


def is_of_type(media_type: str, wanted: str) -> bool:
    """Whether a media type is the wanted one, or of its family: ``image/*``."""
    family, _, rest = wanted.lower().partition("/")
    return (rest in ("", "*") and media_type.startswith(f"{family}/")) or media_type == wanted.lower()


def content_name(sha256: str, media_type: str, url: str) -> str:
    """Return the name of a file by its content: ``1f/1f0c9a7e....png``."""
    ending = mimetypes.guess_extension(media_type) if media_type not in UNKNOWN else None
    if ending is None:
        suffix = PurePosixPath(unquote(urlsplit(url).path)).suffix.lower()
        ending = suffix if len(suffix) <= 8 and suffix[1:].isalnum() and suffix.isascii() else ""
    return f"{sha256[:2]}/{sha256}{ending}"


def image_size(path: Path) -> tuple[int, int] | None:
    """Return width and height of an image, None if they cannot be read."""
    import imagesize

    with suppress(Exception):  # whatever a broken file does to a reader
        width, height = imagesize.get(path)
        if width > 0 and height > 0:
            return int(width), int(height)
    return None
