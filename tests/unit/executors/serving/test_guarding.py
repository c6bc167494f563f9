"""The checks of every request."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from agentic.core.logging import configure_logging
from agentic.core.masking import remember_secrets
from agentic.executors.serving import Guarded, GuardRules

TOKEN = "loopback-" + "0123456789abcdef" * 2  # the same in each process of the tests: it is in names of cases
ORIGIN = "https://chat.example.com"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    if request.url.path == "/broken":
        raise ValueError(f"the application failed with {TOKEN}")
    await JSONResponse({"read": len(await request.body())})(scope, receive, send)


def client(app: Any = echo, **rules: Any) -> httpx2.AsyncClient:
    guarded = Guarded(app, GuardRules(token=TOKEN, **rules))
    headers = {"authorization": f"Bearer {TOKEN}"}
    transport = httpx2.ASGITransport(app=guarded)
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8720", headers=headers)


async def status(path: str = "/", method: str = "GET", **given: Any) -> int:
    rules = given.pop("rules", {})
    async with client(**rules) as http:
        return (await http.request(method, path, **given)).status_code


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Basic {TOKEN}",
        f"{TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
    ],
)
async def test_a_request_without_the_token_is_refused(sent: str) -> None:
    assert await status(headers={"authorization": sent}) == 401


async def test_the_token_is_taken_from_its_header_only() -> None:
    bare = {"authorization": ""}
    assert await status(f"/?token={TOKEN}&access_token={TOKEN}", headers=bare) == 401
    assert await status(headers={**bare, "cookie": f"token={TOKEN}"}) == 401
    assert await status() == 200


async def test_a_header_that_is_sent_twice_counts_as_none() -> None:
    twice = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer other")]
    transport = httpx2.ASGITransport(app=Guarded(echo, GuardRules(token=TOKEN)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        assert (await http.get("/", headers=twice)).status_code == 401


@pytest.mark.parametrize(
    "path", ["/health/live", "/v1/health/live", "/health/live/", "/x/%2e%2e/health/live"]
)
async def test_only_the_exact_open_path_needs_no_token(path: str) -> None:
    expected = 200 if path == "/health/live" else 401
    assert await status(path, headers={"authorization": ""}) == expected


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_an_open_path_is_open_to_readers_only(method: str) -> None:
    assert await status("/health/live", method, headers={"authorization": ""}) == 401


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", 200),
        ("LocalHost:1", 200),
        ("[::1]:8720", 200),
        ("agents.example.com", 200),
        ("evil.example.com", 421),
        ("127.0.0.1.evil.example.com", 421),
        ("localhost@evil.example.com", 421),
        ("localhost:x", 421),
        ("", 421),
    ],
)
async def test_a_host_that_is_not_listed_is_refused_even_with_the_token(host: str, expected: int) -> None:
    rules = {"hosts": ("agents.example.com",)}
    assert await status(headers={"host": host}, rules=rules) == expected
    assert await status("/health/live", headers={"host": host}, rules=rules) == expected


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "BREW"])
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "cross-site", "origin": ORIGIN}, 200),
        ({"origin": "http://127.0.0.1:8720"}, 200),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"origin": f"{ORIGIN}.evil.com"}, 403),
    ],
)
async def test_pages_of_other_origins_change_nothing(
    method: str, headers: dict[str, str], expected: int
) -> None:
    assert await status(method=method, headers=headers, rules={"origins": (ORIGIN,)}) == expected


async def test_a_listed_origin_may_ask_and_read() -> None:
    asked = {"origin": ORIGIN, "access-control-request-method": "POST", "authorization": ""}
    async with client(origins=(ORIGIN,)) as http:
        preflight = await http.options("/", headers=asked)
        read = await http.get("/", headers={"origin": ORIGIN})
        foreign = await http.options("/", headers={**asked, "origin": "https://evil.example.com"})
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == ORIGIN
    assert "last-event-id" in preflight.headers["access-control-allow-headers"]
    assert read.headers["access-control-allow-origin"] == ORIGIN
    assert foreign.status_code == 401
    assert "access-control-allow-origin" not in foreign.headers


async def test_a_body_over_the_limit_is_refused_with_and_without_its_length() -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(11):
            yield b"x" * 10

    rules = {"max_body_bytes": 100}
    assert await status(method="POST", content=b"x" * 100, rules=rules) == 200
    assert await status(method="POST", content=b"x" * 101, rules=rules) == 413
    assert await status(method="POST", content=parts(), rules=rules) == 413


async def test_too_many_and_too_long_headers_are_refused() -> None:
    assert await status(headers={f"x-{number}": "1" for number in range(100)}) == 431
    assert await status(headers={"x-long": "a" * 40_000}) == 431


async def test_an_error_of_an_application_shows_neither_traceback_nor_secret() -> None:
    remember_secrets(TOKEN)
    log = io.StringIO()
    with contextlib.redirect_stderr(log):
        configure_logging("warning", "console")
        async with client() as http:
            answer = await http.get("/broken")
    told = json.loads(answer.text)
    assert answer.status_code == 500
    assert told["incident"] in log.getvalue()
    assert "Traceback" in log.getvalue()
    assert "ValueError" not in answer.text
    assert TOKEN not in answer.text + log.getvalue()


async def test_every_answer_has_the_security_headers() -> None:
    async with client() as http:
        for answer in (await http.get("/"), await http.get("/", headers={"authorization": ""})):
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["content-security-policy"].startswith("default-src 'none'")


async def test_an_application_keeps_headers_that_it_sets_itself() -> None:
    async with client(Response("", headers={"cache-control": "max-age=60"})) as http:
        assert (await http.get("/")).headers["cache-control"] == "max-age=60"


async def test_websockets_are_closed() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    await Guarded(echo, GuardRules(token=TOKEN))({"type": "websocket", "headers": []}, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


@given(st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=40)), max_size=8))
async def test_no_headers_get_past_without_the_token(headers: list[tuple[bytes, bytes]]) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost"), *headers]}
    await Guarded(echo, GuardRules(token=TOKEN))(scope, receive, send)
    assert sent[0]["status"] in (401, 413, 421, 431)
