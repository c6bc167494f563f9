from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from agentic.core.bus import BusMessage, BusUnavailableError
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.services import Service, ServiceFailedError, ServiceSupervisor, launcher, nats_service
from agentic.core.services.processes import process_identity

if TYPE_CHECKING:
    from tests.conftest import Eventually

    IsAlive = Callable[[int], bool]

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent"),
]

SUPERVISE = """
import asyncio, sys
from pathlib import Path
from agentic.core.logging import configure_logging
from agentic.core.services import Service, ServiceSupervisor, nats_service, valkey_service

configure_logging("error")
home = Path(sys.argv[1])
services = [nats_service(home), valkey_service(home)]
if len(sys.argv) > 2:
    services.append(Service("extra", [sys.executable, "-S", "-c", sys.argv[2]], stop_grace_s=60))
supervisor = ServiceSupervisor(home, services)
asyncio.run(supervisor.run_until_stopped(lambda urls: print("ready", flush=True)))
print("stopped", flush=True)
"""
SLEEP = "import time; time.sleep(600)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
DYING = "import sys, time; print('out of luck', flush=True); time.sleep(0.1); sys.exit(3)"
BUS_MESSAGE = BusMessage(subject="agentic.edge.shop/r1/a.activated", payload=b"{}", message_id="m1")


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


async def start_supervising(home: Path, *arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SUPERVISE, str(home), *arguments), stdout=PIPE
    )


@asynccontextmanager
async def supervising(home: Path, *arguments: str) -> AsyncIterator[Process]:
    """Run a supervisor in a process of its own, ready when the block begins."""
    process = await start_supervising(home, *arguments)
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


def pids_in(home: Path) -> dict[str, int]:
    note = json.loads((home / "runtime.json").read_text(encoding="utf-8"))
    return dict(note["pids"])


def url_in(home: Path) -> str:
    note = json.loads((home / "runtime.json").read_text(encoding="utf-8"))
    return str(note["urls"]["nats"])


def leave_note(home: Path, pid: int, identity: str | None) -> None:
    note = {"pid": 1, "urls": {}, "pids": {"x": pid}, "identities": {str(pid): identity}}
    (home / "runtime.json").write_text(json.dumps(note), encoding="utf-8")


async def message_count(bus: NatsBus) -> int:
    """Ask until the server answers."""
    async with asyncio.timeout(10):
        while True:
            with suppress(BusUnavailableError):
                return (await bus.state()).count
            await asyncio.sleep(0.05)


async def test_killing_the_supervisor_leaves_no_orphan_and_loses_no_event(
    tmp_path: Path, eventually: Eventually, is_alive: IsAlive
) -> None:
    async with supervising(tmp_path) as process:
        pids = pids_in(tmp_path)
        bus = NatsBus(url_in(tmp_path))
        await bus.publish([BUS_MESSAGE])
        await bus.aclose()
        process.kill()
        await eventually(lambda: not any(map(is_alive, pids.values())))
    assert set(pids) == {"nats", "valkey"}
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as successor:
        bus = NatsBus(successor.urls["nats"])
        assert await message_count(bus) == 1
        await bus.aclose()


async def test_killing_the_supervisor_while_it_starts_leaves_no_orphan(
    tmp_path: Path, eventually: Eventually, is_alive: IsAlive
) -> None:
    process = await start_supervising(tmp_path)
    await eventually((tmp_path / "runtime.json").exists)
    family = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    process.kill()
    await process.communicate()
    assert family
    await eventually(lambda: not any(map(is_alive, family)))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=str)
async def test_a_signal_stops_everything_cleanly(
    tmp_path: Path, number: int, eventually: Eventually, is_alive: IsAlive
) -> None:
    async with supervising(tmp_path) as process:
        pids = pids_in(tmp_path)
        process.send_signal(number)
        out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"stopped\n")
    await eventually(lambda: not any(map(is_alive, pids.values())))
    assert not (tmp_path / "runtime.json").exists()
    assert "Server Exiting" in (tmp_path / "logs" / "nats.log").read_text(encoding="utf-8")


