"""Received messages that a listener has not taken yet."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Self

_MOST = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message to all listeners.

    Attributes:
        subject: The subject it was sent to.
        payload: Any bytes.
        reply: Subject for the answer; empty if no answer is expected.
        nobody_listens: It is not an answer: the request had no listener.
    """

    subject: str
    payload: bytes
    reply: str = ""
    nobody_listens: bool = False


class Listener:
    """Returns messages in the order they came, to one taker; a cancelled wait loses no message."""

    def __init__(self) -> None:
        self._heard: asyncio.Queue[Message] = asyncio.Queue(_MOST)

    async def next(self) -> Message:
        """Return the next message, as soon as there is one."""
        return await self._heard.get()

    def take_rest(self) -> list[Message]:
        """Return all messages that were received but not taken."""
        return [self._heard.get_nowait() for _ in range(self._heard.qsize())]

    async def hear(self, message: Message) -> None:
        """Add a message; waits while 65,536 are not yet taken."""
        await self._heard.put(message)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        return await self.next()
