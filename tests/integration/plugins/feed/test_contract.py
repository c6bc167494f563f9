"""Feeds keep what every platform promises."""

from __future__ import annotations

import pytest

from agentic.core.types import JSONValue
from agentic.executors.testing import PlatformContract, Site
from agentic.plugins.feed.models import FeedEntryModel

pytestmark = pytest.mark.integration

FEED = (
    "<rss version='2.0'><channel><title>Lamps</title>"
    "<item><guid>1</guid><title>One</title></item><item><guid>2</guid><title>Two</title></item>"
    "</channel></rss>"
)


class TestFeed(PlatformContract):
    platform = "feed"
    model = FeedEntryModel
    row_count = 2

    @pytest.fixture
    def config(self, agentic_site: Site) -> dict[str, JSONValue]:
        agentic_site.serve("/rss.xml", FEED, headers={"Content-Type": "application/rss+xml"})
        feeds: list[JSONValue] = [f"{agentic_site.url}/rss.xml"]
        return {"feeds": feeds, "allow_private_hosts": [agentic_site.host]}
