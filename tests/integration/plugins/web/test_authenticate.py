"""Logging in to the fakes' job board, every way there is: real HTTP, a real database, a real browser."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, NoReturn

import pytest
from pydantic import SecretStr
from sqlalchemy import select
from tests.integration.executors.browser.finding import require_browser

from agentic.core import MemoryCheckpointStore, RunStatus, Workflow
from agentic.core.actors import ActorContext, ActorError, UnknownSecretError
from agentic.core.actors.stores import MemorySessions
from agentic.core.browser import BrowserFetcher
from agentic.core.hooks import get_registry
from agentic.core.http import FetchError, HttpPolicy, HttpSession, open_fetcher
from agentic.core.pipeline import PipelineServices, compile_pipeline, parse_spec
from agentic.core.settings import load_settings
from agentic.executors.browser import PlaywrightBrowser
from agentic.fakes.control import Fault
from agentic.fakes.jobs.credentials import CLIENT_ID, CLIENT_SECRET, PASSWORD, USERNAME
from agentic.fakes.server import FakeServer
from agentic.mappers import Database, find_project
from agentic.mappers.tables.vault import SessionModel
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.sessions import SqlSessions
from agentic.mappers.vault.vault import SqlSecrets, set_secret
from agentic.plugins.web.actors.authenticate import AuthenticateActor, AuthenticateInput, AuthenticateOutput
from agentic.plugins.web.actors.fetch import FetchActor
from agentic.plugins.web.fetching.inputs import FetchInput

pytestmark = pytest.mark.integration


class Secrets:
    def __init__(self, values: dict[str, str]) -> None:
        self.values = values

    async def secret(self, name: str) -> SecretStr:
        if name not in self.values:
            raise UnknownSecretError(name)
        return SecretStr(self.values[name])


class CountingSessions(MemorySessions):
    keeps = 0

    async def keep(self, session: HttpSession) -> None:
        self.keeps += 1
        await super().keep(session)


class Visitor:
    """Who logs in to the job board and looks at it."""

    def __init__(self, fakes: FakeServer, ctx: ActorContext) -> None:
        self.fakes = fakes
        self.ctx = ctx
        self.jobs = fakes.jobs_url

    async def log_in(self, **config: Any) -> AuthenticateOutput:
        given = AuthenticateInput.model_validate({"platform": "Jobs", **config})
        return await AuthenticateActor().run(self.ctx, given)

    async def see(self, path: str, session: str | None = "Jobs") -> str:
        """Return what stands at ``path`` for whom has that session."""
        given = FetchInput(url=f"{self.jobs}{path}", session=session)
        return (await FetchActor().run(self.ctx, given)).page.text

    def form(self, **more: Any) -> dict[str, Any]:
        fields = {"session_key": USERNAME, "session_password": PASSWORD}
        return {"strategy": "form", "login_url": f"{self.jobs}login", "fields": fields, **more}

    def oauth(self, **more: Any) -> dict[str, Any]:
        client = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
        return {"strategy": "oauth2", "token_url": f"{self.jobs}oauth/token", **client, **more}

    def requests(self, path: str) -> int:
        counted: Any = self.fakes.control.stats()["requests"]
        return int(counted.get(f"/jobs/{path}", 0))


@pytest.fixture
async def visitor(fakes: FakeServer) -> AsyncIterator[Visitor]:
    policy = HttpPolicy(allow_private_hosts=("127.0.0.1",), timeout_s=10)
    async with open_fetcher(policy) as fetcher:
        yield Visitor(fakes, ActorContext(http=fetcher, secrets=Secrets({}), sessions=MemorySessions()))


async def test_a_form_is_found_filled_in_and_sent_with_its_hidden_fields(visitor: Visitor) -> None:
    assert "job-card" not in await visitor.see("search", session=None)
    output = await visitor.log_in(login=visitor.form())
    assert output == AuthenticateOutput(session="Jobs", platform="Jobs", strategy="form")
    assert "job-card" in await visitor.see("search?q=python")


@pytest.mark.parametrize(
    "marks",
    [
        {"success_url": "/jobs/"},
        {"success_url": "*/jobs/*", "success": "a.login", "failure": ".error"},
        {"form_selector": "form.login"},
    ],
)
async def test_success_is_told_by_what_is_said_of_it(visitor: Visitor, marks: dict[str, str]) -> None:
    await visitor.log_in(login=visitor.form(**marks))
    assert "job-card" in await visitor.see("search?q=python")


@pytest.mark.parametrize(
    ("fields", "marks", "said"),
    [
        ({"session_password": "wrong"}, {}, "status 401"),
        ({"session_key": "nobody"}, {}, "the form is shown again"),
        ({"session_key": "nobody"}, {"failure": ".error"}, "the page has '.error'"),
        ({"session_key": "nobody"}, {"success": ".welcome"}, "the page has no '.welcome'"),
        ({"session_key": "nobody"}, {"success_url": "*/search"}, "does not lead to '*/search'"),
        ({"csrf_token": "forged"}, {}, "status 403"),
    ],
)
async def test_a_refused_login_says_how_that_was_told(
    visitor: Visitor, fields: dict[str, str], marks: dict[str, str], said: str
) -> None:
    login = visitor.form(**marks)
    with pytest.raises(ActorError, match="refused the login") as caught:
        await visitor.log_in(login={**login, "fields": {**login["fields"], **fields}})
    assert said in str(caught.value)
    assert caught.value.failure_class == "auth_required"
    with pytest.raises(ActorError, match=r"session '.*' does not exist"):
        await visitor.see("search")


@pytest.mark.parametrize("form", [{"form_selector": "#nowhere"}, {"fields": {"user": "x"}}])
async def test_a_page_without_the_form_is_a_missing_selector(visitor: Visitor, form: dict[str, Any]) -> None:
    with pytest.raises(ActorError, match=r"no form on .*/jobs/login") as caught:
        await visitor.log_in(login=visitor.form(**form))
    assert caught.value.failure_class == "selector_missing"


@pytest.mark.parametrize(("status", "failure_class"), [(500, "http_500"), (429, "rate_limited")])
async def test_a_login_page_that_is_not_there_fails_as_any_page(
    visitor: Visitor, status: int, failure_class: str
) -> None:
    visitor.fakes.control.add(Fault(path="/jobs/login", status=status))
    with pytest.raises(FetchError) as caught:
        await visitor.log_in(login=visitor.form())
    assert caught.value.failure_class == failure_class


async def test_a_kept_session_is_used_again_until_it_is_to_be_made_anew(visitor: Visitor) -> None:
    await visitor.log_in(login=visitor.form())
    await visitor.log_in(login=visitor.form())
    assert visitor.requests("login") == 2  # the page and the form
    visitor.ctx = replace(visitor.ctx, is_rerun=True)
    await visitor.log_in(login=visitor.form())
    assert visitor.requests("login") == 4


async def test_a_client_gets_a_token_for_the_api(visitor: Visitor) -> None:
    output = await visitor.log_in(login=visitor.oauth())
    assert output.expires_at is not None
    assert json.loads(await visitor.see("api/search"))["jobs"]
    visitor.fakes.control.tokens.expire()
    with pytest.raises(FetchError) as caught:
        await visitor.see("api/search")
    assert caught.value.failure_class == "auth_expired"


async def test_refresh_tokens_rotate_from_login_to_login(visitor: Visitor) -> None:
    first = visitor.fakes.control.tokens.issue().refresh_token
    login = visitor.oauth(grant="refresh_token", refresh_token=first, client_auth="form")
    for _ in range(3):
        await visitor.log_in(login=login, reuse=False)
    assert json.loads(await visitor.see("api/search"))["jobs"]
    used_up = visitor.oauth(grant="refresh_token", refresh_token=first)
    with pytest.raises(ActorError, match="no longer valid") as caught:
        await visitor.log_in(login=used_up, session="other")
    assert caught.value.failure_class == "auth_expired"


async def test_a_client_that_is_refused_has_to_authenticate(visitor: Visitor) -> None:
    with pytest.raises(ActorError, match="status 401") as caught:
        await visitor.log_in(login=visitor.oauth(client_secret="wrong"))
    assert caught.value.failure_class == "auth_required"


async def test_a_token_at_hand_opens_the_api(visitor: Visitor) -> None:
    token = visitor.fakes.control.tokens.issue().access_token
    await visitor.log_in(login={"strategy": "bearer", "token": token, "hosts": ["127.0.0.1"]})
    assert json.loads(await visitor.see("api/search"))["jobs"]


async def test_basic_opens_what_wants_it(visitor: Visitor) -> None:
    pair = {"username": USERNAME, "password": PASSWORD}
    await visitor.log_in(login={"strategy": "basic", **pair, "hosts": ["127.0.0.1"]})
    assert "job-card" in await visitor.see("basic")


async def test_cookies_and_a_storage_state_of_another_login_open_the_board(visitor: Visitor) -> None:
    sid = visitor.fakes.control.sessions.open()
    cookie = {"name": "jobs_session", "value": sid, "domain": "127.0.0.1", "path": "/jobs"}
    file = f"127.0.0.1\tFALSE\t/jobs\tFALSE\t0\tjobs_session\t{sid}\n"
    for login in (
        {"strategy": "cookies", "cookies": [cookie]},
        {"strategy": "cookies", "cookies": file},
        {"strategy": "storage_state", "storage_state": {"cookies": [cookie], "origins": []}},
    ):
        await visitor.log_in(login=login)
        assert "job-card" in await visitor.see("search?q=python")


async def test_a_session_is_written_down_when_a_page_changes_its_cookies_and_only_then(
    visitor: Visitor,
) -> None:
    sessions = CountingSessions()
    visitor.ctx = replace(visitor.ctx, sessions=sessions)
    await visitor.log_in(login={"strategy": "bearer", "token": "x", "hosts": ["127.0.0.1"]})
    sessions.keeps = 0
    await visitor.see("")
    assert sessions.keeps == 0
    for _ in range(2):
        await visitor.see("login")  # sets a cookie, the same one again
        assert sessions.keeps == 1


async def test_a_form_is_filled_in_by_a_browser(visitor: Visitor) -> None:
    require_browser()
    async with PlaywrightBrowser(load_settings()) as browser:
        visitor.ctx = replace(visitor.ctx, pages=BrowserFetcher(visitor.ctx.http, browser))
        await visitor.log_in(login=visitor.form(via="browser", form_selector="form.login"))
        assert "job-card" in await visitor.see("search?q=python")
        login = visitor.form(via="browser", fields={"session_key": "nobody", "session_password": "x"})
        with pytest.raises(ActorError, match="the form is shown again"):
            await visitor.log_in(login=login, session="other")


async def test_without_a_browser_the_error_says_what_to_install(visitor: Visitor) -> None:
    with pytest.raises(ActorError, match="pip install") as caught:
        await visitor.log_in(login=visitor.form(via="browser"))
    assert caught.value.failure_class == "browser_crashed"


def pipeline(text: str, context: ActorContext) -> Workflow:
    actors = get_registry().actors
    services = PipelineServices(frontier=no_crawl, context=lambda _: context)
    return compile_pipeline(parse_spec(text, actors), actors, services)


def no_crawl(run_id: object) -> NoReturn:
    raise AssertionError(f"{run_id} crawls")


EXPIRING = """
name: api
inputs: {board: {}}
error_handling: {auth_expired: {rerun: login}}
steps:
  - {id: login, actor: authenticate, config: {platform: JOBS}}
  - {actor: fetch, config: {url: "${inputs.board}api/search"}}
