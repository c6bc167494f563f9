"""Pages and items to rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentic.core.http import url_key
from agentic.core.pipeline import CrawledPage, PipelineResult
from agentic.core.types import JSONValue, SaveCounts
from agentic.mappers import ResultMapper
from agentic.plugins.web.models import ItemModel, WebPageModel


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
        self._save_items(result.pipeline, [(_key(item, result.item_key), item) for item in result.items])
        if pages := result.pages:
            self.counts += SaveCounts(pages.inserted, pages.updated, pages.unchanged, pages.rejected)
        for failed in result.failed_items:
            self.warn(
                f"{failed.step} gave up {failed.item!r:.200} ({failed.failure_class}): {failed.message}"
            )
        return True

    def save_pages(self, pipeline: str, pages: Sequence[CrawledPage]) -> SaveCounts:
        """Store pages of a crawl and the items on them; return what became of the rows."""
        # When a page is fetched again and is the same, only the time differs: that is no update.
        saved = self.save_rows(WebPageModel, map(page_row, pages), volatile=["fetched_at"])
        items = [(page.item_key, dict(page.fields)) for page in pages if page.fields]
        return saved + self._save_items(pipeline, items)

    def _save_items(
        self, pipeline: str, items: Sequence[tuple[str | None, dict[str, JSONValue]]]
    ) -> SaveCounts:
        rows = ({"pipeline": pipeline, "key": key, "data": data} for key, data in items)
        return self.save_rows(ItemModel, rows)


def page_row(page: CrawledPage) -> dict[str, object]:
    """Return the columns of a page; the hash of its body makes a change of anything on it an update."""
    return {
        "url_key": url_key(page.final_url),
        "url": page.final_url,
        "status": page.status,
        "content_type": page.content_type or None,
        "title": page.title,
        "fetched_at": page.fetched_at,
        "content_hash": page.content_hash,
    }


def _key(item: Mapping[str, JSONValue], name: str) -> str | None:
    value = item.get(name)
    return None if value is None else str(value)
