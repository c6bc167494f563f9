"""Executions through a real broker and real worker processes."""

from __future__ import annotations

import json
import signal
import sqlite3
import statistics
import subprocess
from datetime import timedelta
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from sqlalchemy import event, func, select, text
from tests.commands import start_program
from tests.integration.executors.browser.finding import require_browser
from tests.pace import short_leases

from agentic.core.settings import load_settings
from agentic.core.types import JSONValue
from agentic.executors.durable.worker import ledger_executor
from agentic.executors.durable.worker.process import RunProcess
from agentic.executors.schedule import START_AGENT
from agentic.executors.workers.config import QUEUES, RUN_AGENT
from agentic.fakes.control import Fault
from agentic.fakes.server import FakeServer
from agentic.fakes.shop.site import Shop
from agentic.mappers import (
    ExecutionModel,
    ExecutionStatus,
    add_agent,
    create_execution,
    find_agent,
    find_project,
)
from agentic.mappers.catalog.projects import change_agent, disable_agent
from agentic.mappers.tables.core import CrawlModel
from agentic.mappers.tables.ledger import RunModel

if TYPE_CHECKING:
    from tests.integration.executors.conftest import Place

    from agentic.mappers import AgentModel

pytestmark = pytest.mark.integration

SWEEP_S = 0.3

SEND = """
import sys
from agentic.executors.tasks import run_agent
for _ in range(int(sys.argv[1])):
    run_agent.delay(sys.argv[2], sys.argv[3])
"""


def delay(place: Place, execution_id: str, agent_id: str, *, times: int = 1) -> None:
    """Call ``run_agent.delay(execution_id, agent_id)`` in a process of its own."""
    program = start_program(SEND, [str(times), execution_id, agent_id], place.env, place.path)
    _, said = program.communicate(timeout=60)
    assert program.returncode == 0, said


def ends_in(log: str) -> list[dict[str, Any]]:
    """Return the lines of a log that tell how executions ended."""
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return [line for line in lines if line.get("module") == "agentic.executors.agents.ending"]


def tasks_of(place: Place) -> tuple[int, int]:
    """Return how many messages to run an agent the first worker has taken, and how many it is at."""
    inspect = place.app.control.inspect(destination=["w0@test"])
    stats, active = inspect.stats(), inspect.active()
    assert stats is not None
    assert active is not None
    return int(stats["w0@test"]["total"].get(RUN_AGENT, 0)), len(active["w0@test"])


@pytest.mark.requirement("PL17", "PL44", "BR03", "BR05")
def test_a_queued_execution_is_run_by_a_worker_and_its_result_stored(busy_place: Place) -> None:
    queued = busy_place.submit(busy_place.agent(say="hello"))
    found = busy_place.ended(queued.id)

    assert (found.status, found.attempts, found.superstep_count) == (ExecutionStatus.SUCCEEDED, 1, 3)
    assert str(found.worker).startswith("w0@test/")
    assert busy_place.results(found) == [{"said": "hello"}]


@pytest.mark.requirement("PL17")
def test_the_same_execution_delivered_three_times_runs_once(busy_place: Place) -> None:
    agent = busy_place.agent(say="once")
    with busy_place.database.writing() as session:
        execution = create_execution(session, agent)
    taken, _ = tasks_of(busy_place)  # the last one may have stored its result, and not ended yet

    delay(busy_place, execution.id, agent.id, times=3)
    busy_place.ended(execution.id)
    busy_place.eventually(lambda: tasks_of(busy_place) == (taken + 3, 0))

    assert busy_place.starts().count(execution.id) == 1
    assert len(busy_place.results(execution)) == 1


@pytest.mark.requirement("PL24")
def test_a_failing_agent_leaves_a_failed_execution_and_a_short_error_in_the_log(busy_place: Place) -> None:
    found = busy_place.ended(busy_place.submit(busy_place.agent(fail="quota used up")).id)

    assert (found.status, found.error) == (ExecutionStatus.FAILED, "RuntimeError: quota used up")
    said = "ExecutionFailedError('RuntimeError: quota used up')"
    busy_place.eventually(lambda: said in busy_place.worker_log)
    assert busy_place.results(found) == []


