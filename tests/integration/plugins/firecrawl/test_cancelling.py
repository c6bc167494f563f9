"""A run that is broken off cancels the crawl it has begun, and says so where it cannot."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any
from urllib.request import urlopen
from uuid import NAMESPACE_URL, uuid5

import pytest
from aiohttp import web
from structlog.testing import capture_logs
from tests.integration.plugins.firecrawl.conftest import Remembering

from agentic.core.actors import ActorContext, Again
from agentic.core.audit import Decision, DecisionKind
from agentic.core.graph import RunTimeoutError, Workflow
from agentic.core.hooks import get_registry
from agentic.core.pipeline import (
    CrawlStore,
    PipelineServices,
    StepFailedError,
    compile_pipeline,
    parse_spec,
)
from agentic.core.types import JSONValue, RunId
from agentic.executors.agents.runner import run_execution
from agentic.fakes.control import Fault
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.server import FakeServer
from agentic.mappers import Database, ExecutionStatus, add_agent, add_project, create_execution
from agentic.plugins.firecrawl.actors import crawl_jobs

pytestmark = pytest.mark.integration

Act = Callable[..., Awaitable[Any]]
Eventually = Callable[[Callable[[], bool]], Awaitable[None]]

FIRST = str(uuid5(NAMESPACE_URL, "job 1"))
BEGINS = "/firecrawl/v2/crawl"
CRAWL = "steps: [{actor: firecrawl_crawl, config: {max_pages: 3}}, {actor: aggregate, config: {key: url}}]"
INPUTS = "inputs: {url: {type: string}}\n"


@pytest.fixture
def fakes() -> Iterator[FakeServer]:
    """Fakes of the test's own, whose first crawl is the first one."""
    with FakeServer(stories=1, products=20) as server:
        yield server


