"""Requests: a message, and the first answer to it."""

from __future__ import annotations

import asyncio

from agentic.core.bus.errors import NoAnswerError, NobodyListensError
from agentic.core.bus.port import Bus


async def request(bus: Bus, subject: str, payload: bytes, *, timeout_s: float = 5.0) -> bytes:
    """Send a message and return the first answer.

    Args:
        bus: Where to.
        subject: Who is asked.
        payload: What is asked.
        timeout_s: Until an answer has to be there.

    Raises:
        NobodyListensError: There is nobody who would answer.
        NoAnswerError: Nobody did in time.
        BusUnavailableError: The server cannot be used.
        MessageTooLargeError: The message is larger than the bus takes.
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