"""


async def test_a_login_that_a_site_has_ended_is_made_anew_by_a_rule(visitor: Visitor) -> None:
    secrets = Secrets({"JOBS": json.dumps(visitor.oauth())})
    flow = pipeline(EXPIRING, replace(visitor.ctx, secrets=secrets))
    for _ in range(2):
        done = await flow.run({"board": visitor.jobs})
        assert done.status is RunStatus.COMPLETED
        visitor.fakes.control.tokens.expire()
    assert visitor.requests("oauth/token") == 2
    assert visitor.requests("api/search") == 3


STORED = """
name: jobs
inputs: {board: {}}
steps:
  - {actor: Authenticate, config: {platform: LinkedIn}}
  - {actor: fetch, config: {url: "${inputs.board}search?q=python"}}
  - {actor: extract_list, config: {item_selector: ".job-link", required: true}}
"""


@pytest.mark.requirement("SP15")
async def test_a_pipeline_logs_in_by_a_stored_credential_and_leaves_no_secret_in_its_state(
    visitor: Visitor, database: Database
) -> None:
    keys = SecretKeys(SecretKeys.new_key())
    with database.writing() as session:
        project_id = find_project(session, "shops").id
        set_secret(session, project_id, keys, "linkedin", json.dumps(visitor.form()))
    stores = SqlSecrets(database, project_id, keys), SqlSessions(database, project_id, keys)
    context = replace(visitor.ctx, secrets=stores[0], sessions=stores[1])
    flow = pipeline(STORED, context)
    checkpoints = MemoryCheckpointStore()
    done = await flow.run({"board": visitor.jobs}, run_id="r", checkpoints=checkpoints)

    kept = repr(vars(checkpoints))
    assert done.status is RunStatus.COMPLETED
    assert "job-card" in kept
    assert PASSWORD not in f"{done!r} {kept}"
    with database.reading() as session:
        names = set(session.scalars(select(SessionModel.name)))
    assert names == {"LinkedIn", "LinkedIn/login"}
