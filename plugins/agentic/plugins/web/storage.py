"""Stored pages: the columns for reading a page again, and the page made from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Select, and_, or_, select
from sqlalchemy.orm import Session

from agentic.core.actors import Page
from agentic.core.http import url_key
from agentic.core.pipeline import CrawledPage, PageContents, items_of
from agentic.core.pipeline.crawl.page_items import PageOfItems, key_text
from agentic.core.types import JSONValue
from agentic.mappers import AgentModel
from agentic.plugins.web.models import ItemModel, WebContentModel, WebPageModel

HEAD_COLUMNS = ("fetched_at", "head")
"""Columns about the fetch of a stored page, not its content."""

_NOT_IN_HEAD = {"url", "final_url", "text", "fetched_at"}
"""Fields of a page that other columns have."""


def head_columns(contents: PageContents) -> Mapping[str, object]:
    """Return the columns of ``web_contents`` that make its ``html`` readable again; none without it."""
    if contents.page is None:
        return {}
    head = contents.page.model_dump(mode="json", exclude=_NOT_IN_HEAD)
    return {"fetched_at": contents.page.fetched_at, "head": {**head, "url": contents.requested_url or ""}}


def stored_bodies(agent: AgentModel) -> Select[str]:
    """Return the query for the keys of the pages that an agent can read again.

    A page that it fetched later without storing it is left out: its rows would get older values.
    """
    is_row = and_(
        WebPageModel.project_id == WebContentModel.project_id, WebPageModel.url_key == WebContentModel.url_key
    )
    return (
        select(WebContentModel.url_key)
        .join(WebPageModel, is_row)
        .where(
            WebContentModel.project_id == agent.project_id,
            WebContentModel.html.is_not(None),
            WebContentModel.head.is_not(None),
            or_(WebPageModel.fetched_at <= WebContentModel.fetched_at, WebPageModel.agent_id != agent.id),
        )
    )


def load_page(session: Session, project_id: str, key: str) -> Page | None:
    """Return a stored page as it was when it was fetched.

    Its ``url`` is "" unless a refresh led to it: several pages of a crawl may lead to one.
    """
    row = session.get(WebContentModel, {"project_id": project_id, "url_key": key})
    if row is None or row.html is None or row.head is None or row.fetched_at is None:
        return None
    values = {**row.head, "final_url": row.url, "text": row.html, "fetched_at": row.fetched_at}
    return Page.model_validate(values)


def stored_items(
    session: Session, project_id: str, pipeline: str, urls: Sequence[str]
) -> Mapping[str, Mapping[str, JSONValue]]:
    """Return the items of pages, by URL as given.

    A pipeline whose items have another key than ``url`` needs a look through all of them.
    """
    keys = {key_text(url) or url: url for url in urls}
    query = select(ItemModel.key, ItemModel.data).where(
        ItemModel.project_id == project_id, ItemModel.pipeline == pipeline
    )
    found = {keys[key]: data for key, data in session.execute(query.where(ItemModel.key.in_(keys)))}
    if found or not keys:
        return found
    of_page = query.where(ItemModel.data["url"].as_string().in_([*keys, *urls]))
    return {keys.get(url, url): data for _, data in session.execute(of_page) if (url := str(data["url"]))}


def newest_items(
    session: Session, project_id: str, pipeline: str, limit: int
) -> Sequence[Mapping[str, JSONValue]]:
    """Return items of a pipeline, those that were seen last first."""
    mine = (ItemModel.project_id == project_id, ItemModel.pipeline == pipeline)
    query = select(ItemModel.data).where(*mine).order_by(ItemModel.last_seen_at.desc(), ItemModel.key)
    return session.scalars(query.limit(limit)).all()


def without_newer(
    session: Session, agent: AgentModel, pipeline: str, pages: Sequence[CrawledPage]
) -> Sequence[CrawledPage]:
    """Return pages without the parts of pages from storage that would overwrite newer rows.

    The row of a page that is gone from its site, or that another agent fetched later, stays unchanged; so do
    the items that this other agent read on it with a pipeline of the same name. A page that the agent itself
    fetched later, in another execution, is left out with its items.
    """
    keys = {url_key(page.final_url) for page in pages if page.is_reread}
    if not keys:
        return pages
    columns = (WebPageModel.url_key, WebPageModel.fetched_at, WebPageModel.gone_at, WebPageModel.agent_id)
    mine = (WebPageModel.project_id == agent.project_id, WebPageModel.url_key.in_(keys))
    rows = {row.url_key: row for row in session.execute(select(*columns).where(*mine))}
    kept: list[CrawledPage] = []
    of_others: list[CrawledPage] = []
    for page in pages:
        row = rows.get(url_key(page.final_url)) if page.is_reread else None
        is_newer = row is not None and row.fetched_at > page.fetched_at
        if row is not None and is_newer and row.agent_id == agent.id:
            continue
        is_kept = row is not None and (is_newer or row.gone_at is not None)
        part = replace(page, has_row=False, contents=None) if is_kept else page
        (of_others if is_newer else kept).append(part)
    return [*kept, *_without_items_of_others(session, agent, pipeline, of_others)]


def _without_items_of_others(
    session: Session, agent: AgentModel, pipeline: str, pages: Sequence[CrawledPage]
) -> Sequence[CrawledPage]:
    keys = {item.key for page in pages for item in items_of(page) if item.key is not None}
    if not keys:
        return pages
    query = select(ItemModel.key).where(
        ItemModel.project_id == agent.project_id,
        ItemModel.pipeline == pipeline,
        ItemModel.key.in_(keys),
        ItemModel.agent_id != agent.id,
    )
    taken = {*session.scalars(query)}
    return [_without_items(page, taken) for page in pages]


def _without_items(page: CrawledPage, keys: Collection[str]) -> CrawledPage:
    if isinstance(page, PageOfItems):
        return replace(page, items=tuple(item for item in page.items if item.key not in keys))
    return replace(page, fields={}, item_key=None) if page.item_key in keys else page
