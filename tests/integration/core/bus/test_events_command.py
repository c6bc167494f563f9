from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from pathlib import Path

import nats
import pytest
from tests.commands import run_command

from agentic.core.bus import EventPublisher, open_bus
from agentic.core.graph import EventKind, WorkflowBuilder, WorkflowEvent, executor
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue, RunId

pytestmark = pytest.mark.integration

AGENTIC = (sys.executable, "-c", "from agentic.core.cli.main import main; main()")


@executor(id="upper")
async def upper(text: str) -> str:
    return text.upper()


@executor(id="reverse")
async def reverse(text: str) -> str:
    return text[::-1]


async def run_a_workflow(nats_url: str, run_id: str, project: str = "shop") -> list[WorkflowEvent]:
    workflow = WorkflowBuilder("demo").set_start(upper).add_edge(upper, reverse).build()
    events: list[WorkflowEvent] = []
    async with (
        open_bus(load_settings(nats_url=nats_url)) as bus,
        EventPublisher(bus, project) as publisher,
    ):
        async for event in workflow.run_stream("abc", run_id=RunId(run_id)):
            events.append(event)
            await publisher.publish(event)
    return events


async def publish(nats_url: str, run_id: str, path: str, data: Mapping[str, JSONValue]) -> None:
    event = WorkflowEvent(
        kind=EventKind.EXECUTOR_FAILED, run_id=RunId(run_id), time=1.0, sequence=1, path=path, data=data
    )
    async with (
        open_bus(load_settings(nats_url=nats_url)) as bus,
        EventPublisher(bus, "shop") as publisher,
    ):
        await publisher.publish(event)


def environment(nats_url: str, **env: str) -> dict[str, str]:
    return {**os.environ, "AGENTIC_NATS_URL": nats_url, "COLUMNS": "200", **env}


async def start(nats_url: str, *options: str, **env: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *AGENTIC,
        *("events", "tail", *options),
        env=environment(nats_url, **env),
        stdout=PIPE,
        stderr=PIPE,
    )


async def output_of(nats_url: str, *options: str, **env: str) -> tuple[int | None, str, str]:
    words = ("events", "tail", *options)
    done = await asyncio.to_thread(run_command, words, environment(nats_url, **env), Path())
    return done.returncode, done.stdout, done.stderr


@pytest.mark.requirement("NA05", "NA06", "NA08", "NA20")
async def test_the_events_of_a_run_are_shown_in_its_order(nats_url: str) -> None:
    events = await run_a_workflow(nats_url, "run-1")
    code, out, err = await output_of(nats_url, "--json", "--no-follow")
    shown = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [found["id"] for found in shown] == [event.id for event in events]
    assert {found["kind"] for found in shown} >= {"run.started", "executor.completed", "edge.activated"}


async def test_runs_and_kinds_can_be_chosen(nats_url: str) -> None:
    await run_a_workflow(nats_url, "run-1")
    await run_a_workflow(nats_url, "run-2", project="other")
    options = ("--run", "run-2", "--kind", "executor.completed", "--kind", "run.completed")
    _, out, _ = await output_of(nats_url, "--json", "--no-follow", *options)
    assert [(found["run_id"], found["path"]) for found in map(json.loads, out.splitlines())] == [
        ("run-2", "upper"),
        ("run-2", "reverse"),
        ("run-2", ""),
    ]
    _, out, _ = await output_of(nats_url, "--json", "--no-follow", "--project", "shop", "--last", "1")
    assert [json.loads(line)["run_id"] for line in out.splitlines()] == ["run-1"]


@pytest.mark.requirement("NA20", "NA25")
async def test_who_stopped_reading_goes_on_where_it_stopped(nats_url: str) -> None:
    await run_a_workflow(nats_url, "run-1")
    _, out, _ = await output_of(nats_url, "--json", "--no-follow")
    known = [json.loads(line) for line in out.splitlines()]
    at = str(known[5]["stream_sequence"])
    later = await run_a_workflow(nats_url, "run-2")

    code, out, err = await output_of(nats_url, "--json", "--no-follow", "--after", at)

    shown = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert [one["id"] for one in shown] == [one["id"] for one in known[6:]] + [event.id for event in later]
    end = str(shown[-1]["stream_sequence"])
    assert (await output_of(nats_url, "--json", "--no-follow", "--after", end))[:2] == (0, "")


async def test_going_on_after_an_event_follows_those_that_match(nats_url: str) -> None:
    await run_a_workflow(nats_url, "run-1")
    process = await start(nats_url, "--json", "--after", "3", "--kind", "run.completed")
    assert process.stdout is not None
    assert json.loads(await process.stdout.readline())["run_id"] == "run-1"
    await run_a_workflow(nats_url, "run-2")
    assert json.loads(await process.stdout.readline())["run_id"] == "run-2"
    process.send_signal(signal.SIGINT)
    assert (await process.communicate(), process.returncode) == ((b"", b""), 0)


