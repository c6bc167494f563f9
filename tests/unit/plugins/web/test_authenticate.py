"""Logging in without a network: what is kept, what is used again, and that nothing secret shows."""

from __future__ import annotations

import inspect
import json
import traceback
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError
from structlog.testing import capture_logs

from agentic.core import masking
from agentic.core.actors import ActorContext, ActorError, UnknownSecretError, describe_failure
from agentic.core.actors.stores import MemorySessions
from agentic.core.http import CookieJar, Fetcher, Headers, HttpPolicy, HttpRequest, HttpResponse, HttpSession
from agentic.core.masking import MASK, mask_known
from agentic.core.types import JSONValue
from agentic.plugins.web.actors.authenticate import AuthenticateActor, AuthenticateInput, AuthenticateOutput
from agentic.plugins.web.login.form import steps_of
from agentic.plugins.web.login.kept import KeptLogin, digest_of, load_kept
from agentic.plugins.web.login.logins import FormLogin, read_login
from agentic.plugins.web.login.sessions import used_session

Answer = Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]
TOKEN_URL = "https://api.example/token"
LOGIN_URL = "https://jobs.example/login"
PAGE = '<form method="{method}"><input name="user"><input type="password" name="password"></form>'


class Site:
    """A transport that answers as told, and remembers what was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[HttpRequest] = []

    async def send(self, request: HttpRequest, *, timeout_s: float, max_bytes: int) -> HttpResponse:
        self.asked.append(request)
        answer = self.answer(request)
        return await answer if inspect.isawaitable(answer) else answer


class Secrets:
    def __init__(self, values: dict[str, str]) -> None:
        self.values = values

    async def secret(self, name: str) -> SecretStr:
        if name not in self.values:
            raise UnknownSecretError(name)
        return SecretStr(self.values[name])


class Stage:
    """An actor's surroundings; the sessions stay from call to call."""

    def __init__(self, answer: Answer | None = None, **secrets: object) -> None:
        self.site = Site(answer or reply)
        self.sessions = MemorySessions()
        stored = {name: s if isinstance(s, str) else json.dumps(s) for name, s in secrets.items()}
        self._secrets = Secrets(stored)
        self._http = Fetcher(HttpPolicy(obey_robots=False), self.site)

    async def run(self, *, is_rerun: bool = False, **config: Any) -> AuthenticateOutput:
        ctx = ActorContext(http=self._http, secrets=self._secrets, sessions=self.sessions, is_rerun=is_rerun)
        return await AuthenticateActor().run(ctx, AuthenticateInput.model_validate(config))


def reply(
    request: HttpRequest, body: str = "", status: int = 200, kind: str = "text/html", **fields: str
) -> HttpResponse:
    named = [(name.replace("_", "-"), value) for name, value in fields.items()]
    cookies = tuple(value for name, value in named if name == "set-cookie")
    headers = Headers([("content-type", kind), *named])
    return HttpResponse(
        url=request.url,
        status=status,
        headers=headers,
        body=body.encode("utf-8", "replace"),
        set_cookies=cookies,
    )


def granting(**answer: JSONValue) -> Answer:
    numbers: Iterator[int] = iter(range(1, 100))

    def grant(request: HttpRequest) -> HttpResponse:
        number = next(numbers)
        granted = {"access_token": f"access-{number}", "refresh_token": f"refresh-{number}", **answer}
        return reply(request, json.dumps(granted), kind="application/json")

    return grant


def bearer(**more: JSONValue) -> dict[str, JSONValue]:
    return {"strategy": "bearer", "token": "hunter2", "hosts": ["api.example"], **more}


def oauth(**more: JSONValue) -> dict[str, JSONValue]:
    return {
        "strategy": "oauth2",
        "token_url": TOKEN_URL,
        "client_id": "client id",
        "client_secret": "hunter2",
        **more,
    }


async def headers_of(stage: Stage, url: str = "https://api.example/", name: str = "Api") -> dict[str, str]:
    session = await stage.sessions.load(name)
    assert session is not None
    return session.headers_for(url)


async def test_a_stored_login_is_found_by_the_platform_and_its_header_goes_to_its_hosts() -> None:
    stage = Stage(Api=bearer())
    output = await stage.run(platform="Api")
    assert output == AuthenticateOutput(session="Api", platform="Api", strategy="bearer")
    assert await headers_of(stage) == {"authorization": "Bearer hunter2"}
    assert await headers_of(stage, "https://other.example/") == {}


async def test_a_token_in_another_header_stands_alone() -> None:
    stage = Stage()
    await stage.run(session="Api", login=bearer(header="X-Api-Key"))
    assert await headers_of(stage) == {"x-api-key": "hunter2"}


