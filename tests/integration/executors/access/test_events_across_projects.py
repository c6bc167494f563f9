"""What is on the bus, read in one project: the events, states and patterns of the other are not there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from tests.integration.executors.access.worlds import ONE, OTHER, WORDS
from typer.testing import CliRunner

from agentic.core import Workflow, WorkflowBuilder, executor
from agentic.core.bus import EventPublisher, learnt_patterns, live_state, open_bus
from agentic.core.cli.events import events_app
from agentic.core.cli.graph import graph_app
from agentic.core.cli.main import build_app
from agentic.core.settings import load_settings

pytestmark = [pytest.mark.integration, pytest.mark.requirement("PL42")]

TAIL = ("tail", "--no-follow", "--json", "--last", "1000")


@pytest.fixture
async def told(agentic_nats: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have both projects tell of a run called ``twin``, and of one with a name of its own."""
    monkeypatch.setenv("AGENTIC_NATS_URL", agentic_nats)
    monkeypatch.setenv("AGENTIC_HOME", str(tmp_path))
    monkeypatch.delenv("AGENTIC_PROJECT", raising=False)
    for project, word in WORDS.items():
        async with open_bus(load_settings()) as bus, EventPublisher(bus, project) as publisher:
            for run_id in ("twin", f"{word}-run"):
                async for event in saying(word).run_stream(word, run_id=run_id):
                    await publisher.publish(event)
    return agentic_nats


def saying(word: str) -> Workflow:
    """Return a workflow whose executor and output are a word."""

    @executor(id=f"{word}-node")
    async def say(said: str) -> str:
        return said

    return WorkflowBuilder(f"{word}-flow").set_start(say).build()


async def run(*arguments: str) -> tuple[int, str]:
    """Return exit code, and all a command says, of its error, too."""
    build_app()  # what rooms above add to the commands
    app = graph_app if arguments[0] == "svg" else events_app
    with capture_logs():
        result = await asyncio.to_thread(CliRunner().invoke, app, arguments)
    return result.exit_code, f"{result.output}{result.exception or ''}"


def ways_into(project: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, ...]]:
    """Yield the options of both ways to say which project it is, with the environment set to suit."""
    yield ("--project", project)
    monkeypatch.setenv("AGENTIC_PROJECT", project)
    yield ()


@pytest.mark.parametrize("command", [TAIL, ("replay", "twin", "--all"), ("svg", "--run", "twin")])
async def test_events_are_those_of_ones_own_project(
    told: str, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    for options in ways_into(ONE, monkeypatch):
        code, said = await run(*command, *options)
        assert code == 0
        assert WORDS[ONE] in said
        assert WORDS[OTHER] not in said


@pytest.mark.parametrize("command", [("replay", "{}", "--all"), ("svg", "--run", "{}")])
async def test_a_run_of_the_other_is_as_if_it_were_not_there(
    told: str, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    for options in ways_into(ONE, monkeypatch):
        theirs, nobodys = f"{WORDS[OTHER]}-run", "mouse-run"
        asked = await run(*(part.format(theirs) for part in command), *options)
        made_up = await run(*(part.format(nobodys) for part in command), *options)
        assert asked[0] == 1
        assert asked[1].replace(theirs, nobodys) == made_up[1]


async def test_without_a_project_a_run_that_two_have_is_not_mixed(told: str) -> None:
    for command in (("svg", "--run", "twin"), ("replay", "twin")):
        code, said = await run(*command)
        assert code == 1
        assert "--project" in said
    code, said = await run(*TAIL)
    assert code == 0
    assert all(word in said for word in WORDS.values())


async def test_states_and_patterns_are_in_a_bucket_of_each_project(agentic_nats: str) -> None:
    async with open_bus(load_settings(nats_url=agentic_nats)) as bus:
        for bucket in (live_state, learnt_patterns):
            await bucket(bus, OTHER).put("workflow.twin.state", b"zebra")
            assert await bucket(bus, OTHER).keys() != {}
            assert await bucket(bus, ONE).keys() == {}
            assert await bucket(bus, ONE).get("workflow.twin.state") is None
