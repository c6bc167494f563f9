from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil
import pytest
import redis.asyncio as redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from tests.pages import read_page

from agentic.core.bus import BusUnavailableError
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.services import (
    HomeInUseError,
    ReadyCheck,
    Service,
    ServiceFailedError,
    ServiceSupervisor,
    nats_service,
    valkey_service,
)

if TYPE_CHECKING:
    from tests.conftest import Eventually

pytestmark = pytest.mark.integration

DIARY = """
import signal, sys, time
def note(what):
    with open(sys.argv[1], "a") as diary:
        diary.write(f"{sys.argv[2]} {what}\\n")
def stop(*_):
    note("stops")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
note("starts")
time.sleep(600)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""
PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
time.sleep(600)
"""


def never() -> bool:
    return False


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-S", "-c", code, *arguments]


def has_written(path: Path, text: str) -> ReadyCheck:
    return lambda: text in path.read_text(encoding="utf-8")


def diarist(name: str, diary: Path) -> Service:
    return Service(name, python(DIARY, str(diary), name), ready=has_written(diary, f"{name} starts"))


def pids_in(home: Path) -> dict[str, int]:
    note = json.loads((home / "runtime.json").read_text(encoding="utf-8"))
    return dict(note["pids"])


async def test_the_embedded_servers_answer_where_the_urls_say(tmp_path: Path) -> None:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path), valkey_service(tmp_path)]) as supervisor:
        assert set(supervisor.urls) == {"nats", "nats_http", "broker"}
        client = redis.from_url(supervisor.urls["broker"])
        config = await client.config_get("*")
        await client.aclose()
    assert (config["maxmemory-policy"], config["appendonly"]) == ("noeviction", "yes")


async def test_queued_work_survives_a_restart_of_everything(tmp_path: Path) -> None:
    answers: list[int] = []
    for _ in range(2):
        async with (
            ServiceSupervisor(tmp_path, [valkey_service(tmp_path)]) as supervisor,
            redis.from_url(supervisor.urls["broker"]) as client,
        ):
            answers.append(await client.rpush("queue", "task"))
    assert answers == [1, 2]


async def test_who_has_not_the_password_gets_nothing_from_the_servers(tmp_path: Path) -> None:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path), valkey_service(tmp_path)]) as supervisor:
        ports = {name: urlsplit(url).port or 0 for name, url in supervisor.urls.items()}
        asked = {
            "broker": b"KEYS *\r\n",
            "nats": b'CONNECT {"verbose":true}\r\nPUB a 1\r\nx\r\n',
            "nats_http": b"GET /connz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        }
        told = {name: await everything_said(ports[name], words) for name, words in asked.items()}
        page = read_page(f"{supervisor.urls['nats_http']}/jsz")
    assert told["broker"].startswith(b"-NOAUTH")
    assert b"-ERR 'Authorization Violation'" in told["nats"]
    assert told["nats_http"].startswith(b"HTTP/1.1 404")
    assert "streams" in json.loads(page)


async def test_clients_of_before_find_the_servers_again_after_a_restart_of_everything(tmp_path: Path) -> None:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path), valkey_service(tmp_path)]) as supervisor:
        urls = dict(supervisor.urls)
        worker = redis.from_url(urls["broker"], retry=Retry(NoBackoff(), 1))
        bus = NatsBus(urls["nats"])
        await worker.set("a", "1")
        before = (await bus.state()).count
    try:
        async with ServiceSupervisor(
            tmp_path, [nats_service(tmp_path), valkey_service(tmp_path)]
        ) as supervisor:
            assert dict(supervisor.urls) == urls
            assert await worker.get("a") == b"1"
            await reached(bus)
            assert (await bus.state()).count == before
    finally:
        await worker.aclose()
        await bus.aclose()


async def test_no_password_is_in_a_command_line_or_a_log(tmp_path: Path) -> None:
    async with ServiceSupervisor(tmp_path, [nats_service(tmp_path), valkey_service(tmp_path)]) as supervisor:
        secrets = {word for url in supervisor.urls.values() for word in re.findall(r"[0-9a-f]{40,}", url)}
        processes = psutil.Process().children(recursive=True)
        shown = [" ".join(process.cmdline()) for process in processes]
        logs = [file.read_text() for file in (tmp_path / "logs").iterdir()]
    assert len(secrets) == 3
    assert len(shown) >= 2
    assert [text for text in (*shown, *logs) for secret in secrets if secret in text] == []


async def reached(bus: NatsBus) -> None:
    """Wait until a bus that lost its server has it again."""
    async with asyncio.timeout(20):
        while True:
            with suppress(BusUnavailableError):
                await bus.state()
                return
            await asyncio.sleep(0.05)


