"""The fixtures that tests of plugins use, found as they find them: by pytest itself."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import OperationalError

from agentic.core.bus.nats.bus import NatsBus
from agentic.core.errors import AgenticError
from agentic.core.graph import EventKind, RunStatus, WorkflowBuilder, executor
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.testing import Home
from agentic.executors.testing.databases import VARIABLE, postgres_databases
from agentic.executors.testing.postgres_databases import GivenServer
from agentic.mappers import Database, ExecutionStatus, add_project, find_project
from agentic.mappers.tables.vault import SecretModel
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import SqlSecrets
from agentic.plugins.hackernews.models import HackerNewsItemModel

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

    from agentic.executors.testing import RunAgent, RunWorkflow, Secrets, Site
    from agentic.fakes.server import FakeServer

pytestmark = pytest.mark.integration


def hackernews(fakes: FakeServer) -> dict[str, JSONValue]:
    """Return the config of an agent that reads the fakes."""
    allowed: list[JSONValue] = [f"{fakes.host}:{fakes.port}"]
    return {"base_url": fakes.hackernews_url, "allow_private_hosts": allowed, "limit": 5}


def test_an_agent_is_run_into_a_database_with_all_tables(
    run_agent: RunAgent, agentic_fakes: FakeServer
) -> None:
    ran = run_agent("hackernews", hackernews(agentic_fakes))

    assert ran.outcome.status is ExecutionStatus.SUCCEEDED
    assert len(ran.rows(HackerNewsItemModel)) == 5


def test_a_platform_that_is_not_installed_is_named(run_agent: RunAgent) -> None:
    with pytest.raises(AgenticError, match="no plugin provides the platform 'nope'"):
        run_agent("nope", {})


def test_what_settings_refuse_fails_the_run(run_agent: RunAgent) -> None:
    ran = run_agent("hackernews", {"limit": 0})

    assert ran.outcome.status is ExecutionStatus.FAILED
    assert "limit" in str(ran.outcome.error)


def test_a_command_that_fails_in_a_home_is_an_error(tmp_path: Path) -> None:
    """A worker of a home runs an agent in ``tests/e2e/test_observers.py``."""
    with pytest.raises(subprocess.CalledProcessError) as failed:
        Home(tmp_path).agentic("agents", "show", "nobody")
    assert "agentic db upgrade" in failed.value.stderr


async def test_a_secret_is_stored_encrypted_and_comes_before_one_of_the_environment(
    agentic_secrets: Secrets, agentic_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTIC_SECRET_SHOP_TOKEN", "the developer's")
    agentic_secrets.set("shop-token", "s3cret")
    agentic_secrets.set("shop-token", "theirs", project="other")

    keys = SecretKeys.configured(load_settings())
    with agentic_database.reading() as session:
        ours, theirs = find_project(session, "tests"), find_project(session, "other")
        sealed = [row.sealed for row in session.scalars(select(SecretModel))]
    found = [await SqlSecrets(agentic_database, p.id, keys).secret("shop-token") for p in (ours, theirs)]
    assert [secret.get_secret_value() for secret in found] == ["s3cret", "theirs"]
    assert not [text for text in sealed if "s3cret" in text or "theirs" in text]


@pytest.mark.parametrize("is_durable", [False, True])
async def test_a_workflow_is_run_with_its_events_and_a_failure_is_a_result(
    run_workflow: RunWorkflow, *, is_durable: bool
) -> None:
    @executor(id="half")
    def half(number: int) -> float:
        return 1 / number

    flow = WorkflowBuilder("halves", version="1").set_start(half).build()
    good = await run_workflow(flow, 2, is_durable=is_durable)
    bad = await run_workflow(flow, 0, is_durable=is_durable)

    assert (good.outputs, good.error) == ((0.5,), None)
    assert [event.kind for event in good.events][-1] is EventKind.RUN_COMPLETED
    assert (bad.outputs, bad.status) == ((), RunStatus.FAILED)
    assert "division by zero" in str(bad.error)
    with pytest.raises(TypeError):
        await run_workflow(flow, "two", is_durable=is_durable)


def test_every_kind_of_database_has_all_tables_and_no_row(
    agentic_each_database: Database, request: pytest.FixtureRequest
) -> None:
    assert agentic_each_database.engine.dialect.name in request.node.name
    with agentic_each_database.writing() as session:
        assert session.scalars(select(HackerNewsItemModel)).all() == []
        add_project(session, "left behind")


def test_a_database_is_nobody_elses(agentic_each_database: Database) -> None:
    with agentic_each_database.reading() as session, pytest.raises(AgenticError):
        find_project(session, "left behind")


def test_databases_are_made_on_a_server_that_is_given_and_removed_again(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, postgres.url("postgres"))
    with postgres_databases() as server:
        assert isinstance(server, GivenServer)
        url = server.create("given")
        engine = create_engine(url)
        with engine.connect() as connection:
            assert connection.execute(text("SELECT current_database()")).scalar() == "given"
        engine.dispose()
        server.drop("given")
        with pytest.raises(OperationalError):
            engine.connect()


async def test_a_nats_server_is_there(agentic_nats: str) -> None:
    bus = NatsBus(agentic_nats)
    assert (await bus.state()).count == 0
    await bus.aclose()


def test_a_site_says_what_it_is_told_to_and_who_asked(agentic_site: Site) -> None:
    import urllib.error
    from urllib.request import urlopen

    agentic_site.serve("/a", "text", headers={"X-Of": "mine"})
    agentic_site.fail("/a", status=503)

    for status in (503, 404):
        path = "/a" if status == 503 else "/b"
        with pytest.raises(urllib.error.HTTPError) as refused:
            urlopen(f"{agentic_site.url}{path}")
        assert refused.value.code == status
        refused.value.close()
    with urlopen(f"{agentic_site.url}/a?x=1") as answer:
        assert (answer.read(), answer.headers["X-Of"]) == (b"text", "mine")
    assert agentic_site.requests == ["/a", "/b", "/a?x=1"]


def test_a_site_tells_pages_apart_and_remembers_what_a_request_said(agentic_site: Site) -> None:
    from urllib.request import Request, urlopen

    agentic_site.serve("/items", "any page")
    agentic_site.serve("/items?page=2", "page two")
    agentic_site.serve("/items?page=2&size=1", "its first item")
    agentic_site.fail("/items", status=200, content="out of order")

    def asked(query: str) -> str:
        request = Request(f"{agentic_site.url}/items{query}", headers={"Authorization": "Bearer me"})
        with urlopen(request) as answer:
            return str(answer.read(), "utf-8")

    assert asked("?page=2") == "out of order"
    said = [asked(query) for query in ("", "?page=1", "?order=up&page=2", "?size=1&page=2")]
    assert said == ["any page", "any page", "page two", "its first item"]
    assert {headers["authorization"] for headers in agentic_site.headers} == {"Bearer me"}
