"""The stream of events, as the server is told to keep it."""

from __future__ import annotations

from dataclasses import replace

from nats.aio.client import Client
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StoreCompression, StreamConfig
from nats.js.errors import NotFoundError

from agentic.core.bus.subjects import EVENT_SUBJECTS

STREAM = "AGENTIC_EVENTS"
MIN_API_LEVEL = 2
"""JetStream API level of nats-server 2.12, the first with atomic batches."""

DUPLICATE_WINDOW_S = 600.0

_AS_CREATED = StreamConfig(
    name=STREAM,
    description="Everything that happens in runs",
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


async def ensure_stream(client: Client) -> None:
    """Make the stream, or add what it lacks.

    What an operator may have set otherwise (age, size, replicas) is left as it is: an update with other
    values than the stored ones would undo it at every start.

    Raises:
        nats.errors.Error: The server refuses, or has no JetStream.
    """
    jetstream = client.jetstream()
    try:
        found = (await jetstream.stream_info(STREAM)).config
    except NotFoundError:
        await jetstream.add_stream(_AS_CREATED)
        return
    needed = replace(
        found,
        subjects=sorted({*(found.subjects or ()), *EVENT_SUBJECTS}),
        allow_atomic=True,
    )
    if set(needed.subjects or ()) != set(found.subjects or ()) or not found.allow_atomic:
        await jetstream.update_stream(needed)
