"""A site that is crawled again: what is asked of it the second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome
from agentic.mappers import AgentModel, ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

Rows = Callable[[ExecutionOutcome], tuple[int, int, int]]

PAGES = {
    "/": "<title>Home</title><a href=/a>A</a><a href=/b>B</a>",
    "/a": "<title>A</title>",
    "/b": "<title>B</title>",
}


@dataclass
class Versioned:
    """A site of three pages.

    Attributes:
        has_validators: Whether answers have an ETag.
        pages: Path -> text.
        answers: How often each status was answered, since it was cleared.
        url: Where it is.
    """

    has_validators: bool = True
    pages: dict[str, str] = field(default_factory=lambda: dict(PAGES))
    answers: Counter[int] = field(default_factory=Counter)
    url: str = ""

    async def answer(self, request: web.Request) -> web.Response:
        text = self.pages.get(request.path)
        if text is None:  # robots.txt
            return web.Response(status=404)
        tag = f'"{hash(text)}"'
        headers = {"ETag": tag} if self.has_validators else {}
        is_same = self.has_validators and request.headers.get("If-None-Match") == tag
        self.answers[304 if is_same else 200] += 1
        if is_same:
            return web.Response(status=304, headers=headers)
        return web.Response(text=text, content_type="text/html", headers=headers)


@pytest.fixture
async def site() -> AsyncIterator[Versioned]:
    made, app = Versioned(), web.Application()
    app.router.add_get("/{path:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    made.url = f"http://{host}:{port}/"
    yield made
    await runner.cleanup()


@pytest.fixture
def crawler(site: Versioned, make_agent: MakeAgent) -> Callable[[JSONValue], AgentModel]:
    """Return what makes an agent that crawls the site, and keeps answers as it is told."""

    def make(cache: JSONValue) -> AgentModel:
        http: JSONValue = {"allow_private_hosts": ["127.0.0.1"], "cache": cache}
        pipeline: JSONValue = {"http": http, "steps": [{"type": "crawl", "start": site.url}]}
        return make_agent(pipeline=pipeline, inputs={}, http={})

    return make


async def again(site: Versioned, run_agent: RunAgent, agent: AgentModel) -> ExecutionOutcome:
    """Crawl, and count the answers to that alone."""
    site.answers.clear()
    outcome = await run_agent(agent)
    assert outcome.status is ExecutionStatus.SUCCEEDED, outcome.error
    return outcome


async def test_pages_that_have_not_changed_cost_a_304_each_and_a_changed_one_is_an_update(
    site: Versioned, crawler: Callable[[JSONValue], AgentModel], run_agent: RunAgent, rows: Rows
) -> None:
    agent = crawler("revalidate")
    first = await again(site, run_agent, agent)
    assert (site.answers, rows(first)) == ({200: 3}, (3, 0, 0))

    second = await again(site, run_agent, agent)
    assert (site.answers, rows(second)) == ({304: 3}, (0, 0, 3))

    site.pages["/a"] = "<title>Another</title>"
    third = await again(site, run_agent, agent)
    assert (site.answers, rows(third)) == ({200: 1, 304: 2}, (0, 1, 2))


@pytest.mark.parametrize("has_validators", [True, False], ids=["with validators", "without"])
async def test_pages_that_are_young_are_not_asked_for(
    site: Versioned,
    crawler: Callable[[JSONValue], AgentModel],
    run_agent: RunAgent,
    rows: Rows,
    *,
    has_validators: bool,
) -> None:
    site.has_validators = has_validators
    agent = crawler({"max_age_s": 3_600})
    await again(site, run_agent, agent)
    assert site.answers == {200: 3}

    second = await again(site, run_agent, agent)
    assert (site.answers, rows(second)) == ({}, (0, 0, 3))


async def test_pages_without_a_validator_are_fetched_again_where_no_age_is_named(
    site: Versioned, crawler: Callable[[JSONValue], AgentModel], run_agent: RunAgent
) -> None:
    site.has_validators = False
    agent = crawler("revalidate")
    for _ in range(2):
        await again(site, run_agent, agent)
        assert site.answers == {200: 3}


@pytest.fixture
def rows(summary: Callable[[ExecutionOutcome], dict[str, JSONValue]]) -> Rows:
    """Return how many rows of pages an execution has added, changed and left as they were."""

    def read(outcome: ExecutionOutcome) -> tuple[int, int, int]:
        pages = summary(outcome)["pages"]
        assert isinstance(pages, dict)
        added, changed, same = (int(str(pages[name])) for name in ("inserted", "updated", "unchanged"))
        return added, changed, same

    return read
