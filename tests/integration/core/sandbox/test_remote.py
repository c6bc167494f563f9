from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from agentic.core.bus import MemoryBus
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.sandbox import (
    Ending,
    ProcessSandbox,
    RemoteSandbox,
    SandboxFileError,
    SandboxLimits,
    SandboxLostError,
    SandboxUnavailableError,
    serve_sandbox,
)
from agentic.core.sandbox.remote import protocol, worker
from agentic.core.services import Supervisor, nats_service
from agentic.core.testing import SandboxContract
from agentic.core.testing.sandbox_contract import processes_with

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for all tests; it runs in processes, so it needs no loop of its own."""
    home = tmp_path_factory.mktemp("nats")
    with asyncio.Runner() as runner:
        supervisor = Supervisor(home, [nats_service(home)])
        runner.run(supervisor.__aenter__())
        yield supervisor.urls["nats"]
        runner.run(supervisor.__aexit__(None, None, None))


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[NatsBus]:
    bus = NatsBus(nats_url)
    yield bus
    await bus.aclose()


@pytest.fixture
async def served(nats_url: str) -> AsyncIterator[asyncio.Task[None]]:
    """A worker with a connection of its own."""
    bus = NatsBus(nats_url)
    task = asyncio.ensure_future(serve_sandbox(bus, ProcessSandbox(), most=SandboxLimits(time_s=100)))
    yield task
    task.cancel()
    await asyncio.wait([task])
    await bus.aclose()


@pytest.mark.requirement("SB01", "SB05")
class TestRemoteSandbox(SandboxContract):
    """A worker behind a real NATS server."""

    @pytest.fixture
    async def sandbox(self, bus: NatsBus, served: asyncio.Task[None]) -> RemoteSandbox:
        return RemoteSandbox(bus, wait_s=20)

    async def test_large_files_travel_both_ways(self, sandbox: RemoteSandbox) -> None:
        content = bytes(range(256)) * 20_000
        result = await sandbox.run({"a.bin": content}, ["cp", "a.bin", "b.bin"])
        assert result.files == {"b.bin": content}

    async def test_output_comes_before_the_end(self, sandbox: RemoteSandbox) -> None:
        first = asyncio.Event()
        command = ["sh", "-c", "echo first; while [ ! -e never ]; do sleep 0.05; done"]
        run = asyncio.ensure_future(sandbox.run({}, command, on_output=lambda *_: first.set()))
        async with asyncio.timeout(20):
            await first.wait()
        assert not run.done()
        run.cancel()
        await asyncio.wait([run])

    async def test_limits_above_those_of_the_worker_are_refused(self, sandbox: RemoteSandbox) -> None:
        with pytest.raises(SandboxFileError, match="time_s is 200, but the worker allows 100"):
            await sandbox.run({}, ["true"], SandboxLimits(time_s=200))

    async def test_an_error_of_the_worker_is_reported(self, sandbox: RemoteSandbox) -> None:
        with pytest.raises(SandboxUnavailableError, match="the sandbox has no tool 'nope'"):
            await sandbox.run({}, ["true"], tools=["nope"])

    async def test_a_worker_that_ends_is_noticed_and_ends_its_runs(
        self, sandbox: RemoteSandbox, served: asyncio.Task[None]
    ) -> None:
        begun = asyncio.Event()
        run = asyncio.ensure_future(
            sandbox.run({}, ["sh", "-c", "echo; sleep 50"], on_output=lambda *_: begun.set())
        )
        await begun.wait()
        served.cancel()
        with pytest.raises(SandboxLostError, match=r"its worker has ended|was silent"):
            await run


async def test_without_a_worker_the_sandbox_is_unavailable() -> None:
    sandbox = RemoteSandbox(MemoryBus(), "nobody here", wait_s=0.05)
    with pytest.raises(SandboxUnavailableError, match="no worker of the pool 'nobody here' had a free place"):
        await sandbox.run({}, ["true"])


async def test_a_client_that_is_silent_ends_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "SILENT_S", 0.3)
    bus = MemoryBus()
    serving = asyncio.ensure_future(serve_sandbox(bus, ProcessSandbox(), "one"))
    inbox = bus.inbox()
    async with bus.listen(inbox) as heard:
        await asyncio.sleep(0)
        await bus.send(protocol.subject_of("one"), protocol.packed("ask"), reply=inbox)
        offer = await heard.next()
        job = b'{"command": ["sleep", "40.125"]}'
        await bus.send(offer.reply, protocol.packed("job", job, is_last=True), reply=inbox)
        async with asyncio.timeout(20):
            while protocol.unpacked((await heard.next()).payload)[0].kind != "failed":
                pass
    assert processes_with("40.125") == []
    serving.cancel()
    await asyncio.wait([serving])


@pytest.mark.parametrize(
    "payload", [b"", b"{", b'{"kind": "job", "number": 7}\n', b'{"kind":"job"}\n\xff', b"\xff\n"]
)
async def test_damaged_messages_end_no_worker(payload: bytes) -> None:
    bus = MemoryBus()
    serving = asyncio.ensure_future(serve_sandbox(bus, ProcessSandbox(), "one"))
    inbox = bus.inbox()
    async with bus.listen(inbox) as heard:
        await asyncio.sleep(0)
        await bus.send(protocol.subject_of("one"), payload, reply=inbox)
        offer = await heard.next()
        await bus.send(offer.reply, payload, reply=inbox)
    result = await RemoteSandbox(bus, "one").run({}, ["echo", "alive"])
    assert (result.stdout, result.ended) == ("alive\n", Ending.EXITED)
    serving.cancel()
    await asyncio.wait([serving])
