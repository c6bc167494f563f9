"""Reads newest messages by subject, one or many per request, a feature that the client does not wrap.

The server answers directly from the stream (ADR-31 of NATS), without a consumer.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

_ANSWER_S = 5.0
_MAX_SUBJECTS = 500
"""Messages per request; the server allows 1,024."""

_MAX_BYTES = 16 * 1024 * 1024
"""Bytes per request: below the limit at which a subscription of the client drops messages."""

_MISSING = "404"
_END = "204"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastMessage:
    """The newest message of a subject; ``headers`` are its stored ones, and the server's own."""

    subject: str
    payload: bytes
    sequence: int
    headers: Mapping[str, str]


async def read_last(client: Client, stream: str, subject: str) -> LastMessage | None:
    """Return the newest message of a subject, None if it has none.

    Raises:
        nats.errors.Error: The server does not answer, or refuses.
    """
    answer = await client.request(f"$JS.API.DIRECT.GET.{stream}.{subject}", b"", timeout=_ANSWER_S)
    if (status := _status(answer)) is None:
        return _stored(answer)
    if status == _MISSING:
        return None
    raise nats.errors.Error(_fault(answer))


async def read_lasts(client: Client, stream: str, subjects: Sequence[str]) -> list[LastMessage]:
    """Return the newest message of each subject that has one, oldest first within each 500.

    Raises:
        nats.errors.Error: The server does not answer, or refuses.
    """
    return [
        message
        for start in range(0, len(subjects), _MAX_SUBJECTS)
        async for message in _lasts(client, stream, subjects[start : start + _MAX_SUBJECTS])
    ]


async def _lasts(client: Client, stream: str, subjects: Sequence[str]) -> AsyncGenerator[LastMessage, None]:
    inbox = client.new_inbox()
    subscription = await client.subscribe(inbox)
    asked: dict[str, Any] = {"multi_last": list(subjects), "max_bytes": _MAX_BYTES, "batch": len(subjects)}
    try:
        while True:
            await client.publish(f"$JS.API.DIRECT.GET.{stream}", json.dumps(asked).encode(), reply=inbox)
            while (status := _status(answer := await subscription.next_msg(timeout=_ANSWER_S))) is None:
                yield _stored(answer)
            if status == _MISSING:
                return
            headers = answer.headers or {}
            if status != _END:
                raise nats.errors.Error(_fault(answer))
            if int(headers.get("Nats-Num-Pending", "0")) == 0:
                return
            asked["seq"] = int(headers["Nats-Last-Sequence"]) + 1
            asked["up_to_seq"] = int(headers["Nats-UpTo-Sequence"])
    finally:
        if not client.is_closed:
            await subscription.unsubscribe()


def _status(answer: Msg) -> str | None:
    return None if answer.data or not answer.headers else answer.headers.get("Status")


def _fault(answer: Msg) -> str:
    headers = answer.headers or {}
    return f"{headers.get('Status', '')} {headers.get('Description', '')}".strip() or "an empty answer"


def _stored(answer: Msg) -> LastMessage:
    headers = answer.headers or {}
    return LastMessage(
        subject=headers["Nats-Subject"],
        payload=answer.data,
        sequence=int(headers["Nats-Sequence"]),
        headers=headers,
    )
