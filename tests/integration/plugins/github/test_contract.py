"""GitHub keeps what every platform promises."""

from __future__ import annotations

import pytest

from agentic.core.types import JSONValue
from agentic.executors.testing import PlatformContract
from agentic.fakes.github.archive import HARBOR, RENAMED
from agentic.fakes.server import FakeServer
from agentic.plugins.github.models import GithubRepoModel

pytestmark = pytest.mark.integration


class TestGithub(PlatformContract):
    platform = "github"
    model = GithubRepoModel
    row_count = 2

    @pytest.fixture
    def config(self, fakes: FakeServer) -> dict[str, JSONValue]:
        allowed: list[JSONValue] = [f"{fakes.host}:{fakes.port}"]
        return {"repos": [HARBOR, RENAMED], "base_url": fakes.github_url, "allow_private_hosts": allowed}
