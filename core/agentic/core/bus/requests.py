"""Requests: a message, and the first answer to it."""

from __future__ import annotations

import asyncio

from agentic.core.bus.errors import NoAnswerError, NobodyListensError
from agentic.core.bus.port import Bus


async def request(bus: Bus, subject: str, payload: bytes, *, timeout_s: float = 5.0) -> bytes:
    """Send a message and return the first answer.

    Args:
        bus: The bus.
        subject: The subject of the service.
        payload: The request.
        timeout_s: Seconds to wait for an answer.

    Raises:
        NobodyListensError: The subject has no listener.
        NoAnswerError: No answer came in time.
        BusUnavailableError: The server cannot be used.
        MessageTooLargeError: The message is larger than the bus accepts.
    """
    inbox = bus.inbox()
    async with bus.listen(inbox) as answers:
        await bus.send(subject, payload, reply=inbox)
        try:
            async with asyncio.timeout(timeout_s):
                answer = await answers.next()
        except TimeoutError:
            raise NoAnswerError(subject, timeout_s, bus.last_error) from None
    if answer.nobody_listens:
        raise NobodyListensError(subject)
    return answer.payload