async def test_basic_is_user_and_password() -> None:
    stage = Stage()
    login = {"strategy": "basic", "username": "ada", "password": "pä:ss", "hosts": ["api.example"]}
    await stage.run(platform="Api", login=login)
    assert await headers_of(stage) == {"authorization": "Basic YWRhOnDDpDpzcw=="}


async def test_a_client_gets_a_token_that_is_used_until_it_ends() -> None:
    stage = Stage(granting(expires_in=3600), Api=oauth(scope="jobs"))
    first = await stage.run(credential="Api")
    again = await stage.run(credential="Api")
    [asked] = stage.site.asked
    assert not asked.obey_robots
    assert asked.headers["authorization"] == "Basic Y2xpZW50K2lkOmh1bnRlcjI="
    assert asked.body == b"grant_type=client_credentials&scope=jobs"
    assert await headers_of(stage) == {"authorization": "Bearer access-1"}
    assert first == again
    assert first.expires_at is not None
    left = first.expires_at - datetime.now(UTC)
    assert timedelta(minutes=59) < left <= timedelta(hours=1)


async def test_a_client_may_say_who_it_is_in_the_form() -> None:
    stage = Stage(granting(), Api=oauth(client_auth="form", hosts=["data.example"]))
    await stage.run(platform="Api")
    [asked] = stage.site.asked
    assert asked.body == b"grant_type=client_credentials&client_id=client+id&client_secret=hunter2"
    assert "authorization" not in asked.headers
    assert await headers_of(stage) == {}
    assert await headers_of(stage, "https://data.example/") == {"authorization": "Bearer access-1"}


@pytest.mark.parametrize("again", [{"reuse": False}, {"is_rerun": True}])
async def test_a_login_is_made_anew_when_it_is_to_be(again: dict[str, bool]) -> None:
    stage = Stage(granting(expires_in=3600), Api=oauth())
    await stage.run(platform="Api")
    await stage.run(platform="Api", **again)
    assert await headers_of(stage) == {"authorization": "Bearer access-2"}


@pytest.mark.parametrize("expires_in", [0, 20])
async def test_a_login_that_has_ended_or_soon_will_is_made_anew(expires_in: int) -> None:
    stage = Stage(granting(expires_in=expires_in), Api=oauth())
    await stage.run(platform="Api")
    await stage.run(platform="Api")
    assert len(stage.site.asked) == 2


async def test_another_login_under_the_same_name_is_not_taken_for_the_kept_one() -> None:
    stage = Stage(Api=bearer())
    await stage.run(platform="Api")
    await stage.run(platform="Api", login=bearer(token="other"))
    assert await headers_of(stage) == {"authorization": "Bearer other"}


async def test_each_refresh_token_is_used_once_and_the_newest_is_kept() -> None:
    stage = Stage(granting(expires_in=0), Api=oauth(grant="refresh_token", refresh_token="refresh-0"))
    for _ in range(3):
        await stage.run(platform="Api")
    sent = [asked.body.decode().rpartition("=")[2] for asked in stage.site.asked if asked.body]
    assert sent == ["refresh-0", "refresh-1", "refresh-2"]


async def test_a_refresh_token_that_another_process_used_up_is_no_failure() -> None:
    login = oauth(grant="refresh_token", refresh_token="refresh-0")
    made_of = digest_of(read_login("Api", SecretStr(json.dumps(login))))
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    async def refuse(request: HttpRequest) -> HttpResponse:
        storage: JSONValue = {"strategy": "oauth2", "made_of": made_of, "expires_at": later}
        await stage.sessions.keep(HttpSession(name="Api/login", storage=storage))
        return reply(request, '{"error": "invalid_grant"}', 400, "application/json")

    stage = Stage(refuse, Api=login)
    output = await stage.run(platform="Api")
    assert output.expires_at == datetime.fromisoformat(later)


async def test_what_another_version_kept_is_not_used() -> None:
    sessions = MemorySessions()
    await sessions.keep(HttpSession(name="Api/login", storage={"version": 2}))
    assert await load_kept(sessions, "Api") is None


async def test_what_is_kept_beside_a_session_goes_nowhere_and_shows_nothing() -> None:
    stage = Stage(granting(expires_in=9), Api=oauth(grant="refresh_token", refresh_token="refresh-0"))
    await stage.run(platform="Api")
    beside = await stage.sessions.load("Api/login")
    assert beside is not None
    assert beside.headers_for(TOKEN_URL) == {}
    kept = await load_kept(stage.sessions, "Api")
    assert isinstance(kept, KeptLogin)
    assert "refresh-1" not in f"{beside!r} {kept!r}"


