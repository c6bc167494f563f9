"""Secrets, looked for wherever they must not be, after runs that succeed, fail, are retried and killed."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import aclosing, closing
from pathlib import Path

import pytest
import redis
from tests.commands import invoke
from tests.integration.executors.access.conftest import whole_app
from tests.integration.executors.canary.agents import Canaries
from tests.integration.executors.canary.finding import Find, find_in, find_in_files, forms_of
from tests.integration.executors.canary.scene import Scene, facts, played

from agentic.core.bus import learnt_patterns, live_state, open_bus
from agentic.core.masking import MASK
from agentic.core.settings import load_settings
from agentic.mappers import ExecutionStatus

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.requirement("PL41")]

OWN_WORDS = {("agents", "config")}
"""Where the author of an agent wrote a secret down: it is what he wrote."""

TO_GO_ON_FROM = {
    ("activations", "result"),
    ("activations", "progress"),
    ("run_checkpoints", "head"),
    ("run_parts", "text"),
}
"""What a run goes on from has what its agent was configured with, until the run is pruned."""

REPORTS = (
    "mistaken-input",
    "letters",
    "careless-tell",
    "github-partly",
    "graph-raise",
    "graph-told",
    "graph-send",
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Everything has run, and the servers still do."""
    with played(tmp_path_factory.mktemp("canary")) as made:
        yield made


def everything(canaries: Canaries) -> tuple[str, ...]:
    return canaries.stored, canaries.literal, canaries.minted, canaries.sent


def test_all_of_it_has_run(scene: Scene) -> None:
    ends = facts(scene)
    # All items of `letters` were given up, so it failed.
    assert sum(str(end).startswith(("succeeded", "partial")) for end in ends.values()) == 12
    assert {name for name, end in ends.items() if "has an invalid configuration" in str(end)} == set()
    assert "careless-kill" in ends


@pytest.mark.parametrize("form", forms_of(Canaries().stored))
def test_a_secret_is_found_where_there_is_one(tmp_path: Path, form: str) -> None:
    secret = Canaries().stored
    (tmp_path / "some.log").write_bytes(b"before " + forms_of(secret)[form] + b" after")
    assert [found.where for found in find_in_files(tmp_path, [secret])] == ["some.log"]
    assert list(find_in_files(tmp_path, [Canaries().literal])) == []


def test_no_file_has_what_was_stored(scene: Scene) -> None:
    # The database with its log, the files of NATS and of the broker, all logs.
    files = {path.name for path in scene.home.rglob("*")}
    assert {"agentic.db", "agentic.db-wal", "worker.log", "flower.log", "beat.log", "nats.log"} <= files
    assert list(find_in_files(scene.path, [scene.canaries.stored])) == []


def test_no_file_has_what_was_given_in_exchange(scene: Scene) -> None:
    assert list(find_in_files(scene.path, [scene.canaries.minted])) == []


def test_no_file_but_the_database_has_what_was_written_or_sent(scene: Scene) -> None:
    written = [scene.canaries.literal, scene.canaries.sent]
    found = find_in_files(scene.path, written, but=["home/agentic.db"])
    assert list(found) == []


def test_the_search_reaches_logs_and_files_of_servers(scene: Scene) -> None:
    log = (scene.home / "logs" / "worker.log").read_text()
    assert all(word in log for word in ("careless.begun", "careless.wondered", "cleanup.failed", "Traceback"))
    assert "DEBUG/" in log
    assert log.count(MASK) > 10
    # What is on the bus and with the broker in clear is found in their files.
    execution = scene.executions["careless-tell"]
    found = {Path(one.where).parts[1] for one in find_in_files(scene.path, [execution])}
    assert {"nats", "logs"} <= found


def test_no_column_but_those_of_its_author_has_what_was_written_into_a_config(scene: Scene) -> None:
    places = {(table, column) for table, column, _ in columns_with(scene, scene.canaries.literal)}
    assert places <= OWN_WORDS | TO_GO_ON_FROM
    assert places >= OWN_WORDS


def test_no_column_but_those_that_runs_go_on_from_has_what_a_graph_sends(scene: Scene) -> None:
    places = {(table, column) for table, column, _ in columns_with(scene, scene.canaries.sent)}
    assert places <= TO_GO_ON_FROM
    assert places


def test_no_column_has_what_was_stored_or_given_in_exchange(scene: Scene) -> None:
    found = [
        (table, column, str(find))
        for secret in (scene.canaries.stored, scene.canaries.minted)
        for table, column, find in columns_with(scene, secret)
    ]
    assert found == []


@pytest.mark.parametrize(
    "name",
    ["github-denied", "reddit-denied", "firecrawl-denied", "graph-raise", "graph-chain", "graph-sub"],
)
def test_an_error_says_that_something_was_masked(scene: Scene, name: str) -> None:
    execution = scene.execution(scene.executions[name])
    assert MASK in str(execution.error) or "***" in str(execution.error)


@pytest.mark.parametrize("name", ["github-partly", "graph-items", "graph-edge", "graph-send", "graph-mint"])
def test_a_warning_says_that_something_was_masked(scene: Scene, name: str) -> None:
    execution = scene.execution(scene.executions[name])
    assert execution.status is ExecutionStatus.SUCCEEDED
    assert MASK in str(execution.warnings)


def columns_with(scene: Scene, secret: str) -> Iterator[tuple[str, str, Find]]:
    """Yield the columns of all tables that have a secret in some row."""
    with closing(sqlite3.connect(scene.home / "agentic.db")) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        for table in tables:
            rows = connection.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in rows.description]
            for row in rows:
                for column, value in zip(names, row, strict=True):
                    text = value if isinstance(value, (bytes, str)) else str(value)
                    for found in find_in(text, f"{table}.{column}", [secret]):
                        yield table, column, found


