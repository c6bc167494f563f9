from __future__ import annotations

import json
from base64 import b64encode
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
from selectolax.lexbor import LexborHTMLParser

from agentic.fakes.jobs.credentials import CLIENT_ID, CLIENT_SECRET, PASSWORD, USERNAME
from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration

Client = aiohttp.ClientSession


def basic(user: str, password: str) -> dict[str, str]:
    return {"authorization": f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"}


async def page(client: Client, url: str) -> LexborHTMLParser:
    async with client.get(url) as response:
        assert response.status == 200
        return LexborHTMLParser(await response.read())


async def log_in(client: Client, fakes: FakeServer, **changes: str) -> tuple[int, str, LexborHTMLParser]:
    """Fill in the form as a person would; return status, location and what was shown."""
    form = await page(client, f"{fakes.jobs_url}login?next={changes.pop('following', '')}")
    fields = {
        str(node.attributes["name"]): node.attributes.get("value") or ""
        for node in form.css("form.login input")
    }
    fields |= {"session_key": USERNAME, "session_password": PASSWORD} | changes
    async with client.post(f"{fakes.jobs_url}login", data=fields, allow_redirects=False) as response:
        body = LexborHTMLParser(await response.read())
        return response.status, response.headers.get("location", ""), body


async def status(client: Client, url: str) -> int:
    async with client.get(url, allow_redirects=False) as response:
        return response.status


async def grant(client: Client, fakes: FakeServer, **fields: str) -> tuple[int, dict[str, object]]:
    asked = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, **fields}
    async with client.post(f"{fakes.jobs_url}oauth/token", data=asked) as response:
        return response.status, await response.json()


async def search(client: Client, fakes: FakeServer, token: object) -> tuple[int, dict[str, object]]:
    headers = {"authorization": f"Bearer {token}"}
    async with client.get(f"{fakes.jobs_url}api/search?q=python", headers=headers) as response:
        return response.status, await response.json()


async def test_a_search_needs_a_login_and_the_login_leads_back_to_it(
    client: Client, fakes: FakeServer
) -> None:
    wanted = f"{fakes.jobs_url}search?q=python&page=2"
    async with client.get(wanted, allow_redirects=False) as refused:
        assert refused.status == HTTPStatus.FOUND
        target = urlsplit(refused.headers["location"])
    assert target.path == "/jobs/login"
    following = parse_qs(target.query)["next"][0]
    code, location, _ = await log_in(client, fakes, following=following.replace("&", "%26"))
    assert (code, location) == (303, "/jobs/search?q=python&page=2")
    assert await status(client, wanted) == 200


async def test_a_login_sets_a_cookie_scripts_cannot_read_and_leads_home(
    client: Client, fakes: FakeServer
) -> None:
    code, location, _ = await log_in(client, fakes)
    cookie = next(kept for kept in client.cookie_jar if kept.key == "jobs_session")
    assert (code, location) == (303, "/jobs/")
    assert cookie["httponly"]
    assert cookie["path"] == "/jobs"


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"session_password": "wrong"}, 401, "Wrong password."),
        ({"session_key": "nobody"}, 200, "Nobody has that name."),
        ({"csrf_token": "guessed"}, 403, "The form has expired. Open it again."),
    ],
)
async def test_a_failed_login_shows_an_error_and_opens_nothing(
    client: Client, fakes: FakeServer, changes: dict[str, str], code: int, message: str
) -> None:
    answered, _, shown = await log_in(client, fakes, **changes)
    assert (answered, shown.css(".error")[0].text()) == (code, message)
    assert await status(client, f"{fakes.jobs_url}search") == HTTPStatus.FOUND


async def test_the_token_of_a_form_is_worth_nothing_without_its_cookie(
    client: Client, fakes: FakeServer
) -> None:
    form = await page(client, f"{fakes.jobs_url}login")
    token = form.css("input[name=csrf_token]")[0].attributes["value"]
    client.cookie_jar.clear()
    fields = {"csrf_token": token, "session_key": USERNAME, "session_password": PASSWORD}
    async with client.post(f"{fakes.jobs_url}login", data=fields, allow_redirects=False) as response:
        assert response.status == HTTPStatus.FORBIDDEN


async def test_a_login_never_leads_to_another_site(client: Client, fakes: FakeServer) -> None:
    for foreign in ("//evil.example/", "https://evil.example/", "/\\evil.example"):
        assert (await log_in(client, fakes, next=foreign))[1] == "/jobs/"