async def everything_said(port: int, words: bytes) -> bytes:
    """Return what a server says to words until it hangs up or is silent for a second."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said = b""
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                writer.write(words)
                while piece := await reader.read(65_536):
                    said += piece
    finally:
        writer.close()
    return said


async def test_a_home_may_have_any_name(tmp_path: Path) -> None:
    home = tmp_path / 'mein "Ordner" \'é'
    async with ServiceSupervisor(home, [nats_service(home), valkey_service(home)]) as supervisor:
        assert len(supervisor.urls) == 3


async def test_services_start_in_order_and_stop_in_reverse(tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    async with ServiceSupervisor(tmp_path, [diarist(name, diary) for name in ("a", "b", "c")]):
        assert diary.read_text().splitlines() == ["a starts", "b starts", "c starts"]
    assert diary.read_text().splitlines()[3:] == ["c stops", "b stops", "a stops"]


async def test_nothing_is_left_after_the_block(
    tmp_path: Path, eventually: Eventually, is_alive: Callable[[int], bool]
) -> None:
    services = [Service("parent", python(PARENT)), valkey_service(tmp_path)]
    async with ServiceSupervisor(tmp_path, services):
        pids = pids_in(tmp_path)
        parent = psutil.Process(pids["parent"])
        await eventually(lambda: bool(parent.children()))
        family = [*pids.values(), *(child.pid for child in parent.children())]
        assert all(map(is_alive, family))
    await eventually(lambda: not any(map(is_alive, family)))
    assert len(family) == 3
    assert not (tmp_path / "runtime.json").exists()


async def test_a_service_that_does_not_heed_the_signal_is_killed(
    tmp_path: Path, eventually: Eventually, is_alive: Callable[[int], bool]
) -> None:
    is_up = has_written(tmp_path / "logs" / "stubborn.log", "up")
    async with ServiceSupervisor(
        tmp_path, [Service("stubborn", python(STUBBORN), ready=is_up, stop_grace_s=0.1)]
    ):
        [pid] = pids_in(tmp_path).values()
    await eventually(lambda: not is_alive(pid))


async def test_what_a_service_writes_is_kept_in_its_log_and_it_gets_its_environment(tmp_path: Path) -> None:
    log_path = tmp_path / "logs" / "talker.log"
    command = python("import os, time; print(os.environ['COLOR'], flush=True); time.sleep(600)")
    service = Service("talker", command, {"COLOR": "blue"}, ready=has_written(log_path, "blue"))
    async with ServiceSupervisor(tmp_path, [service]):
        assert log_path.read_text() == "blue\n"


async def test_a_second_supervisor_in_the_same_home_is_refused(tmp_path: Path) -> None:
    async with ServiceSupervisor(tmp_path, []):
        with pytest.raises(HomeInUseError, match=str(os.getpid())):
            await ServiceSupervisor(tmp_path, []).__aenter__()
    async with ServiceSupervisor(tmp_path, []):
        pass


async def test_a_program_that_does_not_exist_is_named_and_the_others_are_stopped(tmp_path: Path) -> None:
    services = [valkey_service(tmp_path), Service("broken", ["/nowhere/server"], ready=never)]
    with pytest.raises(ServiceFailedError, match=r"/nowhere/server.*No such file") as caught:
        await ServiceSupervisor(tmp_path, services).__aenter__()
    assert caught.value.name == "broken"
    assert not (tmp_path / "runtime.json").exists()


async def test_a_service_that_ends_at_once_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    service = Service("short", python("import sys; print('a hint'); sys.exit(7)"), ready=never)
    with pytest.raises(ServiceFailedError, match=r"(?s)exit code 7.*a hint"):
        await ServiceSupervisor(tmp_path, [service]).__aenter__()


async def test_a_service_that_never_gets_ready_is_reported_and_stopped(tmp_path: Path) -> None:
    service = Service("slow", python(STUBBORN), ready=never, ready_timeout_s=0.3, stop_grace_s=0.1)
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(ServiceFailedError, match=r"not ready after 0\.3 s"):
        await ServiceSupervisor(tmp_path, [service]).__aenter__()
    ours = set(psutil.Process().children(recursive=True)) - before
    assert {child.status() for child in ours} <= {psutil.STATUS_ZOMBIE}


@pytest.mark.parametrize("make", [nats_service, valkey_service])
async def test_a_port_that_another_server_took_meanwhile_is_reported(
    make: Callable[[Path], Service], tmp_path: Path
) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_name": "somebody else"}\r\n+PONG\r\n')
        writer.close()

    service = make(tmp_path)
    port = int(service.command[service.command.index("--port") + 1])
    async with await asyncio.start_server(answer, "127.0.0.1", port):
        with pytest.raises(ServiceFailedError, match=r"(?i)address already in use"):
            await ServiceSupervisor(tmp_path, [service]).__aenter__()


async def test_an_error_in_the_block_comes_out_as_it_is(
    tmp_path: Path, eventually: Eventually, is_alive: Callable[[int], bool]
) -> None:
    pids: list[int] = []
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - the block is what is tested
        async with ServiceSupervisor(tmp_path, [valkey_service(tmp_path)]):
            pids += pids_in(tmp_path).values()
            raise ZeroDivisionError
    await eventually(lambda: not any(map(is_alive, pids)))


async def test_cancelling_the_start_leaves_nothing_behind(
    tmp_path: Path, eventually: Eventually, is_alive: Callable[[int], bool]
) -> None:
    service = Service("slow", python(STUBBORN), ready=never, stop_grace_s=0.1)
    starting = asyncio.create_task(ServiceSupervisor(tmp_path, [service]).__aenter__())
    await eventually((tmp_path / "runtime.json").exists)
    [pid] = pids_in(tmp_path).values()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await eventually(lambda: not is_alive(pid))
