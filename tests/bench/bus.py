"""This project's rows on NATS, at ``sync_interval: always``: ``python -m tests.bench.bus bus-outbox``."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import psutil
from tests.bench.engine import loop, mapping
from tests.bench.ledger import opened
from tests.bench.measuring import Figures, Stopwatch, main, scratch

from agentic.core import Workflow
from agentic.core.bus import EventPublisher
from agentic.core.bus.nats.bus import NatsBus
from agentic.core.bus.projections.projector import Projector
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.ledger import LedgerStore
from agentic.core.services import ServiceSupervisor, nats_service
from agentic.core.types import RunId
from agentic.executors.durable import Submission, WorkflowCatalog
from agentic.executors.durable.publish.outbox import Outbox
from agentic.executors.durable.runs.local import LocalDispatcher
from agentic.executors.durable.runs.service import RunService
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.worker import Bounds, DurableWorker

EVENTS = 20_000
STEPS = 2_000
WIDE = 10_000
PUTS = 500
PAYLOAD = "x" * 200

Measure = Callable[[NatsBus], Awaitable[Figures]]


@asynccontextmanager
async def server() -> AsyncIterator[str]:
    """Give the URL of a server of its own, as ``agentic up`` starts it."""
    with scratch() as folder:
        home = Path(folder)
        async with ServiceSupervisor(home, [nats_service(home)]) as supervisor:
            yield supervisor.urls["nats"]


def on_bus(measure: Measure) -> Callable[[], Figures]:
    """Return a case that measures on a server of its own."""

    async def run() -> Figures:
        async with server() as url:
            bus = NatsBus(url)
            await bus.state()  # connects
            figures = await measure(bus)
            await bus.aclose()
            return figures

    return lambda: asyncio.run(run())


async def publish(bus: NatsBus) -> Figures:
    """Return what it takes to publish an event, until the server has it on disk."""
    events = [
        WorkflowEvent(
            kind=EventKind.EXECUTOR_COMPLETED,
            run_id=RunId("r"),
            time=1.0,
            sequence=number,
            path="fetch",
            data={"outputs": [PAYLOAD]},
        )
        for number in range(1, EVENTS + 1)
    ]
    watch = Stopwatch()
    async with EventPublisher(bus, "bench") as publisher:
        for event in events:
            await publisher.publish(event)
    cost = watch.read()
    assert publisher.published == (await bus.state()).count == EVENTS
    return {"cpu_us": cost.cpu_s / EVENTS * 1e6, "events_s": EVENTS / cost.wall_s}


async def outbox(bus: NatsBus) -> Figures:
    """Return how fast the events of a run leave the ledger in SQLite, FULL, that all wait there."""
    return await _published(bus, lambda: loop(STEPS), 0)


async def wide(bus: NatsBus) -> Figures:
    """Return the same for a run over a list of 10,000, and what the server takes for it."""
    return await _published(bus, lambda: mapping(WIDE), WIDE)


async def _published(bus: NatsBus, build: Callable[[], Workflow], message: int) -> Figures:
    (server,) = [one for one in psutil.Process().children(recursive=True) if one.name() == "nats-server"]
    with opened("full") as ledger:
        service = await _run(ledger, build, message)
        out = Outbox(service.host.ledger_executor, "bench", bus)
        before = sum(server.cpu_times()[:2])
        watch = Stopwatch()
        count = await out.publish_all()
        cost = watch.read()
        server_s = sum(server.cpu_times()[:2]) - before
        service.close()
    assert count == (await bus.state()).count
    return {
        "cpu_us": cost.cpu_s / count * 1e6,
        "events_s": count / cost.wall_s,
        "server_us": server_s / count * 1e6,
        "server_mib": server.memory_info().rss / 1024**2,
    }


async def _run(ledger: LedgerStore, build: Callable[[], Workflow], message: int) -> RunService:
    service = RunService(
        RunHost(
            store=ledger,
            catalog=WorkflowCatalog({"flow": build}),
            dispatcher=LocalDispatcher(),
            is_alone=True,
        )
    )
    await service.submit("flow", message, Submission(is_told=False))
    worker = DurableWorker(service.host, Bounds(activations=10**9, seconds=1e9))
    while (await worker.work()).done:
        pass
    return service


async def project(bus: NatsBus) -> Figures:
    """Return how fast the buckets of live state and of patterns follow the stream of a run."""
    async with EventPublisher(bus, "bench") as publisher:
        async for event in loop(STEPS).run_stream(0):
            if event.sequence is not None:
                await publisher.publish(event)
    count = (await bus.state()).count
    projector = Projector(bus, "bench")
    watch = Stopwatch()
    while await projector.look():
        pass
    cost = watch.read()
    return {"cpu_us": cost.cpu_s / count * 1e6, "events_s": count / cost.wall_s}


async def watch(bus: NatsBus) -> Figures:
    """Return how long after a key was begun to be written one who watches has its value."""
    bucket = bus.bucket("BENCH", project="bench")
    await bucket.put("key", b"")
    delays: list[float] = []
    async with aclosing(bucket.watch("key")) as changes:
        await anext(changes)
        for _ in range(PUTS):
            began = time.perf_counter()
            writing = asyncio.ensure_future(bucket.put("key", PAYLOAD.encode()))
            await anext(changes)
            delays.append((time.perf_counter() - began) * 1e3)
            await writing
    return {"p50_ms": statistics.median(delays), "p95_ms": statistics.quantiles(delays, n=20)[-1]}


CASES: dict[str, Callable[[], Figures]] = {
    f"bus-{measure.__name__}": on_bus(measure) for measure in (publish, outbox, wide, project, watch)
}

if __name__ == "__main__":
    main(CASES, dict)
