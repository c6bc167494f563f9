"""Runs web agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from agentic.core.actors import Page
from agentic.core.pipeline import CrawledPage, FailedPage, PipelineSpec
from agentic.core.types import JSONValue, SaveCounts
from agentic.executors.agents.pipeline import PipelineAgentExecutor
from agentic.plugins.web.settings import WebSettings

if TYPE_CHECKING:
    from sqlalchemy import Select
    from sqlalchemy.orm import Session


class WebAgentExecutor(PipelineAgentExecutor):
    """Runs the pipeline of an agent; config: :class:`WebSettings`."""

    @cached_property
    def settings(self) -> WebSettings:
        """The agent's config."""
        return self.read_config(WebSettings)

    def pipeline(self) -> PipelineSpec:
        """Return the agent's pipeline."""
        return self.settings.spec

    def inputs(self) -> Mapping[str, JSONValue]:
        """Return the agent's inputs."""
        return self.settings.inputs

    def save_pages(self, session: Session, pipeline: str, pages: Sequence[CrawledPage]) -> SaveCounts:
        """Store pages of the crawl as rows of ``web_pages`` and ``items``, and what else it keeps of them."""
        from agentic.mappers.catalog.executions import add_warnings
        from agentic.plugins.web.mapper import WebResultMapper

        mapper = WebResultMapper(session, self.execution_id, self.agent)
        saved = mapper.save_pages(pipeline, pages)
        if mapper.warnings:
            add_warnings(session, self.agent.project_id, self.execution_id, mapper.warnings)
        return saved

    def mark_gone(self, session: Session, pages: Sequence[FailedPage]) -> SaveCounts:
        """Mark rows of ``web_pages``."""
        from agentic.plugins.web.mapper import WebResultMapper

        return WebResultMapper(session, self.execution_id, self.agent).mark_gone(pages)

    def stored_items(
        self, session: Session, pipeline: str, urls: Sequence[str]
    ) -> Mapping[str, Mapping[str, JSONValue]]:
        """Return items of ``items``, by their key if that is the URL, else by their field ``url``."""
        from agentic.plugins.web.storage import stored_items

        return stored_items(session, self.agent.project_id, pipeline, urls)

    def newest_items(self, session: Session, pipeline: str, limit: int) -> Sequence[Mapping[str, JSONValue]]:
        """Return items of ``items``."""
        from agentic.plugins.web.storage import newest_items

        return newest_items(session, self.agent.project_id, pipeline, limit)

    def stored_bodies(self) -> Select[str]:
        """Return the keys of rows of ``web_contents`` that can be read again."""
        from agentic.plugins.web.storage import stored_bodies

        return stored_bodies(self.agent)

    def load_page(self, session: Session, key: str) -> Page | None:
        """Return a page from ``web_contents``."""
        from agentic.plugins.web.storage import load_page

        return load_page(session, self.agent.project_id, key)
