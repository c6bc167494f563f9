"""Specs that log in each way there is, and search each way there is, at the fakes' sites."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr
from tests.integration.plugins.web.specs import failure_in, run_spec

from agentic.core.actors import ActorContext, UnknownSecretError
from agentic.core.actors.stores import MemorySessions
from agentic.core.http import HttpPolicy, open_fetcher
from agentic.core.types import JSONValue
from agentic.executors.testing import Site
from agentic.fakes.jobs.credentials import CLIENT_ID, CLIENT_SECRET, PASSWORD, USERNAME
from agentic.fakes.server import FakeServer
from agentic.fakes.shop.site import OPENSEARCH

pytestmark = pytest.mark.integration

Login = dict[str, Any]


class Secrets:
    """Secrets of a project."""

    def __init__(self, **values: str) -> None:
        self._values = values

    async def secret(self, name: str) -> SecretStr:
        if name not in self._values:
            raise UnknownSecretError(name)
        return SecretStr(self._values[name])


@pytest.fixture
async def ctx() -> AsyncIterator[ActorContext]:
    async with open_fetcher(HttpPolicy(allow_private_hosts=("127.0.0.1",))) as fetcher:
        yield ActorContext(http=fetcher, sessions=MemorySessions())


MEMBERS = """
inputs: {page: {}}
steps:
  - {actor: authenticate, config: {platform: board}}
  - {actor: fetch, config: {url: "${inputs.page}"}}
  - {actor: aggregate, config: {items: [{strategy: "${strategy}", text: "${page.text}"}]}}
"""


def bearer(fakes: FakeServer) -> Login:
    return {"token": fakes.control.tokens.issue().access_token, "hosts": ["127.0.0.1"]}


def basic(_: FakeServer) -> Login:
    return {"username": USERNAME, "password": PASSWORD, "hosts": ["127.0.0.1"]}


def oauth2(fakes: FakeServer) -> Login:
    client = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    return {"token_url": f"{fakes.jobs_url}oauth/token", **client}


def form(fakes: FakeServer) -> Login:
    fields = {"session_key": USERNAME, "session_password": PASSWORD}
    return {"login_url": f"{fakes.jobs_url}login", "fields": fields}


def cookies(fakes: FakeServer) -> Login:
    return {"cookies": [cookie(fakes)]}


def storage_state(fakes: FakeServer) -> Login:
    return {"storage_state": {"cookies": [cookie(fakes)], "origins": []}}


def cookie(fakes: FakeServer) -> dict[str, str]:
    sid = fakes.control.sessions.open()
    return {"name": "jobs_session", "value": sid, "domain": "127.0.0.1", "path": "/jobs"}


@pytest.mark.requirement("SP15")
@pytest.mark.parametrize(
    ("make", "path", "shown"),
    [
        (bearer, "api/search", '"jobs"'),
        (basic, "basic", "job-card"),
        (oauth2, "api/search", '"jobs"'),
        (form, "search?q=python", "job-card"),
        (cookies, "search?q=python", "job-card"),
        (storage_state, "search?q=python", "job-card"),
    ],
)
async def test_a_spec_sees_what_members_see(
    ctx: ActorContext, fakes: FakeServer, make: Callable[[FakeServer], Login], path: str, shown: str
) -> None:
    login = {"strategy": make.__name__, **make(fakes)}
    known = replace(ctx, secrets=Secrets(board=json.dumps(login)))
    (item,) = (await run_spec(MEMBERS, known, page=f"{fakes.jobs_url}{path}")).items
    assert item["strategy"] == make.__name__
    assert shown in str(item["text"])


async def test_a_spec_whose_login_is_not_stored_or_refused_has_to_authenticate(
    ctx: ActorContext, fakes: FakeServer
) -> None:
    page = f"{fakes.jobs_url}search"
    wrong = json.dumps({"strategy": "oauth2", **oauth2(fakes), "client_secret": "wrong"})
    for secrets in (Secrets(), Secrets(board=wrong)):
        assert await failure_in(MEMBERS, replace(ctx, secrets=secrets), page=page) == "auth_required"


SEARCHES: dict[str, str] = {
    "form": """
inputs: {site: {}, about: {}, words: {}}
steps:
  - {actor: fetch, config: {url: "${inputs.site}"}}
  - {actor: search, config: {keywords: "${inputs.words}", item_selector: "a.product"}, save_as: found}
  - {actor: aggregate, config: {items: [{found: "${found.list_item_urls}"}]}}
""",
    "template": """
inputs: {site: {}, about: {}, words: {}}
steps:
  - actor: search
    config:
      url_template: "${inputs.site}search?q={query}"
      keywords: "${inputs.words}"
      item_selector: "a.product"
    save_as: found
  - {actor: aggregate, config: {items: [{found: "${found.list_item_urls}"}]}}
""",
    "description": """
inputs: {site: {}, about: {}, words: {}}
steps:
  - {actor: fetch, config: {url: "${inputs.about}"}}
  - {actor: search, config: {keywords: "${inputs.words}", item_selector: "a.product"}, save_as: found}
  - {actor: aggregate, config: {items: [{found: "${found.list_item_urls}"}]}}
""",
}


@pytest.mark.requirement("SP16")
@pytest.mark.parametrize("way", SEARCHES)
async def test_a_spec_searches_a_site(
    ctx: ActorContext, fakes: FakeServer, agentic_site: Site, way: str
) -> None:
    link = f'<link rel="search" type="{OPENSEARCH}" href="{fakes.shop_url}opensearch.xml">'
    agentic_site.serve("/about", f"<html><head>{link}</head></html>", headers={"Content-Type": "text/html"})
    places: dict[str, JSONValue] = {"site": fakes.shop_url, "about": f"{agentic_site.url}/about"}
    (item,) = (await run_spec(SEARCHES[way], ctx, **places, words="packet")).items
    found = item["found"]
    assert isinstance(found, list)
    assert found
    assert all("/shop/product/" in str(url) for url in found)
    assert await failure_in(SEARCHES[way], ctx, **places, words="xyzzy") == "empty"


PLATFORM = """
inputs: {words: {}, platform: {}}
steps:
  - {actor: search, config: {platform: "${inputs.platform}", keywords: "${inputs.words}"}, save_as: found}
  - {actor: aggregate, config: {items: [{found: "${found.list_item_urls}"}]}}
"""


async def test_a_spec_searches_a_platform(
    ctx: ActorContext, fakes: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_FIRECRAWL_URL", fakes.firecrawl_url)
    (item,) = (await run_spec(PLATFORM, ctx, platform="firecrawl", words="a")).items
    found: JSONValue = item["found"]
    assert isinstance(found, list)
    assert found
    assert await failure_in(PLATFORM, ctx, platform="nowhere", words="a") == "reference"
