"""Reddit keeps what every platform promises."""

from __future__ import annotations

import pytest
from tests.integration.plugins.reddit.conftest import Config, local

from agentic.executors.testing import PlatformContract
from agentic.fakes.reddit.credentials import CLIENT_SECRET
from agentic.fakes.reddit.things import HARBOR
from agentic.fakes.server import FakeServer
from agentic.plugins.reddit.models import RedditPostModel

pytestmark = [pytest.mark.integration, pytest.mark.requirement("PL07", "PL11", "PL43")]


class TestReddit(PlatformContract):
    platform = "reddit"
    model = RedditPostModel
    row_count = 130

    @pytest.fixture
    def config(self, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Config:
        for project in ("ONE", "OTHER"):  # of several projects each has variables of its own
            monkeypatch.setenv(f"AGENTIC_SECRET_{project}__REDDIT", CLIENT_SECRET)
        return {**local(fakes), "subreddits": [HARBOR], "limit": 200}
