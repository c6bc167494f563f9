"""``--json`` of every command of the groups that administrate: it is there, and what it prints parses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from tests.integration.executors.shells import Shell

from agentic.core.cli.main import build_app

pytestmark = [pytest.mark.integration, pytest.mark.requirement("BR08")]

GROUPS = ("projects", "agents", "executions", "platforms")

PIPELINE = """
name: notes
steps:
  - {id: note, actor: aggregate, config: {items: [{url: "http://a.example/"}]}}
"""

RUNS = """
agents add new --platform hackernews
agents list
agents show notes
agents edit notes --goals words
agents disable notes
agents enable --all
agents export
agents import agents.yaml --replace
agents remove new --yes
executions list
executions show {succeeded}
executions failures {succeeded}
executions pages {succeeded}
executions watch {succeeded} --once
executions export {succeeded} --out rows.jsonl
executions export --all --to rows
executions report {succeeded} --out report.html
executions cancel {waiting}
executions retry {waiting}
executions remove {succeeded} --yes
platforms list
platforms show hackernews
platforms schema web
platforms doctor hackernews
projects add other
projects list
projects show default
projects edit other --max-running 3
projects limit other
projects export default
projects import project.yaml
projects remove other --yes
"""
"""One use of each command, in an order in which each succeeds."""

ELSEWHERE = {"executions changes": "tests/integration/executors/test_reports.py"}
"""Commands that need a crawl; their JSON is read there."""


@cache
def commands() -> dict[str, Any]:
    """Return the commands of the groups by name."""
    found = typer.main.get_command(build_app())
    return {f"{group} {name}": one for group in GROUPS for name, one in _inner(_inner(found)[group]).items()}


def _inner(command: Any) -> dict[str, Any]:  # Typer brings a Click of its own, which has no public name
    inner: dict[str, Any] = command.commands
    return inner


def used() -> Iterator[str]:
    for line in RUNS.split("\n"):
        if line:
            yield " ".join(line.split()[:2])


@pytest.mark.parametrize("name", commands())
def test_each_command_takes_the_option(name: str) -> None:
    assert any("--json" in option.opts for option in commands()[name].params)


def test_each_command_is_used_below() -> None:
    assert {*used(), *ELSEWHERE} == commands().keys()
    assert all(Path(place).exists() for place in ELSEWHERE.values())


def test_what_each_prints_is_json_and_nothing_else(shell: Shell) -> None:
    Path("notes.yaml").write_text(PIPELINE)
    names = {"succeeded": shell.json("run", "notes.yaml")["execution_id"]}
    Path("agents.yaml").write_text(shell("agents", "export"))
    Path("project.yaml").write_text(shell("projects", "export", "default"))
    names["waiting"] = shell.queue("notes")
    for line in filter(None, RUNS.split("\n")):
        printed = shell(*line.format(**names).split(), "--json")
        assert isinstance(json.loads(printed), dict | list), line
