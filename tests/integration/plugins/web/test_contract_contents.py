"""The actor that reads pages for keeping keeps what every actor promises."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from agentic.core.types import JSONValue
from agentic.executors.testing import ActorContract, Failing
from agentic.plugins.web.actors.page_contents import PageContentsActor

pytestmark = pytest.mark.integration


def page(text: str) -> dict[str, JSONValue]:
    return {
        "url": "http://shop.example/",
        "final_url": "http://shop.example/",
        "status": 200,
        "content_type": "text/html",
        "text": text,
        "content_hash": "",
        "fetched_at": "2026-01-01T00:00:00Z",
    }


class TestPageContents(ActorContract):
    actor = PageContentsActor

    @pytest.fixture
    def given(self) -> dict[str, JSONValue]:
        return {"page": page("<p>A <a href='/1'>lamp</a>"), "links": True, "text": True}

    @pytest.fixture
    def failures(self) -> Mapping[str, Failing]:
        return {"too_large": Failing(given={"page": page("<div>" * 2_100), "links": True})}
