"""What goes wrong between us and Firecrawl: each refusal with its class, no key in any message."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from agentic.core.actors import ActorContext, ActorError
from agentic.core.errors import SettingsError
from agentic.core.http import HttpPolicy, open_fetcher
from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer
from agentic.plugins.firecrawl import client as client_module

pytestmark = pytest.mark.integration

Act = Callable[..., Awaitable[Any]]
PAGE = "http://shop.example/"

CALLS: dict[str, dict[str, object]] = {
    "firecrawl_scrape": {"url": PAGE},
    "firecrawl_crawl": {"url": PAGE},
    "firecrawl_map": {"url": PAGE},
    "firecrawl_search": {"keywords": "lamps"},
}
every_actor = pytest.mark.parametrize("name", CALLS)


async def refusal(act: Act, name: str, **given: Any) -> ActorError:
    with pytest.raises(ActorError) as caught:
        await act(name, **{**CALLS[name], **given})
    return caught.value


class TestWhatTheServiceRefuses:
    @pytest.mark.parametrize(
        ("host", "failure_class", "status", "detail"),
        [
            ("unsupported.example", "blocked", 403, "unsupported"),
            ("unpaid.example", "quota_exhausted", 402, ""),
            ("slow.example", "timeout", None, ""),
            ("busy.example", "rate_limited", 429, "account"),
            ("tls.example", "tls", None, ""),
            ("broken.example", "http_500", 500, ""),
            ("nowhere.example", "dns", None, ""),
        ],
    )
    async def test_has_a_class_of_its_own(
        self, act: Act, host: str, failure_class: str, status: int | None, detail: str
    ) -> None:
        failed = await refusal(act, "firecrawl_scrape", url=f"https://{host}/page?token=hush")
        assert (failed.failure_class, failed.status, failed.detail) == (failure_class, status, detail)
        assert f"scrape https://{host}/page" in str(failed)
        assert "hush" not in str(failed)

    @every_actor
    @pytest.mark.parametrize(
        ("status", "failure_class"), [(401, "auth_required"), (402, "quota_exhausted"), (404, "http_404")]
    )
    async def test_is_told_by_every_actor(
        self, act: Act, service: Any, name: str, status: int, failure_class: str
    ) -> None:
        service.answer = lambda _: web.json_response({"success": False, "error": "No."}, status=status)
        failed = await refusal(act, name, api_url=service.url)
        assert (failed.failure_class, failed.status) == (failure_class, status)

    @every_actor
    async def test_may_come_with_a_good_status(self, act: Act, service: Any, name: str) -> None:
        service.answer = lambda _: web.json_response({"success": False, "error": "Not today."})
        failed = await refusal(act, name, api_url=service.url)
        assert (failed.failure_class, failed.status) == ("error", None)
        assert "Not today." in str(failed)

    @every_actor
    @pytest.mark.parametrize("body", ["<h1>It works!</h1>", "[]", "null", ""])
    async def test_is_no_json_at_all(self, act: Act, service: Any, name: str, body: str) -> None:
        service.answer = lambda _: web.Response(text=body, content_type="text/html")
        assert (await refusal(act, name, api_url=service.url)).failure_class == "decode"

    async def test_quotes_no_page_that_stands_in_the_way(self, act: Act, service: Any) -> None:
        service.answer = lambda _: web.Response(text="<p>Who are you?</p>", status=403)
        failed = await refusal(act, "firecrawl_scrape", api_url=service.url)
        assert (failed.failure_class, failed.detail) == ("blocked", "html_for_json")
        assert "Who" not in str(failed)


class TestTheWayToTheService:
    @every_actor
    async def test_nobody_there_is_a_failure_to_connect(self, act: Act, name: str) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            assert (await refusal(act, name, api_url=url)).failure_class == "connect"

    async def test_a_name_that_does_not_resolve_is_a_failure_of_names(self, act: Act) -> None:
        failed = await refusal(act, "firecrawl_scrape", api_url="http://firecrawl.invalid")
        assert failed.failure_class == "dns"

    async def test_a_service_that_speaks_no_tls_is_a_failure_of_it(self, act: Act, service: Any) -> None:
        url = service.url.replace("http://", "https://")
        assert (await refusal(act, "firecrawl_scrape", api_url=url)).failure_class == "tls"

    async def test_one_that_does_not_answer_is_waited_for_no_longer_than_it_may_take(
        self, act: Act, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(client_module, "MARGIN_S", 0.1)
        fakes.control.add(Fault(path="*/v2/scrape", delay_s=600))
        failed = await refusal(act, "firecrawl_scrape", timeout_s=0.1)
        assert failed.failure_class == "timeout"

    @pytest.mark.parametrize("fault", [Fault(path="*", truncate=5), Fault(path="*", status=502)])
    async def test_nothing_is_asked_for_a_second_time(
        self, act: Act, fakes: FakeServer, fault: Fault
    ) -> None:
        fakes.control.add(fault)
        failed = await refusal(act, "firecrawl_crawl", url=fakes.shop_url)
        assert failed.failure_class in ("connect", "http_502")
        assert fakes.control.stats()["requests"] == {"/firecrawl/v2/crawl": 1}


class TestPeace:
    async def test_is_kept_for_as_long_as_the_service_wants(self, act: Act, fakes: FakeServer) -> None:
        fakes.control.add(Fault(path="*/v2/scrape", status=429, retry_after_s=300))
        failed = await refusal(act, "firecrawl_scrape", url=fakes.shop_url)
        assert (failed.failure_class, failed.retry_after_s) == ("rate_limited", 300)
        again = await refusal(act, "firecrawl_map", url=fakes.shop_url)
        assert (again.failure_class, again.detail) == ("rate_limited", "account")
        assert again.retry_after_s == pytest.approx(300, abs=5)
        assert fakes.control.stats()["total"] == 1

    async def test_that_is_short_is_waited_for(self, act: Act, fakes: FakeServer) -> None:
        fakes.control.add(Fault(path="*/v2/scrape", status=429, retry_after_s=1))
        await refusal(act, "firecrawl_scrape", url=fakes.shop_url)
        assert (await act("firecrawl_scrape", url=fakes.shop_url)).page.status == 200


class TestTheKey:
    async def test_of_the_cloud_is_a_secret_of_the_project(self, act: Act) -> None:
        failed = await refusal(act, "firecrawl_scrape", api_url="https://api.firecrawl.dev")
        assert failed.failure_class == "auth_required"
        assert "agentic secrets set firecrawl_api_key" in str(failed)

    async def test_of_the_cloud_goes_nowhere_else(self, act: Act, service: Any, secrets: Any) -> None:
        secrets.stored["firecrawl_api_key"] = "fc-of-the-cloud"
        service.answer = lambda _: web.json_response({"success": True, "links": []})
        await act("firecrawl_map", api_url=service.url, url=PAGE)
        assert "authorization" not in service.asked[0].headers

    @every_actor
    async def test_is_in_no_message(self, act: Act, service: Any, name: str) -> None:
        def tell(asked: Any) -> web.Response:
            error = f"{asked.headers['authorization']} is not known"
            return web.json_response({"success": False, "error": error}, status=401)

        service.answer = tell
        failed = await refusal(act, name, api_url=service.url, api_key="fc-hush")
        assert failed.failure_class == "auth_required"
        assert "Bearer *** is not known" in str(failed)
        assert "fc-hush" not in repr(failed)

    async def test_that_no_header_can_hold_is_in_no_message_either(self, act: Act, service: Any) -> None:
        for key in ("fc-hush\nhush", "fc-hüsh hush"):
            failed = await refusal(act, "firecrawl_map", api_url=service.url, api_key=key)
            assert failed.failure_class == "auth_required"
            assert "hush" not in str(failed)
        assert not service.asked


class TestTheAddress:
    async def test_comes_from_the_environment_where_a_step_names_none(
        self, ctx: ActorContext, act: Act, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AGENTIC_FIRECRAWL_URL", fakes.firecrawl_url)
        assert (await act("firecrawl_map", api_url=None, url=fakes.shop_url)).list_item_urls

    async def test_in_the_environment_has_to_be_one(self, act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AGENTIC_FIRECRAWL_URL", "ftp://user:hush@h/")
        with pytest.raises(SettingsError, match="AGENTIC_FIRECRAWL_URL") as caught:
            await act("firecrawl_map", api_url=None, url=PAGE)
        assert "hush" not in str(caught.value)

    async def test_may_lead_into_the_own_network(
        self, ctx: ActorContext, act: Act, fakes: FakeServer
    ) -> None:
        async with open_fetcher(HttpPolicy()) as strict:
            found = await act(
                "firecrawl_scrape", context=replace(ctx, http=strict), url=f"{fakes.shop_url}product/1"
            )
        assert found.page.status == 200