@pytest.mark.parametrize(
    ("answer", "failure_class"),
    [
        ((401, "{}"), "auth_required"),
        ((400, "{}"), "auth_required"),
        ((403, "{}"), "auth_required"),
        ((500, "{}"), "http_500"),
        ((200, "hunter2"), "decode"),
        ((200, '{"error": "hunter2"}'), "schema_invalid"),
        ((200, '["hunter2"]'), "schema_invalid"),
        ((200, '{"access_token": "hunter2", "token_type": "mac"}'), "schema_invalid"),
        ((200, '{"access_token": "a\\nb"}'), "schema_invalid"),
        ((200, '{"access_token": "a", "expires_in": -1}'), "schema_invalid"),
    ],
)
async def test_a_token_endpoint_that_gives_no_token_is_a_failure(
    answer: tuple[int, str], failure_class: str
) -> None:
    stage = Stage(lambda request: reply(request, answer[1], answer[0], "application/json"), Api=oauth())
    with pytest.raises(Exception, match=r"api\.example/token") as caught:
        await stage.run(platform="Api")
    assert describe_failure(caught.value).failure_class == failure_class
    assert await stage.sessions.load("Api") is None


async def test_a_refresh_token_that_is_refused_is_a_login_that_has_ended() -> None:
    login = oauth(grant="refresh_token", refresh_token="refresh-0")
    stage = Stage(lambda request: reply(request, "{}", 400, "application/json"), Api=login)
    with pytest.raises(ActorError, match="no longer valid") as caught:
        await stage.run(platform="Api")
    assert caught.value.failure_class == "auth_expired"


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ("hunter2", "Invalid JSON"),
        ("[]", "should be an object"),
        ({}, "strategy"),
        ({"strategy": "hunter2"}, "strategy: it is not a known one"),
        (bearer(tokn="x"), "bearer.tokn"),
        (bearer(token="hunter2\n"), "bearer.token: Value error, it is empty, or has characters"),
        (bearer(hosts=["https://hunter2/"]), "bearer.hosts"),
        (bearer(hosts=[]), "bearer.hosts"),
        (bearer(header="a b"), "bearer.header"),
        (oauth(grant="refresh_token"), "needs a refresh_token"),
        ({"strategy": "form", "login_url": LOGIN_URL, "fields": {}}, "form.fields"),
        ({"strategy": "cookies", "cookies": "[hunter2"}, "begins like JSON"),
    ],
)
async def test_a_secret_that_is_no_login_is_refused_with_its_faults_and_no_value(
    stored: object, said: str
) -> None:
    with pytest.raises(ActorError, match="the secret 'Api' is not a login") as caught:
        await Stage(Api=stored).run(platform="Api")
    assert caught.value.failure_class == "schema_invalid"
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)


async def test_without_a_credential_authentication_is_required() -> None:
    with pytest.raises(UnknownSecretError, match="agentic secrets set LinkedIn") as caught:
        await Stage().run(platform="LinkedIn")
    assert caught.value.failure_class == "auth_required"


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"login": bearer()},
        {"credential": "a", "login": bearer()},
        {"platform": "a/b"},
        {"platform": ""},
        {"platform": "a", "sesion": "b"},
    ],
)
def test_an_input_that_does_not_say_who_logs_in_is_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        AuthenticateInput.model_validate(config)
    assert "hunter2" not in str(caught.value)


async def test_a_form_that_would_be_sent_without_encryption_is_not_sent() -> None:
    page = PAGE.format(method="post").replace("<form", '<form action="http://jobs.example/in"')
    stage = Stage(lambda request: reply(request, page))
    with pytest.raises(ActorError, match="its form is not encrypted"):
        await stage.run(platform="Jobs", login=form())
    assert [asked.method for asked in stage.site.asked] == ["GET"]


async def test_a_login_that_leaves_no_cookie_is_refused() -> None:
    stage = Stage(lambda request: reply(request, PAGE.format(method="post") if not request.body else "in"))
    with pytest.raises(ActorError, match="set no cookie"):
        await stage.run(platform="Jobs", login=form())


def test_in_a_browser_each_field_is_filled_in_and_enter_is_pressed_in_the_last() -> None:
    login = FormLogin.model_validate(form(fields={'us"er': "ada", "password": "hunter2"}))
    *fills, press = [step.model_dump(mode="json", exclude_none=True) for step in steps_of(login)]
    assert [fill["selector"] for fill in fills] == ['form [name="us\\"er"]', 'form [name="password"]']
    assert (press["selector"], press["key"]) == ('form [name="password"]', "Enter")
    assert "hunter2" not in repr(steps_of(login))


