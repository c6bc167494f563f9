"""The files of the pages of a crawl: images, documents."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import cast
from urllib.parse import unquote, urlsplit

from agentic.core.actors import (
    Actor,
    ActorContext,
    Failure,
    FilesOutput,
    ItemsOutput,
    Page,
    describe_failure,
)
from agentic.core.http import HttpError, url_key
from agentic.core.http.politeness.slots import idle
from agentic.core.pipeline.crawl.follow import CrawlScope, fits_page
from agentic.core.pipeline.crawl.repeated import RepeatedInput
from agentic.core.pipeline.crawl.store import PageWarning
from agentic.core.pipeline.expressions.secret_masking import Hidden
from agentic.core.pipeline.policies.attempts import retrying
from agentic.core.pipeline.policies.policies import Levels
from agentic.core.pipeline.spec.spec import FileRules, PageActor
from agentic.core.pipeline.steps.calls import call_until_done
from agentic.core.types import JSONValue, RunId

MOST_KNOWN = 10_000
"""Files that the crawls of a step remember in a process: the same logo is on each page."""

_ENDINGS = """
    7z aac apk avi avif bmp bz2 dmg doc docx eps epub exe flac gif gz heic ico iso jar jpe jpeg jpg jxl m4a
    m4v mkv mobi mov mp3 mp4 mpeg mpg msi odp ods odt ogg ogv opus otf pdf png ppt pptx ps psd rar
    rpm rtf svg tar tgz tif tiff ttf wav webm webp wma wmv woff woff2 xls xlsx xz zip zst
"""
_NO_PAGES = frozenset(_ENDINGS.split())
"""Endings of files. A link to such a file does not lead to a page."""

FileFacts = Mapping[str, JSONValue]
FileKey = tuple[RunId, str]


class KnownFiles:
    """The files that a process has downloaded for its crawls, or is downloading, and those that failed."""

    def __init__(self) -> None:
        self._known: OrderedDict[FileKey, FileFacts | None] = OrderedDict()
        self._running: dict[FileKey, asyncio.Event] = {}

    async def once(self, key: FileKey, load: Callable[[], Awaitable[FileFacts | None]]) -> FileFacts | None:
        """Return the facts of a file that was downloaded before, or download it; None if that failed."""
        while (running := self._running.get(key)) is not None:
            async with idle(in_turn=True):
                await running.wait()
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        self._running[key] = asyncio.Event()
        try:
            self._known[key] = found = await load()
        finally:  # if it was cancelled, the next page that waits for it downloads it
            self._running.pop(key).set()
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return found


class PageFiles:
    """Finds and downloads the files of the pages of a crawl.

    Args:
        rules: Which files; references replaced.
        callers: The actors that find them and download them, with their configs.
        actors: Actors by name.
        context: The context of the actors.
        levels: Rules for failures, nearest first.
        hidden: Secrets that no message may hold.
        scope: The crawl's borders, and its credentials.
        run_id: Of the crawl.
        known: Files of the crawls of this step.
    """

    def __init__(  # noqa: PLR0913 - what the pages of a crawl have, and the rules
        self,
        rules: FileRules,
        callers: Sequence[PageActor],
        *,
        actors: Mapping[str, type[Actor]],
        context: ActorContext,
        levels: Levels,
        hidden: Hidden,
        scope: CrawlScope,
        run_id: RunId,
        known: KnownFiles,
    ) -> None:
        self._rules = rules
        self._finding, self._loading = callers
        self._finder = actors[self._finding.actor]
        self._loader = actors[self._loading.actor]
        self._context = context
        self._retry = retrying(levels, hidden)
        self._hidden = hidden
        self._scope = scope
        self._run_id = run_id
        self._known = known
        self._input: RepeatedInput | None = None

    async def find(self, page: Page, warnings: list[PageWarning]) -> Sequence[str]:
        """Return the URLs of the files of a page."""
        if page.kind not in self._finder.reads or not fits_page(page.final_url, self._rules.match):
            return ()

        def tally(subject: str, sentence: str) -> None:
            warnings.append(PageWarning(subject, sentence))

        if self._input is None:
            self._input = RepeatedInput(self._finder, self._finding.config, "page", page)
        context = self._context.for_call(self._context.call, tally=tally)
        return cast(FilesOutput, await call_until_done(self._finder, context, self._input.of(page))).file_urls

    async def load(
        self, page: Page, urls: Sequence[str], warnings: list[PageWarning]
    ) -> tuple[FileFacts, ...]:
        """Download files of a page, one after the other; each failed one is a warning."""
        failed: set[str] = set()

        def note(url: str, failure: Failure) -> None:
            word = failure.failure_class
            sentence = f"{url} was not downloaded ({word}): {failure.message}"
            # One example of a page is enough: a thousand of them would be stored with each page.
            warnings.append(PageWarning(f"files with {word}", "" if word in failed else sentence))
            failed.add(word)

        found: list[FileFacts] = []
        for url in urls:  # a page waits in its own task: so it leaves its slot to others meanwhile
            file = await self._known.once((self._run_id, url_key(url)), lambda: self._load(url, page, note))  # noqa: B023 - awaited at once
            if file is not None:
                found.append(file)
        return tuple(found)

    async def _load(self, url: str, page: Page, note: Callable[[str, Failure], None]) -> FileFacts | None:
        credentials = self._scope.credentials
        given = {
            **self._loading.config,
            "url": credentials.applied(url) if credentials else url,
            "headers": {"referer": _site(page.final_url)},
        }
        items: list[FileFacts] = []

        async def attempt() -> None:
            output = cast(ItemsOutput, await call_until_done(self._loader, self._context, given))
            items.extend(output.items or ())

        kept = self._scope.kept(url)
        try:
            await self._retry(kept, attempt)
        except Exception as exc:
            note(kept, self._hidden.failure(describe_failure(exc)))
            return None
        item = items[0]
        return {**item, "url": kept, "final_url": self._scope.kept(str(item["final_url"]))}


def without_files(links: Iterable[str], files: Collection[str]) -> list[str]:
    """Return the links of a page that lead to pages: a download by its ending is not one as well."""
    keys = {url_key(url) for url in files if _is_no_page(url)}
    return [url for url in links if _key(url) not in keys] if keys else [*links]


def _site(url: str) -> str:
    """Return the address that browsers send to other hosts as ``Referer``: some hosts require it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/"


def _is_no_page(url: str) -> bool:
    name = unquote(urlsplit(url).path).rpartition("/")[2]
    return name.rpartition(".")[2].lower() in _NO_PAGES if "." in name else False


def _key(url: str) -> str | None:
    try:
        return url_key(url)
    except HttpError:
        return None