async def test_a_hang_up_that_is_ignored_stops_nothing(tmp_path: Path, eventually: Eventually) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # children inherit it, as from nohup
    try:
        async with supervising(tmp_path) as process:
            process.send_signal(signal.SIGHUP)
            killed = pids_in(tmp_path)["nats"]
            os.kill(killed, signal.SIGKILL)
            await eventually(lambda: pids_in(tmp_path).get("nats") not in {killed, None})
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


async def test_a_second_signal_ends_what_does_not_want_to_stop(
    tmp_path: Path, eventually: Eventually, is_alive: IsAlive
) -> None:
    async with supervising(tmp_path, STUBBORN) as process:
        pids = pids_in(tmp_path)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(10):
            out, _ = await process.communicate()
    assert (process.returncode, out) == (0, b"stopped\n")
    await eventually(lambda: not any(map(is_alive, pids.values())))


async def test_a_killed_server_is_started_again_where_it_was_with_what_it_held(
    tmp_path: Path, eventually: Eventually
) -> None:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path)]) as supervisor:
        url = supervisor.urls["nats"]
        bus = NatsBus(url)
        await bus.publish([BUS_MESSAGE])
        killed = pids_in(tmp_path)["nats"]
        os.kill(killed, signal.SIGKILL)
        await eventually(lambda: pids_in(tmp_path)["nats"] != killed)
        assert await message_count(bus) == 1
        assert url_in(tmp_path) == supervisor.urls["nats"] == url
        await bus.aclose()


async def test_a_service_that_does_not_stay_up_ends_the_block_with_its_log(
    tmp_path: Path, eventually: Eventually, is_alive: IsAlive
) -> None:
    dying = Service("dying", python(DYING), ready=(tmp_path / "logs" / "dying.log").exists)
    pids: list[int] = []
    with pytest.raises(ServiceFailedError, match=r"(?s)exit code 3.*out of luck"):  # noqa: PT012 - see name
        async with ServiceSupervisor(tmp_path, [nats_service(tmp_path), dying]):
            pids += pids_in(tmp_path).values()
            await asyncio.Event().wait()
    await eventually(lambda: not any(map(is_alive, pids)))
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def test_a_service_that_does_not_stay_up_ends_the_start_of_the_others(tmp_path: Path) -> None:
    dying = Service("dying", python(DYING), ready=(tmp_path / "logs" / "dying.log").exists)
    waiting = Service("waiting", python(SLEEP), ready=lambda: False)
    with pytest.raises(ServiceFailedError) as caught:
        await ServiceSupervisor(tmp_path, [dying, waiting]).__aenter__()
    assert caught.value.name == "dying"
    assert not (tmp_path / "runtime.json").exists()


async def test_what_a_killed_predecessor_left_is_ended_before_anything_starts(
    tmp_path: Path, is_alive: IsAlive
) -> None:
    orphan = await asyncio.create_subprocess_exec(*python(SLEEP), start_new_session=True)
    leave_note(tmp_path, orphan.pid, process_identity(orphan.pid))
    async with ServiceSupervisor(tmp_path, []):
        assert not is_alive(orphan.pid)
    await orphan.wait()


async def test_a_process_that_only_has_the_old_pid_is_left_alone(tmp_path: Path, is_alive: IsAlive) -> None:
    innocent = await asyncio.create_subprocess_exec(*python(SLEEP), start_new_session=True)
    leave_note(tmp_path, innocent.pid, "another-boot:1")
    async with ServiceSupervisor(tmp_path, []):
        assert is_alive(innocent.pid)
    innocent.kill()
    await innocent.wait()


async def test_a_command_is_not_started_for_a_parent_that_is_gone() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-S", "-E", launcher.__file__, "1"), *python("print('started')"), stdout=PIPE
    )
    out, _ = await process.communicate()
    assert (process.returncode, out) == (1, b"")
