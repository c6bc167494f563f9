"""The rows of the tables of NATS, and of mappers."""

from __future__ import annotations

from tests.bench.rows import Row

ON_NATS = (
    Row(
        name="bus-publish",
        what="event published from a process, until the server has it on disk (no engine: a message)",
        peers=("plain",),
    ),
    Row(
        name="bus-publish-rate",
        what="the same, on the clock",
        figure="events_s",
        unit="events/s",
        better="more",
        peers=("plain",),
        case="bus-publish",
    ),
    Row(
        name="bus-outbox",
        what="durable events that leave the ledger (SQLite, FULL), and are noted as published",
        figure="events_s",
        unit="events/s",
        better="more",
        target=2_500,
    ),
    Row(
        name="bus-wide",
        what="the same of a run over a list of 10,000 items",
        figure="events_s",
        unit="events/s",
        better="more",
    ),
    Row(
        name="bus-wide-server",
        what="what the server takes for each of them",
        figure="server_us",
        case="bus-wide",
    ),
    Row(
        name="bus-wide-memory",
        what="what it holds then, resident",
        figure="server_mib",
        unit="MiB",
        case="bus-wide",
    ),
    Row(
        name="bus-project",
        what="events that the buckets of live state and patterns follow",
        figure="events_s",
        unit="events/s",
        better="more",
    ),
    Row(
        name="bus-watch",
        what="from the begin of writing a key until one who watches has it, median",
        figure="p50_ms",
        unit="ms",
        target=2,
        peers=("plain",),
    ),
    Row(
        name="bus-watch-late",
        what="the same, 95 of 100",
        figure="p95_ms",
        unit="ms",
        peers=("plain",),
        case="bus-watch",
    ),
)

MAPPERS = tuple(
    Row(
        name=f"mapper-{database}-{kind}" if kind != "new" else f"mapper-{database}",
        what=f"10,000 rows upserted into {name}, {what}",
        figure=f"{kind}_s",
        unit="s",
        target=1,
        case=f"mapper-{database}",
    )
    for database, name in (("sqlite", "SQLite"), ("postgres", "PostgreSQL"))
    for kind, what in (("new", "all new"), ("unchanged", "all as they were"), ("changed", "all changed"))
)
