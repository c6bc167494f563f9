"""What every command pays before it does anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import agentic.executors

SERVERS = {"celery", "kombu", "aiohttp", "nats", "redis", "playwright", "firecrawl"}
DATABASE = {"sqlalchemy", "alembic", "agentic.mappers"}
HEAVY = (
    SERVERS | DATABASE | {"structlog", "pydantic_settings", "packaging.requirements", "agentic.fakes.server"}
)
ENGINE = {"agentic.core.graph", "agentic.core.bus", "agentic.core.pipeline.spec"}
REQUESTS = {
    "asyncio",
    "ssl",
    "http.client",
    "w3lib",
    "agentic.core.http.messages",
    "agentic.core.browser.messages",
}
"""What requests need, and no command that reads a pipeline only."""
PIPELINE = """
name: one
steps:
  - {id: start, actor: fetch, config: {url: "https://example.com/"}}
"""

CRAWL = """
name: lamps
http: {{allow_private_hosts: ["{site}"]}}
steps:
  - type: crawl
    start: http://{site}/
    detail: {{match: ["*"], config: {{schema: {{title: h1}}}}}}
"""


PROGRESS = re.compile(r"\w+: .+, \d+ events")
"""A run that takes long says how far it is."""


def loaded_by(*words: str, home: Path, after: str = "") -> set[str]:
    """Run a command in a process of its own and return the modules that it has loaded.

    The process tells them on a file of its own, because the command has both streams.
    """
    told = home / "modules"
    code = (
        "import sys\n"
        "from agentic.core.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as ended:\n"
        "    assert not ended.code, ended.code\n"
        "finally:\n"
        f"    open({str(told)!r}, 'w').write(' '.join(sys.modules))\n"
    )
    env = {**os.environ, "AGENTIC_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], check=False, capture_output=True, text=True, env=env, cwd=home
    )
    assert done.returncode == 0, done.stderr
    others = [line for line in done.stderr.splitlines() if not PROGRESS.fullmatch(line)]
    assert others == []
    assert after in done.stdout
    return set(told.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["pipelines", "--help"], ["doctor", "--help"]])
def test_help_loads_no_library_that_it_does_not_need(words: list[str], tmp_path: Path) -> None:
    unused = HEAVY | ENGINE | {"agentic.executors.commands.agents.command", "agentic.core.cli.replay.sources"}
    assert loaded_by(*words, home=tmp_path) & unused == set()


def test_help_and_version_read_no_settings(tmp_path: Path) -> None:
    for word in ("--help", "--version"):
        assert loaded_by(word, home=tmp_path) & {"pydantic", "agentic.core.settings"} == set()


def test_a_version_is_told_without_rich(tmp_path: Path) -> None:
    assert "rich" not in loaded_by("--version", home=tmp_path, after="agentic-pipelines")


def test_a_check_of_a_pipeline_loads_no_database_and_no_rich(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(PIPELINE, encoding="utf-8")
    loaded = loaded_by("pipelines", "validate", "one.yaml", home=tmp_path, after="is valid")
    unused = HEAVY | REQUESTS | {"rich", "turbohtml", "agentic.plugins.web.login.logins"}
    assert loaded & (unused | {"agentic.core.graph.model.events"}) == set()


def test_a_check_of_a_pipeline_with_a_selector_loads_what_reads_selectors(tmp_path: Path) -> None:
    waiting = PIPELINE.replace('example.com/"', 'example.com/", wait_for: ".done"')
    (tmp_path / "one.yaml").write_text(waiting, encoding="utf-8")
    loaded = loaded_by("pipelines", "validate", "one.yaml", home=tmp_path, after="is valid")
    assert "turbohtml" in loaded
    assert loaded & (HEAVY | REQUESTS) == set()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose database has its tables."""
    home = tmp_path_factory.mktemp("home")
    loaded_by("projects", "add", "default", home=home)
    return home


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Serve a page on this machine; give its address without the scheme."""
    (tmp_path / "index.html").write_text("<title>Lamp</title><h1>Lamp</h1>", encoding="utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_command_with_the_database_loads_neither_migrations_nor_log_lines(home: Path) -> None:
    loaded = loaded_by("executions", "list", home=home, after="Executions of default")
    unused = SERVERS | {"alembic", "structlog", "pydantic_settings", "packaging.requirements", "turbohtml"}
    unused |= {"agentic.mappers.checkpoints.store", "agentic.executors.commands.executions.changes"}
    unused |= {"sqlalchemy.dialects.postgresql", "psycopg"}
    assert loaded & unused == set()


def test_a_crawl_loads_no_models_no_logins_and_nothing_that_builds_or_repairs(home: Path, site: str) -> None:
    (home / "crawl.yaml").write_text(CRAWL.format(site=site), encoding="utf-8")
    loaded = loaded_by("run", "crawl.yaml", home=home, after="Lamp")
    assert "agentic.core.wrappers.wrapper" in loaded
    unused = {"alembic", "sqlalchemy.dialects.postgresql", "agentic.core.llm.messages", "agentic.core.agents"}
    unused |= {"agentic.core.wrappers.building", "agentic.core.wrappers.repairing"}
    assert loaded & (unused | {"agentic.plugins.web.login.logins"}) == set()


@pytest.mark.parametrize("name", agentic.executors.__all__)
def test_each_public_name_is_found_when_it_is_asked_for(name: str) -> None:
    assert getattr(agentic.executors, name).__name__ == name


def test_a_name_that_is_not_there_is_told_as_by_any_module() -> None:
    with pytest.raises(AttributeError, match=r"'agentic\.executors' has no attribute 'Runner'"):
        agentic.executors.Runner  # noqa: B018
