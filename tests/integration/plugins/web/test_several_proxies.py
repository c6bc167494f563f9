"""Crawls through several proxies, one of which dies, is refused, or does not know the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.forwarding import HOST, forwarding
from tests.integration.plugins.web.scripted import Answer, answer, links, serving

from agentic.core.http.exits.uses import ProxyUse, in_list_order
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import ExecutionOutcome
from agentic.mappers import Database, ExecutionModel, ExecutionStatus
from agentic.mappers.catalog.execution_counts import proxies_so_far

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

PASSWORD = "hunter2-of-the-list"
SITE: dict[str, Answer] = {
    "/robots.txt": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    "/": answer(links(*(f"/{number}" for number in range(30)))),
    "*": answer("<h1>x</h1>"),
}
TOO_MANY = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 600\r\nContent-Length: 0\r\n\r\n"
STRANGER = b"HTTP/1.1 407 Who Are You\r\nContent-Length: 0\r\n\r\n"


def uses_of(database: Database, outcome: ExecutionOutcome) -> list[ProxyUse]:
    """Return the stored requests of an execution through each proxy, in list order."""
    with database.reading() as session:
        return in_list_order(proxies_so_far(session, session.get_one(ExecutionModel, outcome.execution_id)))


@pytest.mark.parametrize(
    ("transport", "limit", "then", "says"),
    [
        ("aiohttp", 8, None, "no connection to the proxy"),
        ("httpx2", 8, None, "no connection to the proxy"),
        ("curl_cffi", 8, None, "no connection to the proxy"),
        ("aiohttp", 8, TOO_MANY, "rate_limited, status 429"),
        ("aiohttp", 0, STRANGER, "status 407"),
        ("aiohttp", None, None, ""),
    ],
)
async def test_a_crawl_reads_all_pages_though_one_proxy_fails(  # noqa: PLR0917 - fixtures and cases
    make_agent: MakeAgent,
    run_agent: RunAgent,
    database: Database,
    stored_urls: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    transport: str,
    limit: int | None,
    then: bytes | None,
    says: str,
) -> None:
    async with (
        serving(SITE) as site,
        forwarding(site.url, limit=limit, then=then) as one,
        forwarding(site.url) as two,
    ):
        lines = [f"http://me:{PASSWORD}@127.0.0.1:{proxy.port}" for proxy in (one, two)]
        monkeypatch.setenv("AGENTIC_SECRET_SHOPS__EU", "\n".join(lines))
        http: JSONValue = {"proxies": "${secrets.eu}", "transport": transport, "max_connections_per_host": 1}
        step: JSONValue = {"type": "crawl", "start": f"{HOST}/", "slice_pages": 10}
        outcome = await run_agent(make_agent(pipeline={"steps": [step], "http": http}, inputs={}))
    assert (outcome.error, outcome.status) == (None, ExecutionStatus.SUCCEEDED)
    assert len(stored_urls()) == 31
    first, second = uses_of(database, outcome)
    assert (second.requests, second.failures) == (len(two.heads), ())
    assert second.received_bytes > 0
    if limit == 8 and then is None:  # connecting failed: no request arrived
        assert first.requests == len(one.heads) + first.failed
        assert [name for name, _ in first.failures] == ["connect"]
    else:
        assert first.requests == len(one.heads)
        assert bool(first.failures) == bool(then)
    assert len(one.heads) + len(two.heads) >= 32
    found = [warning for warning in outcome.warnings if "proxy 1" in warning]
    if says:
        assert len(one.heads) < len(two.heads)
        assert says in found[0]
        assert "rests" in found[0]
    else:
        assert abs(len(one.heads) - len(two.heads)) <= 1
        assert [*outcome.warnings] == []
    assert all("proxy-authorization: basic" in head.lower() for head in (*one.heads, *two.heads))
    shown = f"{outcome} {capsys.readouterr()}"
    assert PASSWORD not in shown
    assert f":{one.port}" not in shown


async def test_a_step_says_that_a_proxy_rests(
    make_agent: MakeAgent, run_agent: RunAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        serving(SITE) as site,
        forwarding(site.url, limit=0, then=STRANGER) as one,
        forwarding(site.url) as two,
    ):
        monkeypatch.setenv(
            "AGENTIC_SECRET_SHOPS__EU", f"127.0.0.1:{one.port}\n127.0.0.1:{two.port}:me:{PASSWORD}"
        )
        steps: JSONValue = [{"actor": "fetch", "id": "page", "config": {"url": f"{HOST}/1"}}]
        http: JSONValue = {"proxies": ["${secrets.eu}"], "obey_robots": False}
        outcome = await run_agent(make_agent(pipeline={"steps": steps, "http": http}, inputs={}))
    [warning] = [warning for warning in outcome.warnings if "proxy 1" in warning]
    assert "the proxy refused with status 407; check its user name and password" in warning


async def test_requests_of_all_kinds_of_steps_are_counted_even_if_these_fail(
    make_agent: MakeAgent, run_agent: RunAgent, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    site_with_gaps = {**SITE, "/gone": answer("", status="410 Gone")}
    async with (
        serving(site_with_gaps) as site,
        forwarding(site.url) as one,
        forwarding(site.url) as two,
    ):
        monkeypatch.setenv("AGENTIC_SECRET_SHOPS__EU", f"127.0.0.1:{one.port}\n127.0.0.1:{two.port}")
        skip: JSONValue = {"*": {"retry_count": 0, "then": "skip"}}

        def fetch(url: str, name: str) -> JSONValue:
            return {"actor": "fetch", "id": name, "config": {"url": url}, "error_handling": skip}

        inner: JSONValue = {"steps": [{"actor": "fetch", "config": {"url": f"{HOST}/gone"}}]}
        steps: JSONValue = [
            fetch(f"{HOST}/1", "first"),
            fetch(f"{HOST}/gone", "gone"),
            {
                "type": "loop",
                "source": "inputs.urls",
                "item_as": "url",
                "collect": "url",
                "loop_steps": [fetch("${url}", "each")],
            },
            {"type": "pipeline", "id": "broken", "pipeline": inner, "error_handling": skip},
            {"type": "pipeline", "id": "whole", "pipeline": {"steps": [fetch(f"{HOST}/2", "last")]}},
        ]
        urls = [f"{HOST}/{name}" for name in ("3", "gone", "4")]
        http: JSONValue = {"proxies": ["${secrets.EU}"], "obey_robots": False}
        inputs: JSONValue = {"urls": {"type": "list"}}
        agent = make_agent(
            pipeline={"steps": steps, "http": http, "inputs": inputs}, inputs={"urls": [*urls]}
        )
        outcome = await run_agent(agent)
    first, second = uses_of(database, outcome)
    assert len(one.heads) + len(two.heads) == 7
    assert (first.requests, second.requests) == (len(one.heads), len(two.heads))
    assert {name for use in (first, second) for name, _ in use.failures} == {"gone"}
    assert first.failed + second.failed == 3
