"""Sites that set cookies, without a login."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.integration.plugins.web.scripted import answer, field_of, links, redirect, serving

from agentic.core.types import JSONValue
from agentic.mappers import ExecutionStatus

if TYPE_CHECKING:
    from tests.integration.plugins.web.conftest import MakeAgent, RunAgent

pytestmark = pytest.mark.integration

SECRET = "5up3rs3cretsessionvalue"


def walled(head: str) -> bytes:
    """Set a cookie and redirect to the same page, until it comes back."""
    if f"sid={SECRET}" in field_of(head, "cookie"):
        return answer(links("/a", "/b"))
    return redirect("/", f"Set-Cookie: sid={SECRET}; Path=/; HttpOnly", "Set-Cookie: lang=en; Path=/a")


def http(**policy: JSONValue) -> JSONValue:
    return {"allow_private_hosts": ["127.0.0.1", "localhost"], **policy}


@pytest.mark.parametrize("transport", ["aiohttp", "httpx2", "curl_cffi"])
async def test_a_site_that_sets_a_cookie_and_redirects_is_crawled(
    make_agent: MakeAgent,
    run_agent: RunAgent,
    stored_urls: Callable[[], list[str]],
    capsys: pytest.CaptureFixture[str],
    transport: str,
) -> None:
    async with serving({"/": walled, "*": answer("<h1>x</h1>")}) as site:
        step: JSONValue = {"type": "crawl", "start": f"{site.url}/", "slice_pages": 1}
        agent = make_agent(pipeline={"steps": [step]}, inputs={}, http=http(transport=transport))
        outcome = await run_agent(agent)
        assert outcome.status == ExecutionStatus.SUCCEEDED
        assert {url.removeprefix(site.url) for url in stored_urls()} == {"/", "/a", "/b"}
        assert set(site.cookies("/a")[0].split("; ")) == {f"sid={SECRET}", "lang=en"}
        assert site.cookies("/b") == [f"sid={SECRET}"]
        site.heads.clear()
        await run_agent(agent)
        assert site.cookies("/")[0] == "", "another run is another visitor"
    assert SECRET not in "".join(capsys.readouterr())


async def test_no_cookie_is_kept_where_they_are_turned_off(
    make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    async with serving({"/": walled}) as site:
        step: JSONValue = {"type": "crawl", "start": f"{site.url}/"}
        outcome = await run_agent(make_agent(pipeline={"steps": [step]}, inputs={}, http=http(cookies=False)))
    assert outcome.status == ExecutionStatus.FAILED
    assert set(site.cookies("/")) == {""}


async def test_cookies_reach_later_steps_but_no_other_site(
    make_agent: MakeAgent, run_agent: RunAgent
) -> None:
    async with serving({"*": answer("<h1>x</h1>")}) as other:
        stolen = other.url.replace("127.0.0.1", "localhost")
        routes = {"/set": answer("<h1>x</h1>", "Set-Cookie: a=1"), "/out": redirect(f"{stolen}/in")}
        async with serving({**routes, "*": answer("<h1>x</h1>")}) as site:
            own: JSONValue = {"url": f"{site.url}/own", "headers": {"Cookie": "b=2"}}
            configs: dict[str, JSONValue] = {
                name: {"url": f"{site.url}/{name}"} for name in ("set", "got", "out")
            }
            steps: JSONValue = [
                {"actor": "fetch", "id": name, "config": config}
                for name, config in {**configs, "own": own}.items()
            ]
            await run_agent(make_agent(pipeline={"steps": steps}, inputs={}, http=http()))
            sent = {name: site.cookies(f"/{name}") for name in ("set", "got", "out", "own")}
    assert sent == {"set": [""], "got": ["a=1"], "out": ["a=1"], "own": ["b=2"]}
    assert other.cookies("/in") == [""]