def form(**more: Any) -> dict[str, Any]:
    fields = {"user": "ada", "password": "hunter2"}
    return {"strategy": "form", "login_url": LOGIN_URL, "fields": fields, **more}


def stored_cookie(value: str) -> dict[str, JSONValue]:
    return {"name": "sid", "value": value, "domain": "jobs.example", "path": "/"}


def logins_with(secret: str) -> list[dict[str, Any]]:
    """Return a login of each kind with nothing but secrets in its fields."""
    state = {"cookies": [stored_cookie(secret)], "origins": [{"origin": LOGIN_URL, "localStorage": []}]}
    return [
        bearer(token=secret),
        {"strategy": "basic", "username": secret, "password": secret, "hosts": ["api.example"]},
        oauth(client_id=secret, client_secret=secret),
        oauth(client_secret=secret, grant="refresh_token", refresh_token=secret, client_auth="form"),
        form(fields={"user": secret, "password": secret}),
        {"strategy": "cookies", "cookies": [stored_cookie(secret)]},
        {"strategy": "cookies", "cookies": secret},
        {"strategy": "storage_state", "storage_state": state},
        {"strategy": "storage_state", "storage_state": secret},
    ]


def echoing(secret: str, status: int, method: str) -> Answer:
    """Return a site that says the secret wherever a site can, whatever it is asked."""
    token = json.dumps({"access_token": secret, "refresh_token": secret, "expires_in": secret})

    def answer(request: HttpRequest) -> HttpResponse:
        if request.method == "GET" and "?" not in request.url and request.url == LOGIN_URL:
            return reply(request, PAGE.format(method=method))
        if status in (302, 307):
            return reply(request, secret, status, location=f"https://x.example/{secret}?q={secret}")
        body = token if request.url == TOKEN_URL else f"<p>{secret}</p>"
        return reply(request, body, status, www_authenticate=secret, set_cookie=f"sid={secret}")

    return answer


@settings(max_examples=15)
@given(
    words=st.text(st.characters(codec=None, exclude_characters="*"), max_size=12),
    status=st.sampled_from([200, 302, 307, 400, 401, 403, 404, 429, 500]),
    method=st.sampled_from(["get", "post"]),
)
async def test_no_secret_shows_in_what_is_returned_raised_or_logged(
    words: str, status: int, method: str
) -> None:
    secret = f"hunter2{words}"
    for login in logins_with(secret):
        for config, secrets in (
            ({"login": login, "platform": "Api"}, {}),
            ({"platform": "Api"}, {"Api": login}),
        ):
            with capture_logs() as logged:
                shown = await shown_by(Stage(echoing(secret, status, method), **secrets), config)
            assert secret not in shown
            assert secret not in repr(logged)


async def shown_by(stage: Stage, config: dict[str, Any]) -> str:
    """Return all that can be seen of a login, whether it succeeds or fails."""
    try:
        output = await stage.run(**config)
    except Exception as exc:
        return "".join([repr(exc), str(describe_failure(exc)), *traceback.format_exception(exc)])
    session, kept = [await stage.sessions.load(name) for name in ("Api", "Api/login")]
    given = AuthenticateInput.model_validate(config)
    return f"{output!r} {output.model_dump_json()} {session!r} {kept!r} {given!r} {given.model_dump_json()}"


@pytest.mark.requirement("PL41")
async def test_tokens_that_were_granted_or_kept_are_masked_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    login = oauth(grant="refresh_token", refresh_token="refresh-0")
    stage = Stage(granting(expires_in=3600), Api=login)
    await stage.run(platform="Api")
    assert mask_known("access-1 refresh-1") == f"{MASK} {MASK}"

    monkeypatch.setattr(masking, "_known", masking.KnownSecrets())  # as in another process
    await stage.run(platform="Api")
    assert mask_known("refresh-0 refresh-1") == f"{MASK} {MASK}"


@pytest.mark.requirement("PL41")
async def test_of_a_session_in_use_tokens_and_long_cookies_are_masked() -> None:
    jar = CookieJar()
    jar.store("https://a.test/", ["sid=0123456789abcdef-7d", "lang=de-DE"])
    sessions = MemorySessions()
    headers = {"authorization": SecretStr("Bearer hush-7d-zebra")}
    await sessions.keep(HttpSession(name="s", headers=headers, cookies=jar))
    async with used_session(ActorContext(http=Fetcher(HttpPolicy(), Site(reply)), sessions=sessions), "s"):
        said = mask_known("hush-7d-zebra 0123456789abcdef-7d de-DE")
    assert said == f"{MASK} {MASK} de-DE"
