"""Pages and items to rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import select

from agentic.core.http import url_key
from agentic.core.pipeline import (
    ATTEMPTS,
    CrawledPage,
    FailedPage,
    PipelineResult,
    attempt_records,
    items_of,
)
from agentic.core.pipeline.crawl.page_items import key_text
from agentic.core.types import JSONValue, SaveCounts
from agentic.mappers import CLEARED, ResultMapper, utc_now
from agentic.plugins.web.keeping import (
    Kept,
    content_rows,
    drop_gone_links,
    file_rows,
    kept_of,
    links_in,
    unsaved_files,
)
from agentic.plugins.web.models import (
    ItemModel,
    WebContentModel,
    WebFileModel,
    WebLinkModel,
    WebPageModel,
)
from agentic.plugins.web.storage import HEAD_COLUMNS, without_newer

WAYS = ("fetched_at", "fetched_by", "attempts")
"""Columns about the fetch of a page, not its content."""


class _Item(NamedTuple):
    key: str | None
    data: Mapping[str, JSONValue]
    attempts: object
    key_field: str = ""
    version: int | None = None


class WebResultMapper(ResultMapper):
    """Upserts pages by address and items by pipeline and key.

    A crawl stores its pages while it goes on, by :meth:`save_pages`; :meth:`save_results` stores what the
    other steps gave, and counts the crawl's rows with its own.
    """

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store the result of a pipeline."""
        if not self.save_agent_result(results):
            return False
        result = PipelineResult.model_validate(results)
        self._save_items(result.pipeline, [_item(item, result.item_key) for item in result.items])
        if pages := result.pages:
            self.counts += SaveCounts(pages.inserted, pages.updated, pages.unchanged, pages.rejected)
        for failed in result.failed_items:
            self.warn(
                f"{failed.step} failed for {failed.item!r:.200} ({failed.failure_class}): {failed.message}"
            )
        return True

    def save_pages(self, pipeline: str, pages: Sequence[CrawledPage]) -> SaveCounts:
        """Store pages of a crawl and the items on them; return what became of the rows."""
        pages = without_newer(self.db_session, self.agent, pipeline, pages)
        # When a page is fetched again and is the same, only time and ways differ: that is no update.
        rows = (page_row(page) for page in pages if page.has_row)
        saved = self.save_rows(WebPageModel, rows, volatile=WAYS)
        items = [
            _Item(*item, _tries(page), version=page.version) for page in pages for item in items_of(page)
        ]
        saved += self._save_items(pipeline, items)
        if kept := kept_of(pages):
            saved += self._keep(kept)
        return saved + self._save_files(files) if (files := file_rows(pages)) else saved

    def mark_gone(self, pages: Sequence[FailedPage]) -> SaveCounts:
        """Mark the stored rows of pages that are not there any more; return what became of the rows."""
        found = {url_key(page.url): page.gone_status for page in pages}
        stored = (WebPageModel.project_id == self.agent.project_id, WebPageModel.url_key.in_(found))
        query = select(WebPageModel.url_key, WebPageModel.gone_at).where(*stored)
        # Who has a row locked stores that page right now, and may wait for rows of ours.
        known = self.db_session.execute(query.with_for_update(skip_locked=True)).all()
        rows = [
            {"url_key": key, "status": found[key], "gone_at": gone_at or utc_now()} for key, gone_at in known
        ]
        return self.save_rows(WebPageModel, rows, volatile=WAYS)

    def _keep(self, kept: Kept) -> SaveCounts:
        """Store what else a crawl keeps of pages; the links of a page take the place of those it had."""
        saved = self.save_rows(WebContentModel, content_rows(kept), volatile=HEAD_COLUMNS)
        links = links_in(kept)
        saved += self.save_rows(WebLinkModel, links.values())
        drop_gone_links(self.db_session, self.agent.project_id, kept, links)
        return saved

    def _save_files(self, files: Mapping[str, Mapping[str, object]]) -> SaveCounts:
        """Store the files of pages; another page that names a file does not count as an update."""
        rows = unsaved_files(self.db_session, self.agent.project_id, self.execution_id, files)
        return self.save_rows(WebFileModel, [*rows], volatile=["page_url"])

    def _save_items(self, pipeline: str, items: Sequence[_Item]) -> SaveCounts:
        rows = (
            {
                "pipeline": pipeline,
                "key": item.key,
                "data": dict(item.data),
                "attempts": item.attempts,
                "pipeline_version": CLEARED if item.version is None else item.version,
            }
            for item in items
            if item.key is not None
        )
        saved = self.save_rows(ItemModel, rows, volatile=["attempts", "pipeline_version"])
        rejected = SaveCounts(rejected=sum(map(self._lacks_key, items)))
        self.counts += rejected
        return saved + rejected

    def _lacks_key(self, item: _Item) -> bool:
        if item.key is None:
            lacking = f"no {item.key_field!r}" if item.key_field else "not the field"
            self.warn(
                f"an item was rejected: it has {lacking} that `item_key` names as identifier; set item_key "
                f"to one of: {', '.join(_with_values(item.data)) or 'none'}"
            )
        return item.key is None


def page_row(page: CrawledPage) -> dict[str, object]:
    """Return the columns of a page; the hash of its body makes a change of anything on it an update."""
    return {
        "url_key": url_key(page.final_url),
        "url": page.final_url,
        "status": page.status,
        "gone_at": CLEARED,
        "content_type": page.content_type or CLEARED,
        "title": CLEARED if page.title is None else page.title,
        "fetched_at": page.fetched_at,
        "fetched_by": page.fetched_by,
        "attempts": _tries(page),
        "content_hash": page.content_hash,
    }


def _item(item: Mapping[str, JSONValue], name: str) -> _Item:
    value = item.get(name)
    data = {key: part for key, part in item.items() if key != ATTEMPTS}
    return _Item(key_text(value), data, item.get(ATTEMPTS), name)


def _with_values(data: Mapping[str, JSONValue]) -> list[str]:
    """Return the fields that could tell items apart."""
    return [name for name, value in data.items() if value is not None and not isinstance(value, (dict, list))]


def _tries(page: CrawledPage) -> object:
    """Return every try; where one was enough, those of an earlier time go, unless this is from storage."""
    return attempt_records(page.attempts) or (None if page.is_reread else CLEARED)