async def test_cards_lead_to_details_with_a_job_posting(client: Client, fakes: FakeServer) -> None:
    await log_in(client, fakes)
    found = await page(client, f"{fakes.jobs_url}search?q=")
    assert len(found.css(".job-card a.job-link")) == 10
    assert found.css("a.next")[0].attributes["href"] == "?q=&page=2"
    link = found.css("a.job-link")[0]
    shown = await page(client, f"{fakes.jobs_url}{link.attributes['href']}")
    posting = json.loads(shown.css("script[type='application/ld+json']")[0].text())
    assert posting["@type"] == "JobPosting"
    assert posting["title"] == shown.css("h1.title")[0].text() == link.text()
    assert posting["datePosted"] == shown.css("time")[0].attributes["datetime"]
    assert posting["skills"] == [node.text() for node in shown.css(".skills li")]
    for part in (".company", ".location", ".description"):
        assert shown.css(part)[0].text()


async def test_sessions_end_when_told_after_so_many_requests_and_by_logout(
    client: Client, fakes: FakeServer
) -> None:
    url = f"{fakes.jobs_url}search"
    await log_in(client, fakes)
    async with client.post(f"{fakes.control_url}/sessions", json={"expire": True, "requests": 2}) as order:
        assert order.status == HTTPStatus.CREATED
    assert await status(client, url) == HTTPStatus.FOUND
    await log_in(client, fakes)
    assert [await status(client, url) for _ in range(3)] == [200, 200, 302]
    await log_in(client, fakes)
    async with client.post(f"{fakes.jobs_url}logout") as out:
        assert str(out.url) == fakes.jobs_url
    assert await status(client, url) == HTTPStatus.FOUND


async def test_a_private_page_that_is_unchanged_is_not_sent_again(client: Client, fakes: FakeServer) -> None:
    await log_in(client, fakes)
    async with client.get(f"{fakes.jobs_url}job/1") as first:
        headers = {"if-none-match": first.headers["etag"]}
        assert first.headers["cache-control"] == "private"
    async with client.get(f"{fakes.jobs_url}job/1", headers=headers) as again:
        assert (again.status, await again.read()) == (304, b"")
    assert await status(client, f"{fakes.jobs_url}job/999") == HTTPStatus.NOT_FOUND


async def test_a_token_opens_the_api_and_its_pages(client: Client, fakes: FakeServer) -> None:
    code, granted = await grant(client, fakes, grant_type="client_credentials")
    assert (code, granted["token_type"], granted["expires_in"]) == (200, "Bearer", 3_600)
    code, found = await search(client, fakes, granted["access_token"])
    jobs = found["jobs"]
    assert isinstance(jobs, list)
    assert (code, len(jobs)) == (200, 10)
    assert found["next"] == f"{fakes.jobs_url}api/search?q=python&page=2"


async def test_an_expired_token_is_renewed_with_a_refresh_token_that_works_once(
    client: Client, fakes: FakeServer
) -> None:
    _, first = await grant(client, fakes, grant_type="client_credentials")
    fakes.control.tokens.expire()
    assert (await search(client, fakes, first["access_token"]))[0] == HTTPStatus.UNAUTHORIZED
    renewing = {"grant_type": "refresh_token", "refresh_token": str(first["refresh_token"])}
    code, second = await grant(client, fakes, **renewing)
    assert code == 200
    assert (await search(client, fakes, second["access_token"]))[0] == 200
    assert await grant(client, fakes, **renewing) == (400, {"error": "invalid_grant"})


async def test_a_client_may_prove_itself_by_basic_authentication(client: Client, fakes: FakeServer) -> None:
    headers = basic(CLIENT_ID, CLIENT_SECRET)
    fields = {"grant_type": "client_credentials"}
    async with client.post(f"{fakes.jobs_url}oauth/token", data=fields, headers=headers) as response:
        assert response.status == 200
        assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("fields", "code", "error"),
    [
        ({"client_secret": "wrong", "grant_type": "client_credentials"}, 401, "invalid_client"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"grant_type": "refresh_token", "refresh_token": "guessed"}, 400, "invalid_grant"),
        ({}, 400, "invalid_request"),
    ],
)
async def test_a_grant_that_is_refused_says_why(
    client: Client, fakes: FakeServer, fields: dict[str, str], code: int, error: str
) -> None:
    assert await grant(client, fakes, **fields) == (code, {"error": error})


async def test_basic_authentication_guards_the_list(client: Client, fakes: FakeServer) -> None:
    url = f"{fakes.jobs_url}basic?q=python"
    async with client.get(url) as refused:
        assert refused.status == HTTPStatus.UNAUTHORIZED
        assert refused.headers["www-authenticate"].startswith("Basic ")
    for password, code in ((PASSWORD, 200), ("wrong", 401)):
        async with client.get(url, headers=basic(USERNAME, password)) as answered:
            assert answered.status == code
            assert (b"job-card" in await answered.read()) == (code == 200)
    async with client.get(url, headers={"authorization": "Basic !"}) as garbled:
        assert garbled.status == HTTPStatus.UNAUTHORIZED
