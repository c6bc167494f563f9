"""The configuration of streams and buckets on the server."""

from __future__ import annotations

from dataclasses import replace

from nats.aio.client import Client
from nats.js.api import (
    DiscardPolicy,
    PersistMode,
    RetentionPolicy,
    StorageType,
    StoreCompression,
    StreamConfig,
)
from nats.js.errors import NotFoundError

from agentic.core.bus.subjects import AUDIT_SUBJECTS, EVENT_SUBJECTS, METRICS_SUBJECTS

STREAM = "AGENTIC_EVENTS"
MIN_API_LEVEL = 2
"""JetStream API level of nats-server 2.12, the first with atomic batches."""

DUPLICATE_WINDOW_S = 600.0
_KNOWN_WRITES_S = 120.0

EVENTS = StreamConfig(
    name=STREAM,
    description="All events of runs",
    subjects=list(EVENT_SUBJECTS),
    storage=StorageType.FILE,
    compression=StoreCompression.S2,
    retention=RetentionPolicy.LIMITS,
    discard=DiscardPolicy.OLD,
    max_age=7 * 86_400.0,
    max_bytes=1024**3,
    duplicate_window=DUPLICATE_WINDOW_S,
    allow_direct=True,
    allow_msg_ttl=True,
    allow_atomic=True,
    metadata={"agentic.schema": "1"},
)

AUDIT_STREAM = "AGENTIC_AUDIT"

AUDIT = StreamConfig(
    name=AUDIT_STREAM,
    description="Who decided what, and why: kept forever",
    subjects=list(AUDIT_SUBJECTS),
    storage=StorageType.FILE,
    compression=StoreCompression.S2,
    retention=RetentionPolicy.LIMITS,
    # A full stream refuses new messages. No one can unset either flag, not even an operator.
    discard=DiscardPolicy.NEW,
    deny_delete=True,
    deny_purge=True,
    max_bytes=512 * 1024**2,
    # Decisions are rare: the server keeps their ids in memory for a day.
    duplicate_window=86_400.0,
    allow_direct=True,
    allow_atomic=True,
    metadata={"agentic.schema": "1"},
)

METRICS = StreamConfig(
    name="AGENTIC_METRICS",
    description="Speed of executors, kept for a day",
    subjects=list(METRICS_SUBJECTS),
    storage=StorageType.FILE,
    compression=StoreCompression.S2,
    retention=RetentionPolicy.LIMITS,
    discard=DiscardPolicy.OLD,
    max_age=86_400.0,
    max_msgs_per_subject=1_000,
    duplicate_window=DUPLICATE_WINDOW_S,
    allow_direct=True,
    # A power cut may lose some measurements of a day: that is harmless. This stream accepts no batches.
    persist_mode=PersistMode.ASYNC,
    metadata={"agentic.schema": "1"},
)


def bucket_config(name: str, ttl_s: float | None) -> StreamConfig:
    """Return the configuration of a bucket: a stream that NATS's own tools know, one message for each key.

    It has no limit markers: with them, an expired key is read as an empty value, and cannot be created
    again. It has no history: with it, when a value expires, the previous one comes back.
    """
    return StreamConfig(
        name=f"KV_{name}",
        subjects=[f"$KV.{name}.>"],
        storage=StorageType.FILE,
        compression=StoreCompression.S2,
        retention=RetentionPolicy.LIMITS,
        discard=DiscardPolicy.NEW,
        max_msgs_per_subject=1,
        max_age=ttl_s,
        # The server recognizes a repeated write within this time, if its answer was lost.
        duplicate_window=min(_KNOWN_WRITES_S, ttl_s or _KNOWN_WRITES_S),
        allow_direct=True,
        allow_rollup_hdrs=True,
        deny_delete=True,
        allow_msg_ttl=True,
        allow_atomic=True,
        metadata={"agentic.schema": "1"},
    )


async def ensure_stream(client: Client, config: StreamConfig) -> None:
    """Create a stream, or add missing settings.

    Settings that an operator may have changed (age, size, replicas) are kept: an update with other values
    would undo them at every start.

    Raises:
        nats.errors.Error: The server refuses, or has no JetStream.
    """
    jetstream = client.jetstream()
    try:
        found = (await jetstream.stream_info(name_of(config))).config
    except NotFoundError:
        await jetstream.add_stream(config)
        return
    needed = replace(
        found,
        subjects=sorted({*(found.subjects or ()), *(config.subjects or ())}),
        allow_atomic=found.allow_atomic or config.allow_atomic,
        allow_direct=True,
        allow_msg_ttl=found.allow_msg_ttl or config.allow_msg_ttl,
        deny_delete=found.deny_delete or config.deny_delete,
        deny_purge=found.deny_purge or config.deny_purge,
    )
    if _needs(needed) != _needs(found):
        await jetstream.update_stream(needed)


def name_of(config: StreamConfig) -> str:
    """Return the name of a stream."""
    return config.name or ""


def _needs(config: StreamConfig) -> tuple[object, ...]:
    flags = (config.allow_msg_ttl, config.deny_delete, config.deny_purge)
    return set(config.subjects or ()), config.allow_atomic, config.allow_direct, *map(bool, flags)
