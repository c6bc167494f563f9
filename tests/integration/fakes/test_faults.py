"""Every fault that a fake can be told to have, and what our clients make of it."""

from __future__ import annotations

from typing import Any

import pytest

from agentic.core.types import JSONValue
from agentic.executors.testing import RunAgent
from agentic.fakes.control import Fault
from agentic.fakes.github.archive import HARBOR
from agentic.fakes.reddit.credentials import CLIENT_ID, CLIENT_SECRET
from agentic.fakes.reddit.things import ATTIC
from agentic.fakes.server import FakeServer
from agentic.mappers import ExecutionStatus

pytestmark = pytest.mark.integration

Config = dict[str, JSONValue]

FAULTS: dict[str, dict[str, Any]] = {
    "half of the JSON": {"bad_json": "cut"},
    "no JSON": {"bad_json": "text"},
    "a page with 200": {"html_instead_of_json": 200},
    "a page with 403": {"html_instead_of_json": 403},
    "closed before a byte": {"close": "before"},
    "closed in the middle": {"close": "within"},
}
CLASSES = ("decode", "decode", "blocked", "blocked", "connect", "connect")


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_REDDIT", CLIENT_SECRET)
    monkeypatch.setattr("agentic.executors.retrying.FIRST_DELAY_S", 0.01)


def hackernews(fakes: FakeServer) -> tuple[Config, str]:
    return {"limit": 3, "base_url": fakes.hackernews_url}, "/hackernews/v0/topstories.json"


def github(fakes: FakeServer) -> tuple[Config, str]:
    return {"repos": [HARBOR], "base_url": fakes.github_url}, "/github/repos/*"


def reddit(fakes: FakeServer) -> tuple[Config, str]:
    app: Config = {"client_id": CLIENT_ID, "client_secret": "${secrets.reddit}", "contact": "ada"}
    urls: Config = {"base_url": fakes.reddit_api_url, "api_url": fakes.reddit_url}
    return {"mode": "oauth", "subreddits": [ATTIC], **app, **urls}, "/reddit/oauth/r/*"


def firecrawl(fakes: FakeServer) -> tuple[Config, str]:
    return {"url": fakes.shop_url, "api_url": fakes.firecrawl_url}, "/firecrawl/v2/scrape"


@pytest.mark.parametrize(("fault", "expected"), [*zip(FAULTS, CLASSES, strict=True)])
@pytest.mark.parametrize("platform", [hackernews, github, reddit, firecrawl])
def test_a_platform_calls_it_by_its_class(
    agentic_fakes: FakeServer, run_agent: RunAgent, platform: Any, fault: str, expected: str
) -> None:
    config, path = platform(agentic_fakes)
    if platform is firecrawl:
        pytest.importorskip("firecrawl")
        # A Firecrawl of one's own that answers 200 with a page is another server: no wall stands before it.
        expected = "decode" if FAULTS[fault].get("html_instead_of_json") == 200 else expected
    else:
        config["allow_private_hosts"] = [f"{agentic_fakes.host}:{agentic_fakes.port}"]
    agentic_fakes.control.add(Fault(path=path, times=None, **FAULTS[fault]))
    outcome = run_agent(platform.__name__, config).outcome
    assert outcome.status is ExecutionStatus.FAILED
    assert f"({expected}" in (outcome.error or "")
