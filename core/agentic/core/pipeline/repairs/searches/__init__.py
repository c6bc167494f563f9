"""Searches for repairs: the pages that are fetched for them, and their order."""

from __future__ import annotations

from agentic.core.pipeline.repairs.searches.parts import find_repairs
from agentic.core.pipeline.repairs.searches.site import PageSource, SeenPage, SiteView

__all__ = ["PageSource", "SeenPage", "SiteView", "find_repairs"]
