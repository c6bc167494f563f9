"""firecrawl_crawl with the real client: begun once, looked at, ended, and what comes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import aiohttp
import pytest
from aiohttp import web

from agentic.core.actors import ActorContext, ActorError, Again
from agentic.fakes.control import Fault
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

Act = Callable[..., Awaitable[Any]]
JOB = "0b0e0c5e-0000-4000-8000-000000000001"


def spent(fakes: FakeServer) -> object:
    return fakes.control.stats()["credits"]


def asked_for(fakes: FakeServer, method_path: str) -> int:
    requests = fakes.control.stats()["requests"]
    assert isinstance(requests, dict)
    return int(str(requests.get(method_path, 0)))


@pytest.fixture
def crawl(act: Act, remembering: ActorContext, fakes: FakeServer) -> Act:
    """Call the actor as often as one likes: what it began once is remembered, as by a ledger."""
    fakes.control.firecrawl.change(AccountOrder(polls=0))

    async def crawl(**given: Any) -> Any:
        return await act("firecrawl_crawl", context=remembering, **{"url": fakes.shop_url, **given})

    return crawl


def job(status: str, **more: object) -> dict[str, object]:
    counts = {"completed": 1, "total": 4, "creditsUsed": 1}
    return {"success": True, "status": status, **counts, "data": [], **more}


def scripted(service: Any, state: dict[str, object], **others: Any) -> None:
    """Let a service begin a crawl that is in ``state``; ``others`` are answers by method."""

    def answer(asked: Any) -> web.Response:
        if asked.method in others:
            status, content = others[asked.method]
            return web.json_response(content, status=status)
        if asked.path.endswith("/errors"):
            return web.json_response({"errors": [], "robotsBlocked": []})
        return web.json_response(state)

    others.setdefault("POST", (200, {"success": True, "id": JOB, "url": f"{service.url}/v2/crawl/{JOB}"}))
    service.answer = answer


class TestACrawl:
    async def test_is_begun_once_and_looked_at_until_it_is_completed(
        self, crawl: Act, fakes: FakeServer
    ) -> None:
        fakes.control.firecrawl.change(AccountOrder(polls=2))
        first, second = await crawl(max_pages=5), await crawl(max_pages=5)
        assert isinstance(first, Again)
        assert isinstance(second, Again)
        assert 1 < first.after_s <= 2
        assert first.note.startswith("5 of 5 pages")
        assert len((await crawl(max_pages=5)).items) == 5
        assert asked_for(fakes, "/firecrawl/v2/crawl") == 1
        assert spent(fakes) == 5

    async def test_whose_answer_is_lost_is_found_again_and_not_begun_twice(
        self, crawl: Act, fakes: FakeServer
    ) -> None:
        url = f"{fakes.shop_url}category/lamps"  # of others go on what tests before this one began
        fakes.control.firecrawl.change(AccountOrder(polls=2))
        fakes.control.add(Fault(path="/firecrawl/v2/crawl", truncate=0))
        with pytest.raises(ActorError, match="connect"):
            await crawl(url=url, entire_domain=True, max_pages=5)
        while isinstance(found := await crawl(url=url, entire_domain=True, max_pages=5), Again):
            pass
        assert len(found.items) == 5
        assert (asked_for(fakes, "/firecrawl/v2/crawl"), spent(fakes)) == (2, 5)

    async def test_that_has_ended_before_it_could_be_found_again_is_not_begun_twice(
        self, crawl: Act, fakes: FakeServer
    ) -> None:
        url = f"{fakes.shop_url}category/kettles"
        fakes.control.add(Fault(path="/firecrawl/v2/crawl", truncate=0))
        with pytest.raises(ActorError, match="connect"):
            await crawl(url=url, entire_domain=True, max_pages=5)
        async with aiohttp.ClientSession(f"{fakes.firecrawl_url}/v2/crawl/") as service:
            active = (await (await service.get("active")).json())["crawls"]
            (begun,) = [job["id"] for job in active if job["url"] == url]
            assert (await (await service.get(begun)).json())["status"] == "completed"
        for _ in range(2):
            with pytest.raises(ActorError, match="its id was lost: it is no longer running"):
                await crawl(url=url, entire_domain=True, max_pages=5)
        assert spent(fakes) == 5

    async def test_that_was_refused_is_begun_by_the_next_try(self, crawl: Act, fakes: FakeServer) -> None:
        fakes.control.add(Fault(path="/firecrawl/v2/crawl", status=503))
        with pytest.raises(ActorError, match="http_503"):
            await crawl(max_pages=5)
        assert len((await crawl(max_pages=5)).items) == 5

    async def test_gives_all_its_pages_from_all_its_answers(self, crawl: Act, fakes: FakeServer) -> None:
        fakes.control.firecrawl.change(AccountOrder(documents_per_page=7))
        found = await crawl(max_pages=45)
        assert len({item["url"] for item in found.items}) == 45
        assert found.counts == {"pages": 45, "failed": 0, "robots_blocked": 0, "credits": 45}
        assert found.items[0]["url"] == fakes.shop_url
        assert all(item["markdown"] and item["title"] and item["status"] == 200 for item in found.items)

    async def test_says_what_robots_txt_forbids(self, crawl: Act, fakes: FakeServer) -> None:
        found = await crawl(sitemap="skip", max_depth=1)
        assert found.robots_blocked == (f"{fakes.shop_url}private/orders",)
        assert found.counts["robots_blocked"] == 1
        assert not {item["url"] for item in found.items} & set(found.robots_blocked)

    @pytest.mark.parametrize(
        ("path", "failure_class", "status"),
        [("status/403", "http_403", 403), ("to?url=http://nowhere.example/", "dns", None)],
    )
    async def test_keeps_apart_what_failed(
        self, crawl: Act, fakes: FakeServer, path: str, failure_class: str, status: int | None
    ) -> None:
        found = await crawl(url=fakes.hostile_url + path, sitemap="skip")
        (failed,) = found.failed
        assert (failed.failure_class, failed.status) == (failure_class, status)
        assert failed.url == fakes.hostile_url + path
        assert (found.items, found.failures) == ((), {failure_class: 1})

    async def test_reads_items_by_a_schema(self, crawl: Act, fakes: FakeServer) -> None:
        schema = {"type": "object", "properties": {"price": {"type": "number"}}}
        found = await crawl(
            url=f"{fakes.shop_url}product/1", schema=schema, max_pages=1, formats=["links"], sitemap="skip"
        )
        (item,) = found.items
        assert item["price"] > 0
        assert item["url"] == f"{fakes.shop_url}product/1"
        assert item["links"]
        assert "markdown" not in item

    async def test_asks_for_what_it_was_told(self, crawl: Act, service: Any) -> None:
        scripted(service, job("completed"))
        await crawl(
            api_url=service.url,
            max_pages=7,
            max_depth=2,
            include_paths=["^/a"],
            exclude_paths=["/b"],
            sitemap="skip",
            entire_domain=True,
            delay_s=3,
            max_parallel=2,
        )
        body = service.asked[0].body
        options = body.pop("scrapeOptions")
        del body["url"], body["origin"]
        assert body == {
            "limit": 7,
            "maxDiscoveryDepth": 2,
            "includePaths": ["^/a"],
            "excludePaths": ["/b"],
            "sitemap": "skip",
            "crawlEntireDomain": True,
            "allowSubdomains": False,
            "allowExternalLinks": False,
            "ignoreQueryParameters": False,
            "delay": 3,
            "maxConcurrency": 2,
        }
        assert (options["skipTlsVerification"], options["maxAge"], options["storeInCache"]) == (
            False,
            0,
            False,
        )


class TestACrawlThatTakesLong:
    async def test_is_cancelled_at_its_deadline(self, crawl: Act, fakes: FakeServer) -> None:
        fakes.control.firecrawl.change(AccountOrder(polls=1_000))
        assert isinstance(await crawl(max_pages=5), Again)
        with pytest.raises(ActorError, match=r"was cancelled after 1e-06 s with 5 of 5 pages") as caught:
            await crawl(max_pages=5, deadline_s=0.000001)
        assert caught.value.failure_class == "timeout"
        with pytest.raises(ActorError, match="ended as 'cancelled'") as caught:
            await crawl(max_pages=5)
        assert caught.value.failure_class == "cancelled"

    async def test_is_looked_at_once_more_at_its_deadline(self, crawl: Act, service: Any) -> None:
        scripted(service, job("scraping"))
        found = await crawl(api_url=service.url, deadline_s=0.3)
        assert isinstance(found, Again)
        assert found.after_s <= 0.3

    async def test_is_not_lost_if_it_is_completed_while_it_is_cancelled(
        self, crawl: Act, service: Any
    ) -> None:
        state = job("scraping")
        scripted(service, state, DELETE=(409, {"success": False, "error": "Crawl is already completed"}))
        answer = service.answer
        page = {"markdown": "# One", "metadata": {"url": "http://h.example/"}}

        def complete(asked: Any) -> web.Response:
            if asked.method == "DELETE":
                state.update(job("completed", data=[page]))
            return cast(web.Response, answer(asked))

        service.answer = complete
        found = await crawl(api_url=service.url, deadline_s=0.000001)
        assert [item["markdown"] for item in found.items] == ["# One"]


class TestACrawlThatEndsBadly:
    async def test_is_an_error_if_the_service_failed(self, crawl: Act, service: Any) -> None:
        scripted(service, job("failed"))
        with pytest.raises(ActorError, match="ended as 'failed' with 1 pages") as caught:
            await crawl(api_url=service.url)
        assert caught.value.failure_class == "error"

    async def test_is_gone_after_a_day(self, crawl: Act, service: Any) -> None:
        scripted(service, {}, GET=(404, {"success": False, "error": "Job not found"}))
        with pytest.raises(ActorError, match="keeps results for a day") as caught:
            await crawl(api_url=service.url)
        assert (caught.value.failure_class, caught.value.status) == ("gone", 404)

    async def test_has_no_results_if_a_page_of_them_cannot_be_had(self, crawl: Act, service: Any) -> None:
        """The client would give the first page of results as if it were all."""
        one = {"markdown": "# One", "metadata": {"url": "http://h.example/", "statusCode": 200}}
        state = job("completed", data=[one], next=f"http://elsewhere.example/v2/crawl/{JOB}?skip=1")
        scripted(service, state)
        answer = service.answer

        def fail_later(asked: Any) -> web.Response:
            is_later = len(service.asked) > 2
            return web.json_response({"error": "Oh."}, status=500) if is_later else answer(asked)

        service.answer = fail_later
        with pytest.raises(ActorError) as caught:
            await crawl(api_url=service.url)
        assert caught.value.failure_class == "http_500"
        assert [asked.method for asked in service.asked] == ["POST", "GET", "GET"]

    async def test_is_begun_anew_only_if_it_was_not_begun(self, crawl: Act, fakes: FakeServer) -> None:
        fakes.control.firecrawl.change(AccountOrder(plan_credits=0))
        with pytest.raises(ActorError) as caught:
            await crawl()
        assert caught.value.failure_class == "quota_exhausted"
        fakes.control.firecrawl.change(AccountOrder(plan_credits=50))
        assert (await crawl(max_pages=3)).counts["credits"] == 3
        assert asked_for(fakes, "/firecrawl/v2/crawl") == 2