def test_an_unknown_execution_fails_its_task_with_a_clear_message(busy_place: Place) -> None:
    delay(busy_place, "no-such-execution", busy_place.agent().id)

    said = "ExecutionFailedError(\"no execution 'no-such-execution'"
    busy_place.eventually(lambda: said in busy_place.worker_log)


def test_a_schedule_of_an_unknown_agent_says_so_in_the_log(busy_place: Place) -> None:
    before = len(busy_place.executions())

    busy_place.app.send_task(START_AGENT, ("nobody", "default"))

    busy_place.eventually(lambda: "has no agent 'nobody'" in busy_place.worker_log)
    assert len(busy_place.executions()) == before


def test_a_disabled_agent_is_passed_over_by_what_beat_starts(busy_place: Place) -> None:
    before = len(busy_place.executions())
    agent = busy_place.agent("resting")
    with busy_place.database.writing() as session:
        disable_agent(session, find_agent(session, agent.project_id, agent.id))

    busy_place.app.send_task(START_AGENT, ("resting", "default"))

    busy_place.eventually(lambda: "agent.passed_over" in busy_place.worker_log)
    assert len(busy_place.executions()) == before


def run_until_it_works(place: Place, agent: AgentModel) -> tuple[ExecutionModel, subprocess.Popen[bytes]]:
    """Start a worker and an execution; return when the agent is at work, waiting for its gate."""
    worker = place.start_worker()
    execution = place.submit(agent)
    place.eventually((place.path / "gate.open").exists)
    return execution, worker


@pytest.mark.requirement("PL17")
def test_an_execution_whose_worker_was_killed_is_gone_on_with_by_the_next(place: Place) -> None:
    place.env |= short_leases(3, SWEEP_S)
    execution, worker = run_until_it_works(place, place.agent(gate="gate", say="at last"))
    place.kill(worker)
    (place.path / "gate").touch()
    place.start_worker()

    found = place.ended(execution.id)
    assert (found.status, found.error, found.attempts) == (ExecutionStatus.SUCCEEDED, None, 1)
    assert place.results(found) == [{"said": "at last"}]
    assert place.starts() == [execution.id] * 2


@pytest.mark.requirement("PL24", "PL27")
def test_the_log_of_a_worker_tells_how_each_execution_ended(place: Place) -> None:
    place.env |= {"AGENTIC_LOG_LEVEL": "info", "AGENTIC_LOG_FORMAT": "json"}
    place.start_worker()
    agents = [place.agent(say="hello"), place.agent(fail="no luck")]
    executions = [place.submit(agent) for agent in agents]
    for execution in executions:
        place.ended(execution.id)
    place.eventually(lambda: len(ends_in(place.worker_log)) >= 2)

    succeeded, failed = sorted(ends_in(place.worker_log), key=lambda line: str(line["event"]), reverse=True)
    for line, execution in zip((succeeded, failed), executions, strict=True):
        assert (line["execution_id"], line["agent_id"]) == (execution.id, execution.agent_id)
        assert (line["platform"], line["warning_count"]) == ("toy", 0)
        assert line["duration_s"] >= 0
    assert (succeeded["event"], failed["event"]) == ("execution.succeeded", "execution.failed")
    assert (failed["failure_class"], failed["error"]) == ("error", "RuntimeError: no luck")


def test_an_execution_whose_worker_was_killed_can_be_gone_on_with_by_hand(place: Place) -> None:
    place.env |= short_leases(3, SWEEP_S)
    execution, worker = run_until_it_works(place, place.agent(gate="gate", say="by hand"))
    place.kill(worker)
    (place.path / "gate").touch()

    retried = place.run("executions", "retry", execution.id)

    assert retried.returncode == 0, retried.stderr
    assert place.execution(execution.id).status is ExecutionStatus.SUCCEEDED
    assert place.results(execution) == [{"said": "by hand"}]


