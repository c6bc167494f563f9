"""Stores papers."""

from __future__ import annotations

from collections.abc import Mapping

from agentic.mappers import ResultMapper

from agentic_plugin_arxiv.items import Found, Paper
from agentic_plugin_arxiv.models import ArxivPaperModel


class ArxivMapper(ResultMapper):
    """Upserts by id: a new version is an update, and what an answer leaves out stays as it was stored."""

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store the papers; a bad one is a warning, as is each of ``warnings``."""
        if not self.save_agent_result(results):
            return False
        found = Found.model_validate({name: results[name] for name in Found.model_fields})
        for sentence in found.warnings:
            self.warn(sentence)
        papers = self.accepted(Paper, found.papers, "paper")
        self.save_rows(ArxivPaperModel, (paper.model_dump() for paper in papers))
        return True
