"""``agentic events replay``: runs told again by another process, from a real stream."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import sys
import termios
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.commands import run_command
from tests.integration.core.bus.replaying import PROJECT, Mode, main
from typer.testing import CliRunner, Result

from agentic.core.bus import BusMessage, EventPublisher, open_bus
from agentic.core.bus.envelope import to_message
from agentic.core.cli.events import events_app
from agentic.core.errors import AgenticError
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.settings import load_settings
from agentic.core.types import RunId

pytestmark = pytest.mark.integration

AGENTIC = (sys.executable, "-m", "agentic.core.cli")
CHECKOUT = Path(__file__).parents[4]
ARROW_RIGHT = "\x1b[C"


@dataclass(frozen=True)
class Place:
    """A server with a stream, a database for checkpoints, and nothing else."""

    path: Path
    nats_url: str

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENTIC_")}
        return {
            **kept,
            "AGENTIC_HOME": str(self.path / "home"),
            "AGENTIC_NATS_URL": self.nats_url,
            "PYTHONPATH": str(CHECKOUT),
        }

    async def work(self, run_id: str, mode: Mode = "finish") -> None:
        """Run the workflow to its end, go on with it, or run it in a process that is killed in step 2."""
        database_url = f"sqlite:///{self.path / 'data.db'}"
        if mode != "hang":
            await main(self.nats_url, run_id, database_url, mode)
            return
        process = await create_subprocess_exec(
            *(sys.executable, "-m", "tests.integration.core.bus.replaying"),
            *(self.nats_url, run_id, database_url, mode),
            env=self.env,
            stdout=PIPE,
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"here\n"
        process.send_signal(signal.SIGKILL)
        await process.wait()

    async def agentic(self, *arguments: str, **env: str) -> tuple[int | None, str, str]:
        """Run `agentic events replay` in another process."""
        words = ("events", "replay", *arguments)
        done = await asyncio.to_thread(run_command, words, {**self.env, **env}, Path())
        return done.returncode, done.stdout, done.stderr

    async def replay(self, *arguments: str) -> str:
        """Return what the command prints."""
        result = await self.run(*arguments)
        assert result.exception is None, result.exception
        return result.stdout

    async def steps(self, *arguments: str) -> list[dict[str, Any]]:
        """Return what the command prints for scripts."""
        return [json.loads(line) for line in (await self.replay(*arguments, "--json")).splitlines()]

    async def fails(self, *arguments: str) -> AgenticError:
        """Return why the command is refused."""
        error = (await self.run(*arguments)).exception
        assert isinstance(error, AgenticError)
        return error

    async def run(self, *arguments: str) -> Result:
        """Run the command in this process."""
        return await asyncio.to_thread(CliRunner().invoke, events_app, ["replay", *arguments], env=self.env)


@pytest.fixture
def place(tmp_path: Path, nats_url: str, migrated_file: Path) -> Place:
    shutil.copy(migrated_file, tmp_path / "data.db")
    return Place(tmp_path, nats_url)


def in_hand(step: dict[str, Any]) -> list[str]:
    return [one["input"] for one in step["activations"] if one["outcome"] == "in hand"]


@pytest.mark.requirement("NA20", "NA25")
async def test_a_run_is_rebuilt_step_by_step_by_another_process(place: Place) -> None:
    await place.work("r-1")
    steps = await place.steps("r-1")
    assert [step["number"] for step in steps] == [0, 1, 2, 3]
    assert [[one["path"] for one in step["activations"]] for step in steps] == [
        ["split"],
        ["shout", "shout"],
        ["slow", "slow"],
        ["say", "say"],
    ]
    assert steps[0]["changes"]["state"] == {"words": 2}
    assert [due["message"] for due in steps[0]["after"]["due"]] == ["ho", "hey"]
    assert sorted(one["attempt"] for one in steps[1]["activations"]) == [1, 2]
    assert steps[-1]["after"]["outputs"] == ["HO!", "HEY!"]
    assert (steps[-1]["ending"], steps[-1]["after"]["status"]) == ("completed", "completed")


async def test_a_killed_run_is_told_up_to_what_was_in_hand(place: Place) -> None:
    await place.work("r-1", "hang")
    steps = await place.steps("r-1")
    assert [(step["number"], step["is_done"]) for step in steps] == [(0, True), (1, True), (2, False)]
    assert in_hand(steps[-1]) == ["HO", "HEY"]
    assert steps[-1]["after"]["status"] == "running"

    code, out, err = await place.agentic("r-1")

    assert (code, err) == (0, "")
    assert re.search(r"superstep 2 {2}no end recorded", out)
    assert re.search(r"run r-1 has not ended; last event .* s ago, in superstep 2, 2 still running", out)
    assert '  running: slow  <- shout: "HO"' in out
    assert "its process was killed" in out


async def test_a_killed_run_that_was_gone_on_with_is_told_to_its_end(place: Place) -> None:
    await place.work("r-1", "hang")
    await place.work("r-1", "resume")
    steps = await place.steps("r-1")
    assert [(step["number"], step["leg"], step["resumed_from"]) for step in steps] == [
        (0, 1, None),
        (1, 1, None),
        (2, 1, None),
        (2, 2, "running"),
        (3, 1, None),
    ]
    assert in_hand(steps[2]) == ["HO", "HEY"]
    assert in_hand(steps[3]) == []
    assert all(not step["missing"] for step in steps)
    assert steps[-1]["after"]["outputs"] == ["HO!", "HEY!"]
    assert [step["leg"] for step in await place.steps("r-1", "--step", "2")] == [1, 2]


async def test_backwards_is_the_other_way_round(place: Place) -> None:
    await place.work("r-1")
    forwards, backwards = await place.steps("r-1"), await place.steps("r-1", "--backwards")
    assert backwards == forwards[::-1]
    out = await place.replay("r-1", "--backwards")
    lines = out.splitlines()
    assert lines[1].startswith("run r-1 completed")
    assert [line.split()[1] for line in lines if line.startswith("superstep")] == ["3", "2", "1", "0"]


async def test_one_step_can_be_chosen_and_one_that_is_not_there_is_named(place: Place) -> None:
    await place.work("r-1")
    out = await place.replay("r-1", "--step", "1")
    assert re.findall(r"^superstep \d", out, flags=re.MULTILINE) == ["superstep 1"]
    assert "reset by peer; retried" in out
    assert "no events of superstep 9 of run 'r-1'; there are events of 0 to 3" in str(
        await place.fails("r-1", "--step", "9")
    )


async def test_events_that_the_stream_has_no_more_are_told(place: Place) -> None:
    await place.work("r-1")
    async with open_bus(load_settings(nats_url=place.nats_url)) as bus:
        last = (await bus.state()).last
        payloads = [message.payload async for message in bus.read(until=last)]
    kept = [WorkflowEvent.from_json(payload) for payload in payloads]
    async with (
        open_bus(load_settings(nats_url=place.nats_url)) as bus,
        EventPublisher(bus, PROJECT) as publisher,
    ):
        for event in kept:
            if event.sequence is not None and event.superstep != 1:
                again = event.to_dict() | {"run_id": "r-2"}
                await publisher.publish(WorkflowEvent.from_json(json.dumps(again)))
    out = await place.replay("r-2")
    assert re.search(r"missing: events \d+-\d+, expired or lost before they reached the stream", out)
    assert re.findall(r"^superstep \d", out, flags=re.MULTILINE) == [
        "superstep 0",
        "superstep 2",
        "superstep 3",
    ]
    assert "run r-2 completed" in out


async def test_events_that_were_stored_late_and_twice_are_put_in_order(place: Place) -> None:
    await place.work("r-1")
    forwards = await place.steps("r-1")
    async with open_bus(load_settings(nats_url=place.nats_url)) as bus:
        last = (await bus.state()).last
        events = [WorkflowEvent.from_json(m.payload) async for m in bus.read(until=last)]
        late = [to_message(event, "late") for event in reversed(events) if event.sequence is not None]
        await bus.publish(late)
        again = [
            BusMessage(subject=m.subject, payload=m.payload, message_id=f"{m.message_id}-again") for m in late
        ]
        await bus.publish(again)
    late_ones = await place.steps("r-1", "--project", "late")
    assert late_ones == [{**step, "project": "late"} for step in forwards]
    assert "--project" in str(await place.fails("r-1"))


async def test_a_run_that_is_not_there_is_named_with_where_to_look(place: Place) -> None:
    code, out, err = await place.agentic("nobody")
    assert (code, out) == (1, "")
    assert "run 'nobody'" in err
    assert "agentic events tail" in err
    assert "agentic db upgrade" in err
    assert "Traceback" not in err


async def test_without_a_server_it_is_said_what_to_start(place: Place) -> None:
    code, _, err = await place.agentic("r-1", AGENTIC_NATS_URL="", AGENTIC_DISABLED_PLUGINS='["executors"]')
    assert code == 3
    assert "agentic up" in err


async def test_a_server_that_is_down_is_named_without_its_password(place: Place) -> None:
    code, _, err = await place.agentic("r-1", AGENTIC_NATS_URL="nats://robot:hunter2@127.0.0.1:9")
    assert code == 3
    assert "nats://127.0.0.1:9" in err
    assert "hunter2" not in err


async def test_values_are_shown_and_not_obeyed(place: Place) -> None:
    async with (
        open_bus(load_settings(nats_url=place.nats_url)) as bus,
        EventPublisher(bus, PROJECT) as publisher,
    ):
        data = {"workflow": "w[red]", "version": None, "input": "\x1b[31m[link=x]" + "y" * 1000}
        await publisher.publish(WorkflowEvent(EventKind.RUN_STARTED, RunId("r[bold]"), 1.0, 1, data=data))
    out = await place.replay("r[bold]")
    assert "r[bold]" in out
    assert "w[red]" in out
    assert "\x1b[31m[link=x]" not in out
    assert len(out) < 2000


@dataclass
class Terminal:
    """What a command shows on a terminal, and where to type; closed when the command ends."""

    end: int
    text: str = ""
    mark: int = 0
    prompts: re.Pattern[str] = field(default_factory=lambda: re.compile(r"\[(\d)/\d\] $"))

    def until_prompt(self) -> str:
        """Return what was shown since the last prompt, up to the next one."""
        while not self.prompts.search(self.text[self.mark :]):
            if not self.read():
                break
        shown, self.mark = self.text[self.mark :], len(self.text)
        return shown

    def read(self) -> bool:
        try:
            self.text += os.read(self.end, 65_536).decode("utf-8", "replace")
        except OSError:  # the other end is closed
            return False
        return True

    def type(self, line: str) -> str:
        """Type a line; return what is shown then."""
        os.write(self.end, f"{line}\n".encode())
        return self.until_prompt()


Stepping = Callable[..., Awaitable[Terminal]]


@pytest.fixture
async def stepping(place: Place) -> Any:
    """Return a function that replays a run on a terminal."""
    started = []

    async def start(*arguments: str) -> Terminal:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        process = await create_subprocess_exec(
            *AGENTIC, "events", "replay", *arguments,
            env={**place.env, "TERM": "xterm"}, stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        started.append((process, ours))
        return Terminal(ours)

    yield start
    for process, ours in started:
        if process.returncode is None:
            process.kill()
        await process.wait()
        os.close(ours)


def superstep(shown: str) -> list[str]:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    return re.findall(r"^superstep (\d)", plain, flags=re.MULTILINE)


@pytest.mark.skipif(sys.platform != "linux", reason="ends of terminals are told otherwise elsewhere")
class TestOnATerminal:
    async def test_a_run_is_gone_through_forwards_and_backwards(
        self, place: Place, stepping: Stepping
    ) -> None:
        await place.work("r-1")
        terminal = await stepping("r-1")
        look = asyncio.to_thread
        assert superstep(await look(terminal.until_prompt)) == ["0"]
        assert superstep(await look(terminal.type, "")) == ["1"]
        assert superstep(await look(terminal.type, ARROW_RIGHT)) == ["2"]
        assert superstep(await look(terminal.type, "b")) == ["1"]
        last = await look(terminal.type, "g 3")
        assert superstep(last) == ["3"]
        assert "run r-1 completed" in last
        assert "last step" in await look(terminal.type, "n")
        assert "0 to 3" in await look(terminal.type, "g 7")
        assert superstep(await look(terminal.type, "g0")) == ["0"]
        await look(terminal.type, "q")
        assert "Traceback" not in terminal.text

    async def test_backwards_begins_where_a_killed_run_ended(self, place: Place, stepping: Stepping) -> None:
        await place.work("r-1", "hang")
        terminal = await stepping("r-1", "--backwards")
        look = asyncio.to_thread
        first = await look(terminal.until_prompt)
        assert superstep(first) == ["2"]
        assert "its process was killed" in first
        assert superstep(await look(terminal.type, "")) == ["1"]

    async def test_all_steps_are_shown_at_once_when_wanted(self, place: Place, stepping: Stepping) -> None:
        await place.work("r-1")
        terminal = await stepping("r-1", "--all")
        assert superstep(await asyncio.to_thread(terminal.until_prompt)) == ["0", "1", "2", "3"]