def test_an_execution_whose_message_was_lost_is_begun_all_the_same(place: Place) -> None:
    place.env["AGENTIC_SWEEP_S"] = f"{SWEEP_S:g}"
    agent = place.agent(say="late")
    with place.database.writing() as session:
        execution = create_execution(session, agent)
        execution.created_at -= timedelta(seconds=60)
    place.start_worker()

    assert place.ended(execution.id).status is ExecutionStatus.SUCCEEDED


async def test_a_message_whose_process_was_killed_begins_nothing_when_it_comes_back(place: Place) -> None:
    agent = place.agent(say="what kills whoever begins it")
    with place.database.writing() as session:
        execution = create_execution(session, agent)
    settings = load_settings(home=place.path / "home", broker_url=place.broker_url)
    process = RunProcess(settings, place.database, place.app, QUEUES, worker="test")
    try:
        outcome = await process.run_agent(execution.id, agent.id, is_again=True)
    finally:
        await process.aclose()
        process.close()

    assert outcome.status is ExecutionStatus.QUEUED
    with place.database.reading() as session:
        assert session.scalar(select(func.count()).select_from(RunModel)) == 0


async def test_an_execution_whose_database_is_away_when_its_message_comes_is_begun_by_that_message(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_executor, "PAUSES_S", (0.01,) * 8)
    settings = load_settings(home=place.path / "home", broker_url=place.broker_url)
    process = RunProcess(settings, place.database, place.app, QUEUES, worker="test")
    begun = count()

    def go_away(_connection: object) -> None:
        if next(begun) in {0, 1, 3}:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error

    with FakeServer(stories=1, products=3) as fakes:
        agent = crawler(place, fakes.shop_url)
        with place.database.writing() as session:
            execution = create_execution(session, agent)
        event.listen(place.database.engine, "begin", go_away)
        try:
            outcome = await process.run_agent(execution.id, agent.id)
        finally:
            event.remove(place.database.engine, "begin", go_away)
            await process.aclose()
            process.close()

    assert (outcome.status, outcome.error) == (ExecutionStatus.SUCCEEDED, None)
    assert next(begun) > 4


@pytest.mark.requirement("PL28", "SC08")
def test_slices_of_a_crawl_are_worked_off_by_several_processes(place: Place) -> None:
    place.start_worker("-c", "2")
    have_loaded(place, processes=2)

    def workers() -> list[str]:
        statement = (
            "SELECT DISTINCT worker FROM activations WHERE executor_id = 'site' AND worker IS NOT NULL"
        )
        with place.database.reading() as session:
            return list(session.scalars(text(statement)))

    with FakeServer(stories=1, products=120) as fakes:
        fakes.control.add(Fault(path="/shop/*", delay_s=0.5, times=None))
        execution = place.submit(crawler(place, fakes.shop_url))
        place.eventually(lambda: len(workers()) == 2)
        fakes.control.reset()
        found = place.ended(execution.id)

    assert (found.status, found.error) == (ExecutionStatus.SUCCEEDED, None)
    with place.database.reading() as session:
        stored = session.scalars(text("SELECT url FROM web_pages")).all()
    expected = {f"{fakes.url}/shop{path}" for path in Shop(products=120).paths()}
    assert sorted(stored) == sorted(expected)
    assert len(workers()) == 2


