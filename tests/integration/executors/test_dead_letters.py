"""``agentic dead-letters``: what a crawl gave up is tried again, with a real database and the fake shop."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.commands import invoke

from agentic.core.cli.main import build_app
from agentic.core.errors import AgenticError
from agentic.executors.commands.run.outcome import PARTIAL_EXIT_CODE
from agentic.executors.errors import BrokerUnavailableError, ExecutionFailedError
from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer
from agentic.mappers import Database, ExecutionModel, ExecutionStatus

pytestmark = [pytest.mark.integration]

CRAWL = """
name: shop
http: {{allow_private_hosts: ["127.0.0.1"]}}
error_handling: {{http_503: {{then: dead_letter}}}}
steps:
  - type: crawl
    start: "{url}category/lamps"
    max_pages: 8
    follow: {{include: ["*/product/*"]}}
"""
LOOP = """
name: loop
http: {{allow_private_hosts: ["127.0.0.1"]}}
error_handling: {{http_503: {{then: dead_letter}}}}
steps:
  - type: loop
    source: inputs.urls
    item_as: url
    loop_steps: [{{actor: fetch, config: {{url: "${{url}}"}}}}]
    collect: page.final_url
inputs: {{urls: {{type: list, default: ["{url}product/1", "{url}product/2"]}}}}
"""


@pytest.fixture
def site() -> Iterator[FakeServer]:
    with FakeServer(seed=1, stories=1, products=30) as server:
        server.control.add(Fault(path="/shop/product/*", status=503, times=2))
        yield server


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: FakeServer, first_file: Path) -> None:
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    shutil.copy(first_file, tmp_path / "home" / "agentic.db")
    monkeypatch.chdir(tmp_path)
    for name, text in {"shop.yaml": CRAWL, "loop.yaml": LOOP}.items():
        Path(name).write_text(text.format(url=site.shop_url), encoding="utf-8")


def agentic(*words: str) -> str:
    with capture_logs():  # standard output is the command's
        result = invoke(build_app(), words)
    if result.exception is not None and result.exit_code != PARTIAL_EXIT_CODE:
        raise result.exception
    return result.stdout


def told(*words: str) -> Any:
    return json.loads(agentic(*words, "--json"))


def letters() -> list[dict[str, str]]:
    return list(told("dead-letters", "list"))


def test_letters_that_are_fetched_are_rows_and_letters_no_more(site: FakeServer) -> None:
    first = told("run", "shop.yaml")
    gave_up = {letter["item"] for letter in letters()}
    site.control.reset()

    [retried] = told("dead-letters", "retry", "--execution", first["execution_id"][:12])

    assert (retried["letters"], retried["left"], letters()) == (2, 0, [])
    assert retried["retry_of"] == first["execution_id"] != retried["execution_id"]
    asked = site.control.stats()["requests"]
    assert isinstance(asked, dict)
    assert {path for path in asked if "/product/" in path} == {url[url.index("/shop") :] for url in gave_up}
    counts = told("executions", "show", retried["execution_id"])
    assert (first["counts"]["inserted"], counts["inserted"]) == (6, 2)


def test_a_letter_is_tried_by_itself_and_stays_one_if_it_fails_again(site: FakeServer) -> None:
    agentic("run", "shop.yaml")
    one, other = letters()
    site.control.add(Fault(path="/shop/product/*", status=503, times=1))

    assert "has 1 of 1 letters of" in agentic("dead-letters", "retry", one["id"])

    left = {letter["item"]: letter for letter in letters()}
    assert left.keys() == {one["item"], other["item"]}
    assert left[one["item"]]["execution"] != one["execution"]
    assert [retried["left"] for retried in told("dead-letters", "retry", "--all")] == [0, 0]
    assert letters() == []


def test_letters_whose_execution_may_yet_try_them_are_left_to_it(tmp_path: Path) -> None:
    execution_id = told("run", "shop.yaml")["execution_id"]
    database = Database(f"sqlite:///{tmp_path / 'home' / 'agentic.db'}")
    with database.writing() as session:
        execution = session.get_one(ExecutionModel, execution_id)
        execution.status, execution.outcome = ExecutionStatus.FAILED, None
    database.dispose()
    with pytest.raises(AgenticError, match=f"agentic executions retry {execution_id[:12]}"):
        agentic("dead-letters", "retry", "--all")
    assert len(letters()) == 2


def test_without_a_broker_letters_stay_where_they_are() -> None:
    agentic("run", "shop.yaml")
    before = letters()
    with pytest.raises(BrokerUnavailableError):
        agentic("dead-letters", "retry", "--all", "--dispatcher", "celery")
    assert letters() == before


def test_letters_of_steps_cannot_be_tried_by_themselves_and_the_error_says_what_to_do() -> None:
    with pytest.raises(ExecutionFailedError, match="all 2 items failed: http_503 2"):
        agentic("run", "loop.yaml")
    with pytest.raises(
        AgenticError, match=r"dead letters of steps \(2\) cannot be retried alone.*agentic run"
    ):
        agentic("dead-letters", "retry", "--all")
    assert len(letters()) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name letters by id"),
        (["--all", "--execution", "x"], "name letters by id"),
        (["1-2"], "no dead letter begins with '1-2'"),
        (["--execution", "x"], "no execution 'x'"),
        (["--all"], "no dead letters to retry"),
    ],
)
def test_what_is_not_there_is_one_clear_error(words: list[str], said: str) -> None:
    agentic("pipelines", "add", "shop.yaml")
    with pytest.raises(AgenticError, match=said):
        agentic("dead-letters", "retry", *words)
