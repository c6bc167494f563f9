from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from agentic.core.bus import MemoryBus
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.sandbox import (
    Ending,
    OnOutput,
    ProcessSandbox,
    RemoteSandbox,
    SandboxFileError,
    SandboxJob,
    SandboxLimits,
    SandboxLostError,
    SandboxResult,
    SandboxUnavailableError,
    serve_sandbox,
)
from agentic.core.sandbox.remote import client, protocol, worker
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.testing import SandboxContract
from agentic.core.testing.sandbox_contract import processes_with

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for all tests; it runs in processes, so it needs no loop of its own."""
    home = tmp_path_factory.mktemp("nats")
    with asyncio.Runner() as runner:
        supervisor = ServiceSupervisor(home, [nats_service(home)])
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


async def test_jobs_and_results_that_are_too_large_to_travel_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "MOST_BYTES", 10_000)
    bus = MemoryBus()
    serving = asyncio.ensure_future(serve_sandbox(bus, ProcessSandbox(), "one"))
    await asyncio.sleep(0)
    sandbox = RemoteSandbox(bus, "one")
    with pytest.raises(SandboxFileError, match="bytes, but 10000 can travel; bring or keep fewer files"):
        await sandbox.run({"a.bin": bytes(20_000)}, ["true"])
    with pytest.raises(SandboxFileError, match="bytes, but 10000 can travel"):
        await sandbox.run({}, ["sh", "-c", "head -c 20000 /dev/zero > big"])
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


class Broken(ProcessSandbox):
    """A sandbox with a fault."""

    async def run_job(self, job: SandboxJob, on_output: OnOutput | None = None) -> SandboxResult:
        if job.command[0] == "fault":
            raise RuntimeError("no thread is left")
        return await super().run_job(job, on_output)


async def test_a_fault_of_the_sandbox_ends_its_job_and_no_worker() -> None:
    bus = MemoryBus()
    serving = asyncio.ensure_future(serve_sandbox(bus, Broken(), "one"))
    await asyncio.sleep(0)
    remote = RemoteSandbox(bus, "one")
    with pytest.raises(SandboxUnavailableError, match="RuntimeError: no thread is left"):
        await remote.run({}, ["fault"])
    assert (await remote.run({}, ["echo", "alive"])).stdout == "alive\n"
    serving.cancel()
    await asyncio.wait([serving])


class Meeting(ProcessSandbox):
    """A sandbox whose run ends when another one runs at the same time."""

    def __init__(self, place: asyncio.Barrier) -> None:
        super().__init__()
        self.place = place

    async def run_job(self, job: SandboxJob, on_output: OnOutput | None = None) -> SandboxResult:
        await self.place.wait()
        return SandboxResult(exit_code=0, ended=Ending.EXITED)


async def test_a_worker_that_was_not_chosen_serves_others_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ALIVE_S", 0.05)
    bus, place = MemoryBus(), asyncio.Barrier(2)
    serving = [
        asyncio.ensure_future(serve_sandbox(bus, Meeting(place), "two", max_parallel=1)) for _ in range(2)
    ]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(protocol.OFFER_S / 2):
            await asyncio.gather(*(RemoteSandbox(bus, "two").run({}, ["true"]) for _ in range(2)))
    finally:
        for task in serving:
            task.cancel()
        await asyncio.wait(serving)


@asynccontextmanager
async def lying(bus: MemoryBus, *answers: bytes) -> AsyncIterator[RemoteSandbox]:
    """A client of a worker that takes a job and gives these answers."""

    async def work() -> None:
        async with bus.listen(protocol.subject_of("lies")) as asked:
            reply = (await asked.next()).reply
            inbox = bus.inbox()
            async with bus.listen(inbox) as heard:
                await bus.send(reply, protocol.packed("offer"), reply=inbox)
                await heard.next()
                for answer in answers:
                    await bus.send(reply, answer)
                await asyncio.sleep(20)

    working = asyncio.ensure_future(work())
    await asyncio.sleep(0)
    yield RemoteSandbox(bus, "lies")
    working.cancel()
    await asyncio.wait([working])


async def test_output_of_a_lying_worker_is_cut_at_the_limit() -> None:
    flood = [protocol.packed("stdout", b"x" * 1000) for _ in range(5)]
    result = b'{"exit_code": 0, "ended": "exited"}'
    pieces: list[bytes] = []
    async with lying(MemoryBus(), *flood, protocol.packed("result", result, is_last=True)) as sandbox:
        await sandbox.run(
            {}, ["true"], SandboxLimits(output_bytes=2500), on_output=lambda _, piece: pieces.append(piece)
        )
    assert list(map(len, pieces)) == [1000, 1000, 500]


@pytest.mark.parametrize(
    "result",
    [
        b'{"exit_code": 0, "ended": "exited", "wall_s": NaN}',
        b'{"exit_code": 0, "ended": "exited", "memory_bytes": -1}',
        b'{"exit_code": 123456789, "ended": "exited"}',
        b'{"exit_code": 0, "ended": "won"}',
    ],
)
async def test_odd_results_of_a_lying_worker_are_refused(result: bytes) -> None:
    async with lying(MemoryBus(), protocol.packed("result", result, is_last=True)) as sandbox:
        with pytest.raises(SandboxLostError, match="its result is damaged"):
            await sandbox.run({}, ["true"])


async def test_a_worker_that_is_alive_and_never_ends_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LATE_S", 0.05)
    async with lying(MemoryBus(), protocol.packed("alive")) as sandbox:
        with pytest.raises(SandboxLostError, match=r"sent no result within 0\.05 s after the time limit"):
            await sandbox.run({}, ["true"], SandboxLimits(time_s=0.05))