@pytest.mark.requirement("PL28")
def test_the_counts_of_a_crawl_are_those_of_all_workers_that_were_at_it(backed_place: Place) -> None:
    backed_place.env |= short_leases(3, SWEEP_S)
    worker = backed_place.start_worker()

    def stored() -> int:
        with backed_place.database.reading() as session:
            return session.scalar(text("SELECT count(*) FROM web_pages")) or 0

    with FakeServer(stories=1, products=60) as fakes:
        fakes.control.add(Fault(path="/shop/*", delay_s=0.2, times=None))
        execution = backed_place.submit(crawler(backed_place, fakes.shop_url))
        backed_place.eventually(lambda: stored() > 10)
        backed_place.kill(worker)
        before = stored()
        fakes.control.reset()
        backed_place.start_worker()
        found = backed_place.ended(execution.id)

    assert (found.status, found.error) == (ExecutionStatus.SUCCEEDED, None)
    assert 10 < before < stored() == len(Shop(products=60).paths())
    assert (found.counts["inserted"], found.counts["failed"]) == (stored(), 0)


def test_stored_pages_are_read_again_by_workers_without_a_request(backed_place: Place) -> None:
    with FakeServer(stories=1, products=60) as fakes:
        agent = crawler(backed_place, fakes.shop_url, store={"html": True})
        backed_place.start_worker("--concurrency", "2")
        crawled = backed_place.ended(backed_place.submit(agent).id)
        fakes.control.reset()
        rules: JSONValue = {"match": ["*/product/*"], "config": {"schema": {"title": "h1.title"}}}
        with backed_place.database.writing() as session:
            agent = find_agent(session, agent.project_id, agent.id)
            changed = crawler_config(fakes.shop_url, store={"html": True}, detail=rules)
            change_agent(session, agent, platform="web", config=changed, goals=None)
        again = ("executions", "retry", crawled.id, "--reread", "--dispatcher", "celery", "--json")
        queued = json.loads(backed_place.run(*again).stdout)
        found = backed_place.ended(queued["execution_id"])
        requests = fakes.control.stats()["requests"]

    pages = len(Shop(products=60).paths())
    assert (found.status, found.error, requests) == (ExecutionStatus.SUCCEEDED, None, {})
    assert (found.counts["inserted"], found.counts["updated"]) == (60, 0)  # the items are new
    assert found.counts["unchanged"] == 2 * pages
    with backed_place.database.reading() as session:
        crawl = session.get_one(CrawlModel, (found.project_id, found.id))
    assert (crawl.reread, crawl.to_reread, crawl.unstored) == (pages, pages, 0)


def have_loaded(place: Place, processes: int) -> None:
    """Have each process of a worker run an agent: none has anything to load after that."""
    begun = [place.submit(place.agent(gate=f"gate{number}")) for number in range(processes)]
    for number in range(processes):
        place.eventually((place.path / f"gate{number}.open").exists)
    for number, execution in enumerate(begun):
        (place.path / f"gate{number}").touch()
        place.ended(execution.id)


def crawler(place: Place, start: str, **rules: JSONValue) -> AgentModel:
    """Add an agent that crawls a shop in slices, two at a time."""
    with place.database.writing() as session:
        project = find_project(session, "default")
        return add_agent(session, project, "crawler", "web", crawler_config(start, **rules))


def crawler_config(start: str, **rules: JSONValue) -> dict[str, JSONValue]:
    """Return the config of such an agent."""
    step: dict[str, JSONValue] = {
        "id": "site",
        "type": "crawl",
        "start": start,
        "follow": {"exclude": ["/shop/private/*"]},
        "slices": 2,
        "slice_pages": 20,
        **rules,
    }
    pipeline: JSONValue = {"http": {"allow_private_hosts": ["127.0.0.1"]}, "steps": [step]}
    return {"pipeline": pipeline}


@pytest.mark.requirement("SP14")
def test_a_worker_of_the_browsers_queue_shows_pages_and_leaves_all_else_to_others(place: Place) -> None:
    require_browser()
    plain = place.submit(place.agent(say="later"))
    with FakeServer(stories=1, products=20) as fakes:
        shown = place.submit(renderer(place, f"{fakes.shop_url}scripted/category/lamps"))
        place.start_worker("--queues", "agentic.browser")
        found = place.ended(shown.id)

    assert (found.status, found.error) == (ExecutionStatus.SUCCEEDED, None)
    assert str(found.worker).startswith("w0@test/")
    with place.database.reading() as session:
        assert session.execute(text("SELECT fetched_by, status FROM web_pages")).all() == [("browser", 200)]
    assert (place.execution(plain.id).status, place.starts()) == (ExecutionStatus.QUEUED, [])


