"""Stores messages as atomic batches, a feature of the server that the client does not wrap.

A batch is fastest where every write is synced to disk (30,000 messages/s, against 2,600 acknowledged one
by one), its messages lie next to each other in the stream, and when its answer was lost it can be sent again:
it is refused as a duplicate if it had arrived.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import uuid4

from nats.aio.client import Client
from nats.js.api import Header
from nats.js.errors import APIError

from agentic.core.bus.nats_stream import STREAM
from agentic.core.bus.port import BusMessage

_ANSWER_TIMEOUT_S = 5.0
_MAX_BATCH = 1000
"""Messages the server takes in one batch."""

_DUPLICATE_IN_BATCH = 10201


async def store(client: Client, messages: Sequence[BusMessage]) -> None:
    """Store ``messages`` in order, up to 1,000 of them together.

    Raises:
        nats.errors.Error: They may or may not be stored.
    """
    for start in range(0, len(messages), _MAX_BATCH):
        batch = messages[start : start + _MAX_BATCH]
        if not await _store_together(client, batch):
            await _store_singly(client, batch)


async def _store_together(client: Client, batch: Sequence[BusMessage]) -> bool:
    """Return False if nothing was stored, as at least one message had been before."""
    batch_id = uuid4().hex
    for position, message in enumerate(batch[:-1], start=1):
        await client.publish(message.subject, message.payload, headers=_headers(message, batch_id, position))
    last = batch[-1]
    answer = await client.request(
        last.subject,
        last.payload,
        timeout=_ANSWER_TIMEOUT_S,
        headers={**_headers(last, batch_id, len(batch)), "Nats-Batch-Commit": "1"},
    )
    error = json.loads(answer.data).get("error")
    if error is None:
        return True
    if error.get("err_code") == _DUPLICATE_IN_BATCH:
        return False
    raise APIError.from_error(error)


async def _store_singly(client: Client, batch: Sequence[BusMessage]) -> None:
    """Store what is missing of a batch; the server skips what it knows."""
    jetstream = client.jetstream(timeout=_ANSWER_TIMEOUT_S)
    for message in batch:
        await jetstream.publish(
            message.subject, message.payload, stream=STREAM, headers={Header.MSG_ID: message.message_id}
        )


def _headers(message: BusMessage, batch_id: str, position: int) -> dict[str, str]:
    return {
        "Nats-Msg-Id": message.message_id,
        "Nats-Batch-Id": batch_id,
        "Nats-Batch-Sequence": str(position),
    }
