"""Calls that wait for a person on an open connection: servers with a handshake ask in the middle of a call.

Only this process can continue such a call. Servers of 2026-07-28 ask in rounds, and any process continues.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass, field

from mcp import MCPError, types

from agentic.core.agents import ToolError
from agentic.core.ids import new_id
from agentic.core.types import JSONValue
from agentic.plugins.mcp.wire import CreatedTask

HOLD_S = 3_600.0
"""The longest time that a call waits for a person."""

MAX_HELD = 100

Outcome = types.CallToolResult | types.InputRequiredResult | CreatedTask


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question in the middle of a call.

    Attributes:
        token: Names the call.
        params: The question.
    """

    token: str
    params: types.ElicitRequestParams


@dataclass(slots=True, eq=False)
class _Call:
    """A call on its way."""

    task: asyncio.Task[Outcome]
    loop: asyncio.AbstractEventLoop
    token: str = field(default_factory=new_id)
    asked: asyncio.Queue[types.ElicitRequestParams] = field(default_factory=asyncio.Queue)
    answer: asyncio.Future[types.ElicitResult] | None = None


class HeldCalls:
    """The calls of a connection that can be asked about.

    Args:
        timeout_s: Seconds that a server may take until it replies or asks.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._calls: dict[str, _Call] = {}

    async def begin(self, work: Coroutine[None, None, Outcome]) -> Outcome | AskedQuestion:
        """Return the result of a call, or the question that the server asks during it."""
        call = _Call(asyncio.ensure_future(work), asyncio.get_running_loop())
        self._calls[call.token] = call
        call.task.add_done_callback(lambda _: self._calls.pop(call.token, None))
        return await self._next(call)

    async def resume(self, token: str, answer: types.ElicitResult) -> Outcome | AskedQuestion:
        """Answer the question of a call; return its result, or its next question.

        Raises:
            ToolError: The call is not held here any longer.
        """
        call = self._calls.get(token)
        is_here = call is not None and call.loop is asyncio.get_running_loop()
        if call is None or not is_here or call.answer is None or call.answer.done():
            raise ToolError(
                "the server asked on a connection that is closed now, so the call has ended without a "
                "result; call the tool again"
            )
        call.answer.set_result(answer)
        call.answer = None
        return await self._next(call)

    async def ask(self, params: types.ElicitRequestParams) -> types.ElicitResult | None:
        """Return the answer of a person; None if it is not clear which call asks."""
        asking = [call for call in self._calls.values() if call.answer is None]
        if len(asking) != 1 or len(self._calls) > MAX_HELD:
            return None
        call = asking[0]
        answer: asyncio.Future[types.ElicitResult] = asyncio.get_running_loop().create_future()
        call.answer = answer
        call.asked.put_nowait(params)
        try:
            async with asyncio.timeout(HOLD_S):
                return await answer
        except TimeoutError:
            return types.ElicitResult(action="cancel")

    def close(self) -> None:
        """End all calls."""
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if not call.loop.is_closed():
                call.task.cancel()

    async def _next(self, call: _Call) -> Outcome | AskedQuestion:
        question = asyncio.ensure_future(call.asked.get())
        try:
            await asyncio.wait(
                {call.task, question}, timeout=self._timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
        except asyncio.CancelledError:
            await self._drop(call)
            raise
        finally:
            question.cancel()
        if call.task.done():
            return call.task.result()
        if question.done() and not question.cancelled():
            return AskedQuestion(call.token, question.result())
        await self._drop(call)
        raise MCPError(types.REQUEST_TIMEOUT, "it did not reply in time")

    async def _drop(self, call: _Call) -> None:
        call.task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await call.task


def question_request(params: types.ElicitRequestParams) -> dict[str, JSONValue]:
    """Return the question of a held call, in the form of a round's questions."""
    request: dict[str, JSONValue] = types.ElicitRequest(params=params).model_dump(
        by_alias=True, mode="json", exclude_none=True
    )
    return {"question": request}
