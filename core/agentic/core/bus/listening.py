"""What a listener has heard and not yet taken."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Self

_MOST = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What somebody sent to whoever listens.

    Attributes:
        subject: Where it was sent.
        payload: Any bytes.
        reply: Where an answer is waited for; empty where none is.
        nobody_listens: It is no answer: nobody heard what was to be answered.
    """

    subject: str
    payload: bytes
    reply: str = ""
    nobody_listens: bool = False


class Listener:
    """Gives messages in the order they came, to one taker; to be cancelled while it waits loses none."""

    def __init__(self) -> None:
        self._heard: asyncio.Queue[Message] = asyncio.Queue(_MOST)

    async def next(self) -> Message:
        """Return the next message, as soon as there is one."""
        return await self._heard.get()

    def take_rest(self) -> list[Message]:
        """Return all that was heard and not taken."""
        return [self._heard.get_nowait() for _ in range(self._heard.qsize())]

    async def hear(self, message: Message) -> None:
        """Note a message; waits while 65,536 are not yet taken."""
        await self._heard.put(message)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        return await self.next()
