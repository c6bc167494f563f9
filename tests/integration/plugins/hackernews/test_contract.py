"""Hacker News keeps what every platform promises."""

from __future__ import annotations

import pytest

from agentic.core.types import JSONValue
from agentic.executors.testing import PlatformContract, RunAgent
from agentic.fakes.server import FakeServer
from agentic.mappers import Database
from agentic.plugins.hackernews.models import HackerNewsItemModel

pytestmark = pytest.mark.integration


class TestHackerNews(PlatformContract):
    platform = "hackernews"
    model = HackerNewsItemModel
    row_count = 5

    @pytest.fixture
    def run_agent(self, agentic_database: Database) -> RunAgent:
        """Not that of the folder, which is another one."""
        return RunAgent(agentic_database)

    @pytest.fixture
    def config(self, agentic_fakes: FakeServer) -> dict[str, JSONValue]:
        allowed: list[JSONValue] = [f"{agentic_fakes.host}:{agentic_fakes.port}"]
        return {"base_url": agentic_fakes.hackernews_url, "limit": 5, "allow_private_hosts": allowed}