async def test_what_is_gone_from_the_stream_before_one_goes_on_is_told(nats_url: str) -> None:
    events = await run_a_workflow(nats_url, "run-1")
    client = await nats.connect(nats_url)
    await client.jetstream().purge_stream("AGENTIC_EVENTS", seq=9)
    await client.close()
    code, out, err = await output_of(nats_url, "--json", "--no-follow", "--after", "4")
    assert (code, len(out.splitlines())) == (0, len(events) - 8)
    assert "begins with 9: events from 5 to there were removed" in err


async def test_a_place_that_the_stream_never_had_is_refused(nats_url: str) -> None:
    events = await run_a_workflow(nats_url, "run-1")
    code, out, err = await output_of(nats_url, "--no-follow", "--after", "1000")
    assert (code, out) == (1, "")
    assert f"past the end of the stream ({len(events)})" in err
    assert "--after 0" in err


async def test_of_a_stream_without_events_nothing_is_shown(nats_url: str) -> None:
    assert await output_of(nats_url, "--no-follow") == (0, "", "")


async def test_the_newest_events_and_those_after_a_known_one_are_not_both_to_be_had(tmp_path: Path) -> None:
    code, _, err = await output_of("", "--after", "1", "--last", "1", AGENTIC_HOME=str(tmp_path))
    assert code == 2
    assert "not both" in err


async def test_a_line_for_people_has_what_matters(nats_url: str) -> None:
    await publish(
        nats_url, "0123456789abcdef", "impl/compile", {"error_type": "ValueError", "error": "no such page"}
    )
    _, out, _ = await output_of(nats_url, "--no-follow")
    assert out.split()[1:] == [
        *("0123456789ab", "s0", "impl/compile", "executor.failed"),
        *("error_type=ValueError", "error=no", "such", "page"),
    ]


async def test_markup_and_escape_sequences_in_data_are_shown_and_not_obeyed(nats_url: str) -> None:
    await publish(nats_url, "r[red]1", "a[bold]", {"page": "\x1b[31m[link=x]\nnext", "long": "x" * 1000})
    _, out, _ = await output_of(nats_url, "--no-follow", FORCE_COLOR="1")
    assert "r[red]1" in out
    assert "a[bold]" in out
    assert r"\x1b[31m[link=x]\nnext" in out
    assert len(out.splitlines()) == 1
    assert len(out) < 400


async def test_following_shows_new_events_until_ctrl_c(nats_url: str) -> None:
    await run_a_workflow(nats_url, "run-1")
    process = await start(nats_url, "--json", "--last", "1")
    assert process.stdout is not None
    assert json.loads(await process.stdout.readline())["kind"] == "run.completed"
    events = await run_a_workflow(nats_url, "run-2")
    for event in events:
        assert json.loads(await process.stdout.readline())["id"] == event.id
    process.send_signal(signal.SIGINT)
    out, err = await process.communicate()
    assert (process.returncode, out, err) == (0, b"", b"")


async def test_a_reader_that_hangs_up_gets_no_traceback(nats_url: str) -> None:
    for number in range(5):
        await run_a_workflow(nats_url, f"run-{number}")
    process = await asyncio.create_subprocess_shell(
        f"{shlex.join(AGENTIC)} events tail --no-follow --last 1000 | head -n 1",
        env={**os.environ, "AGENTIC_NATS_URL": nats_url},
        stdout=PIPE,
        stderr=PIPE,
    )
    out, err = await process.communicate()
    assert len(out.splitlines()) == 1
    assert b"Traceback" not in err


async def test_without_a_server_the_next_step_is_named(tmp_path: Path) -> None:
    code, out, err = await output_of("", AGENTIC_HOME=str(tmp_path / "empty"))
    assert (code, out) == (3, "")
    assert err.count("\n") == 1
    assert "empty" in err
    assert "agentic up" in err


async def test_a_server_that_is_down_is_named_without_its_password() -> None:
    code, out, err = await output_of("nats://robot:hunter2@127.0.0.1:9")
    assert (code, out) == (3, "")
    assert "nats://127.0.0.1:9" in err
    assert "hunter2" not in err
    assert "Traceback" not in err


async def test_an_unknown_kind_is_bad_usage(tmp_path: Path) -> None:
    code, _, err = await output_of("", "--kind", "run.exploded", AGENTIC_HOME=str(tmp_path))
    assert code == 2
    assert "run.exploded" in err
    assert "run.failed" in err


async def test_a_running_supervisor_in_the_home_is_found(nats_url: str, tmp_path: Path) -> None:
    await run_a_workflow(nats_url, "run-1")
    code, out, _ = await output_of("", "--json", "--no-follow", "--last", "1", AGENTIC_HOME=str(tmp_path))
    assert code == 0
    assert json.loads(out)["kind"] == "run.completed"
