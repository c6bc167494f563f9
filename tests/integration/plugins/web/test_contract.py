"""Pipelines keep what every platform promises."""

from __future__ import annotations

import pytest

from agentic.core.types import JSONValue
from agentic.executors.testing import PlatformContract, RunAgent, Site
from agentic.mappers import Database
from agentic.plugins.web.models import ItemModel

pytestmark = pytest.mark.integration

PAGE = "<ul><li><a href='/1'>One</a><li><a href='/2'>Two</a></ul>"


class TestWeb(PlatformContract):
    """With a pipeline that does not crawl: a crawl stores its pages while it goes on."""

    platform = "web"
    model = ItemModel
    row_count = 2

    @pytest.fixture
    def run_agent(self, agentic_database: Database) -> RunAgent:
        """Not that of the folder, which is another one."""
        return RunAgent(agentic_database)

    @pytest.fixture
    def config(self, agentic_site: Site) -> dict[str, JSONValue]:
        agentic_site.serve("/", PAGE, headers={"Content-Type": "text/html"})
        read: JSONValue = {"item_selector": "li", "fields": {"title": "a"}}
        steps: JSONValue = [
            {"actor": "fetch", "config": {"url": f"{agentic_site.url}/"}},
            {"actor": "extract_list", "config": read},
            {"actor": "aggregate", "config": {"key": "url"}},
        ]
        return {
            "pipeline": {"name": "lamps", "item_key": "url", "steps": steps},
            "http": {"allow_private_hosts": ["127.0.0.1"]},
        }