async def test_nothing_on_the_bus_has_one(scene: Scene) -> None:
    said: list[str] = []
    settings = load_settings(home=scene.home)
    async with asyncio.timeout(30), open_bus(settings) as bus:
        for stream in (bus, bus.audit, bus.metrics):
            last = (await stream.state()).last
            if last:
                async with aclosing(stream.read(until=last)) as messages:
                    said += [f"{one.subject} {one.payload!r}" async for one in messages]
        for bucket in (live_state(bus, "default"), learnt_patterns(bus, "default")):
            for key in await bucket.keys():
                entry = await bucket.get(key)
                said.append(f"{key} {entry!r}")
    text = "\n".join(said)
    assert text.count("executor.failed") > 10
    assert "workflow." in text
    assert "patterns." in text
    assert MASK in text
    assert list(find_in(text, "bus", everything(scene.canaries))) == []


def test_no_key_of_the_broker_has_one(scene: Scene) -> None:
    with redis.Redis.from_url(scene.urls["broker"]) as broker:
        dumps = b"\n".join(key + b" " + (broker.dump(key) or b"") for key in broker.scan_iter())
    assert b"agentic" in dumps
    assert list(find_in(dumps, "broker", everything(scene.canaries))) == []


def test_no_page_of_flower_has_one(scene: Scene) -> None:
    flower = scene.urls["flower"]
    tasks = json.loads(scene.read(f"{flower}/api/tasks?limit=1000"))
    failed = [name for name, task in tasks.items() if task["state"] == "FAILURE"]
    assert len(tasks) >= len(scene.executions)
    assert failed
    pages = ["/", "/tasks", "/broker", "/workers", "/api/workers", "/api/tasks?limit=1000", "/metrics"]
    pages += [f"/task/{name}" for name in tasks]
    text = "\n".join(scene.read(f"{flower}{page}") for page in pages)
    assert "ExecutionFailedError" in text
    assert list(find_in(text, "Flower", everything(scene.canaries))) == []


def test_no_command_shows_one(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = scene.executions
    commands = [
        ["agents", "list", "--json"], ["agents", "export"], ["platforms", "list", "--json"],
        ["executions", "list", "--json", "--limit", "100"], ["dead-letters", "list", "--json"],
        ["audit", "--json"], ["audit"], ["doctor", "--json"], ["secrets", "list", "--json"],
        ["runs", "list", "--json", "--limit", "200"], ["metrics", "--once"],
        ["events", "tail", "--no-follow", "--json", "--last", "5000"],
        ["agents", "show", "mistaken-header", "--json"], ["agents", "show", "mistaken-url"],
    ]  # fmt: skip
    for name in REPORTS:
        commands += [
            ["executions", "show", ids[name], "--json"],
            ["executions", "report", ids[name], "--out", str(scene.path / f"{name}.html")],
            ["executions", "export", ids[name]],
            ["events", "replay", ids[name], "--all", "--json"],
        ]
    said = {" ".join(words): here(scene, monkeypatch, *words) for words in commands}
    # What runs something does so in a process of its own, which logs all there is.
    for words in (["executions", "retry", ids["mistaken-url"]], ["run", "careless-raise"], ["doctor"]):
        said[" ".join(words)] = scene.agentic(*words)
    text = "\n".join(f"$ {command}\n{answer}" for command, answer in said.items())
    assert list(find_in(text, "command line", everything(scene.canaries))) == []
    assert list(find_in_files(scene.path, everything(scene.canaries), but=["home/agentic.db"])) == []
    assert MASK in said["agents export"]
    assert "${secrets.CANARY}" in said["agents export"]
    assert "Traceback" in said["run careless-raise"]
    assert all(MASK in (scene.path / f"{name}.html").read_text() for name in ("careless-tell",))


def here(scene: Scene, monkeypatch: pytest.MonkeyPatch, *words: str, **env: str) -> str:
    """Run a command in this process; return all it says."""
    for name in os.environ:
        if name.startswith("AGENTIC_"):
            monkeypatch.delenv(name)
    for name, value in {**scene.env, **env, "AGENTIC_LOG_LEVEL": "warning"}.items():
        monkeypatch.setenv(name, value)
    result = invoke(whole_app(), words)
    return f"{result.output}\n{result.exception or ''}"


@pytest.mark.parametrize("secret", ["h!dden-7d", "hid/den@7d", "hid;den7d?x"])
def test_urls_of_servers_are_told_without_their_passwords(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    env = {
        "AGENTIC_DATABASE_URL": f"postgresql+psycopg://ada:{secret}@127.0.0.1:1/db",
        "AGENTIC_BROKER_URL": f"redis://:{secret}@127.0.0.1:1/0",
        "AGENTIC_NATS_URL": f"nats://ada:{secret}@127.0.0.1:1",
    }
    text = here(scene, monkeypatch, "doctor", **env)
    text += here(scene, monkeypatch, "events", "tail", AGENTIC_NATS_URL=env["AGENTIC_NATS_URL"])
    text += here(scene, monkeypatch, "db", "check", AGENTIC_DATABASE_URL=env["AGENTIC_DATABASE_URL"])
    if ";" in secret:
        text += scene.agentic("worker", AGENTIC_BROKER_URL=env["AGENTIC_BROKER_URL"])
    assert "127.0.0.1:1" in text
    assert list(find_in(text, "command line", [secret, secret[3:]])) == []


def test_a_run_that_was_killed_is_taken_up_again_and_tells_nothing(scene: Scene) -> None:
    scene.eventually(
        lambda: scene.execution(scene.executions["careless-kill"]).status is ExecutionStatus.CANCELLED
    )
    assert list(find_in_files(scene.home / "logs", everything(scene.canaries))) == []