@pytest.fixture(autouse=True)
def endless(fakes: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let crawls go on for ever, and be looked at often, by a client that is loaded already."""
    import_module("firecrawl.v2")
    fakes.control.firecrawl.change(AccountOrder(polls=100_000))
    monkeypatch.setattr(crawl_jobs, "FIRST_PAUSE_S", 0.05)
    monkeypatch.setattr(crawl_jobs, "SHARE", 0.0)
    monkeypatch.setenv("AGENTIC_FIRECRAWL_URL", fakes.firecrawl_url)


def asked(fakes: FakeServer, path: str, *, exactly: bool = False) -> int:
    requests = fakes.control.stats()["requests"]
    assert isinstance(requests, dict)
    names = [name for name in requests if name == path or (not exactly and name.startswith(path))]
    return sum(int(str(requests[name])) for name in names)


def looks(fakes: FakeServer) -> int:
    return asked(fakes, f"{BEGINS}/")


async def get(fakes: FakeServer, path: str) -> Any:
    """Ask the fakes' Firecrawl, by its other address, which is counted apart."""
    return await asyncio.to_thread(lambda: json.load(urlopen(f"{fakes.url}/v2/{path}")))


async def the_crawl(fakes: FakeServer) -> str:
    """Return the one crawl that goes on."""
    (crawl,) = (await get(fakes, "crawl/active"))["crawls"]
    return str(crawl["id"])


async def state_of(fakes: FakeServer, crawl: str) -> str:
    return str((await get(fakes, f"crawl/{crawl}"))["status"])


def execution(database: Database, fakes: FakeServer) -> tuple[str, str]:
    """Return the ids of an execution of an agent that crawls the shop, and of the agent."""
    config: dict[str, JSONValue] = {"mode": "crawl", "url": fakes.shop_url, "limit": 3}
    with database.writing() as session:
        project = add_project(session, "cancelling")
        agent = add_agent(session, project, "shop", "firecrawl", config)
        return create_execution(session, agent).id, agent.id


@pytest.fixture
def decisions() -> list[Decision]:
    return []


@pytest.fixture
def compiled(ctx: ActorContext, decisions: list[Decision]) -> Callable[[str], Workflow]:
    def no_frontier(run: RunId) -> CrawlStore:
        raise AssertionError(f"{run} has no crawl")

    async def decide(decision: Decision) -> None:
        decisions.append(decision)

    def compiled(text: str) -> Workflow:
        actors = get_registry().actors
        services = PipelineServices(frontier=no_frontier, context=lambda _: replace(ctx, decide=decide))
        return compile_pipeline(parse_spec(INPUTS + text, actors), actors, services)

    return compiled


class TestInOneProcess:
    async def test_a_run_that_is_cancelled_cancels_its_crawl(
        self, compiled: Callable[[str], Workflow], fakes: FakeServer, eventually: Eventually
    ) -> None:
        run = asyncio.ensure_future(compiled(CRAWL).run({"url": fakes.shop_url}))
        await eventually(lambda: looks(fakes) > 1)
        crawl = await the_crawl(fakes)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert await state_of(fakes, crawl) == "cancelled"

    async def test_a_run_that_is_out_of_time_cancels_its_crawl(
        self, compiled: Callable[[str], Workflow], fakes: FakeServer, eventually: Eventually
    ) -> None:
        run = asyncio.ensure_future(
            compiled(f"limits: {{max_seconds: 5}}\n{CRAWL}").run({"url": fakes.shop_url})
        )
        await eventually(lambda: looks(fakes) > 1)
        crawl = await the_crawl(fakes)
        with pytest.raises(RunTimeoutError):
            await run
        assert await state_of(fakes, crawl) == "cancelled"

    async def test_a_step_that_is_given_up_cancels_its_crawl_and_the_run_goes_on(
        self, compiled: Callable[[str], Workflow], fakes: FakeServer
    ) -> None:
        text = CRAWL.replace("config: {max_pages: 3}", "error_handling: {'*': {then: skip}}")
        fakes.control.add(Fault(path=f"{BEGINS}/*", status=500))
        await compiled(text).run({"url": fakes.shop_url})
        assert await get(fakes, "crawl/active") == {"success": True, "crawls": []}
        assert await state_of(fakes, FIRST) == "cancelled"
        assert looks(fakes) == 2, "one that failed, and the end"

    async def test_a_crawl_that_is_completed_is_left_alone(
        self, compiled: Callable[[str], Workflow], fakes: FakeServer
    ) -> None:
        fakes.control.firecrawl.change(AccountOrder(polls=0))
        text = CRAWL.replace(
            "aggregate, config: {key: url}", f"fetch, config: {{url: '{fakes.hostile_url}status/500'}}"
        )
        with pytest.raises(StepFailedError):
            await compiled(text).run({"url": fakes.shop_url})
        assert await state_of(fakes, FIRST) == "completed"

    async def test_a_service_that_is_away_is_told_of_with_what_to_do(
        self,
        compiled: Callable[[str], Workflow],
        fakes: FakeServer,
        eventually: Eventually,
        decisions: list[Decision],
    ) -> None:
        with capture_logs() as lines:
            stream = compiled(CRAWL).run_stream({"url": fakes.shop_url})
            await eventually(lambda: looks(fakes) > 1)
            fakes.control.add(Fault(path=f"{BEGINS}/*", status=503, times=None))
            await stream.aclose()
            told = [event async for event in stream]
        (event,) = [event for event in told if event.data.get("type") == "call.left"]
        assert event.path == "firecrawl_crawl"
        (line,) = [line for line in lines if line["event"] == "call.left"]
        (decision,) = decisions
        assert decision.kind is DecisionKind.CALL_LEFT
        for text in (str(line["reason"]), decision.reason):
            assert f"the crawl {FIRST} may continue at Firecrawl and cost credits" in text
            assert f"DELETE /v2/crawl/{FIRST}" in text


def ending(ctx: ActorContext) -> ActorContext:
    """Return a context as a run has it that ends: it knows what was done once, and remembers no more."""
    kept = dict(ctx.once.kept) if isinstance(ctx.once, Remembering) else {}

    async def once(name: str, work: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        return kept[name] if name in kept else await work()

    return replace(ctx, once=once)


class TestADurableRun:
    async def test_that_is_cancelled_cancels_its_crawl_and_begins_another_when_it_goes_on(
        self, agentic_database: Database, fakes: FakeServer, eventually: Eventually
    ) -> None:
        execution_id, agent_id = execution(agentic_database, fakes)
        run = asyncio.ensure_future(run_execution(execution_id, agent_id, database=agentic_database))
        await eventually(lambda: looks(fakes) > 1)
        crawl = await the_crawl(fakes)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert await state_of(fakes, crawl) == "cancelled"

        fakes.control.firecrawl.change(AccountOrder(polls=0))
        again = await run_execution(execution_id, agent_id, database=agentic_database)
        assert again.status is ExecutionStatus.SUCCEEDED
        assert asked(fakes, BEGINS, exactly=True) == 2


class TestACallThatIsCancelledWhileItBegins:
    @pytest.fixture
    async def cancelled(
        self, act: Act, remembering: ActorContext, fakes: FakeServer, eventually: Eventually
    ) -> None:
        """A worker is stopped after the service has begun a crawl, and before it is noted."""
        fakes.control.add(Fault(path=BEGINS, delay_s=0.3))
        call = asyncio.ensure_future(
            act("firecrawl_crawl", context=remembering, url=fakes.shop_url, max_pages=3)
        )
        await eventually(lambda: asked(fakes, BEGINS) == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    @pytest.mark.usefixtures("cancelled")
    async def test_who_makes_the_call_again_goes_on_with_the_crawl(
        self, act: Act, remembering: ActorContext, fakes: FakeServer
    ) -> None:
        fakes.control.firecrawl.change(AccountOrder(polls=0))
        found = await act("firecrawl_crawl", context=remembering, url=fakes.shop_url, max_pages=3)
        assert (found.crawl_id, len(found.items)) == (FIRST, 3)
        assert fakes.control.stats()["credits"] == 3

    @pytest.mark.usefixtures("cancelled")
    async def test_who_ends_the_run_cancels_the_crawl(
        self, remembering: ActorContext, fakes: FakeServer
    ) -> None:
        actor = get_registry().actors["firecrawl_crawl"]
        given = actor.Input.model_validate({"url": fakes.shop_url, "max_pages": 3})
        await actor().on_cancel(ending(remembering), given)
        assert await state_of(fakes, FIRST) == "cancelled"

    async def test_goes_on_with_another_crawl(
        self, act: Act, remembering: ActorContext, fakes: FakeServer
    ) -> None:
        actor = get_registry().actors["firecrawl_crawl"]
        given = actor.Input.model_validate({"url": fakes.shop_url, "max_pages": 3})
        assert isinstance(
            await act("firecrawl_crawl", context=remembering, url=fakes.shop_url, max_pages=3), Again
        )
        await actor().on_cancel(ending(remembering), given)
        await actor().on_cancel(ending(remembering), given)
        assert await state_of(fakes, FIRST) == "cancelled"
        fakes.control.firecrawl.change(AccountOrder(polls=0))
        found = await act("firecrawl_crawl", context=remembering, url=fakes.shop_url, max_pages=3)
        assert len(found.items) == 3
        assert found.crawl_id != FIRST


async def test_a_call_that_has_begun_nothing_has_nothing_to_cancel(
    ctx: ActorContext, fakes: FakeServer
) -> None:
    actor = get_registry().actors["firecrawl_crawl"]
    await actor().on_cancel(ctx, actor.Input.model_validate({"url": fakes.shop_url}))
    assert fakes.control.stats()["total"] == 0


async def test_a_crawl_that_is_no_longer_kept_needs_no_end(remembering: ActorContext, service: Any) -> None:
    service.answer = lambda _: web.json_response({"success": False, "error": "Job not found"}, status=404)
    actor = get_registry().actors["firecrawl_crawl"]
    await remembering.once("firecrawl_crawl", _a_job)
    given = actor.Input.model_validate({"url": "http://h.example/", "api_url": service.url})
    await actor().on_cancel(ending(remembering), given)
    assert [one.method for one in service.asked] == ["DELETE"]


async def _a_job() -> JSONValue:
    return {"id": FIRST, "begun_at": 0.0}