def renderer(place: Place, url: str) -> AgentModel:
    """Add an agent that shows one page with a browser, and stores it."""
    fetch: JSONValue = {"actor": "fetch", "config": {"mode": "browser", "wait_for": "a.product"}}
    step: JSONValue = {"type": "crawl", "start": url, "fetch": fetch, "max_depth": 0}
    pipeline: JSONValue = {"http": {"allow_private_hosts": ["127.0.0.1"]}, "steps": [step]}
    with place.database.writing() as session:
        project = find_project(session, "default")
        return add_agent(session, project, "renderer", "web", {"pipeline": pipeline})


def test_a_worker_told_to_stop_ends_what_it_does_and_gives_it_to_the_next(place: Place) -> None:
    execution, worker = run_until_it_works(place, place.agent(gate="gate", say="handed on"))

    worker.send_signal(signal.SIGTERM)
    worker.wait()

    assert place.execution(execution.id).status is ExecutionStatus.RUNNING
    (place.path / "gate").touch()
    place.start_worker()
    assert place.ended(execution.id).status is ExecutionStatus.SUCCEEDED
    assert place.results(execution) == [{"said": "handed on"}]


@pytest.mark.requirement("BR07", "PL17")
def test_an_entry_of_celeryconfig_runs_an_agent_again_and_again(place: Place) -> None:
    place.agent(name="ticker", say="tick")
    (place.path / "celeryconfig.py").write_text(
        "from agentic.executors.schedule import every\n"
        "beat_schedule = {'tick': every(1, agent='ticker', project='default')}\n"
    )
    place.start_worker()
    scheduler = ("-S", "agentic.executors.beat:LedgerScheduler")
    place.start_command("-A", "agentic.executors", "beat", *scheduler, module="celery")

    place.eventually(lambda: len(place.starts()) >= 6)

    begun = place.executions()[:6]
    gaps = [(after.created_at - before.created_at).total_seconds() for before, after in pairwise(begun)]
    assert statistics.median(gaps) == pytest.approx(1, abs=0.9)  # one may be late on a busy machine
    assert place.ended(begun[0].id).status is ExecutionStatus.SUCCEEDED


def test_a_database_that_is_not_migrated_fails_the_task_with_the_next_step(place: Place) -> None:
    worker = place.start_worker()
    place.database.dispose()
    (place.path / "home" / "agentic.db").unlink()

    delay(place, "an-execution", "an-agent")

    place.eventually(lambda: "run `agentic db upgrade`" in place.log_of(worker))
    assert not (place.path / "home" / "agentic.db").exists()


@pytest.mark.parametrize("command", ["worker", "beat"])
def test_celery_refuses_to_start_without_a_broker(place: Place, command: str) -> None:
    place.env["AGENTIC_BROKER_URL"] = ""

    process = place.start_command("-A", "agentic.executors", command, module="celery")

    assert process.wait() == 3
    assert "AGENTIC_BROKER_URL" in place.log_of(process)


def test_a_worker_started_by_the_celery_command_works_the_same(place: Place) -> None:
    options = ("--pool", "solo", "--hostname", "plain@test")
    worker = place.start("celery", "-A", "agentic.executors", "worker", *options)

    found = place.ended(place.submit(place.agent(say="plain")).id)

    assert (found.status, str(found.worker).split("/")[0]) == (ExecutionStatus.SUCCEEDED, "plain@test")
    assert worker.pid == int(str(found.worker).split("/")[1])
    (reconciler,) = psutil.Process(worker.pid).children()
    place.eventually(lambda: reconciler.cmdline()[1:4] == ["-m", "agentic.core.cli", "reconcile"])
