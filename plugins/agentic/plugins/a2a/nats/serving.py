"""Serves an agent on a bus."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP, InternalError
from a2a.utils.errors import A2AError as WireError
from pydantic import ValidationError

from agentic.core.agents import Agent
from agentic.core.bus import Bus, BusError, Listener, Message
from agentic.core.errors import line_of
from agentic.core.logging import get_logger
from agentic.plugins.a2a.nats.buses import opened_bus
from agentic.plugins.a2a.nats.dispatch import answers
from agentic.plugins.a2a.nats.frames import BEAT_S, CallRequest, FrameKind, FrameNumbers, subject_of
from agentic.plugins.a2a.serving.cards import nats_card
from agentic.plugins.a2a.serving.handler import AgentRequests, as_a2a
from agentic.plugins.a2a.serving.service import LEASE_S, MAX_TASKS, SWEEP_S, AgentService
from agentic.plugins.a2a.tasks.log import KEPT_S

log = get_logger(__name__)

GROUP = "servers"
MAX_ANSWERS = 1_000
"""Answers in progress at a time; further requests are refused."""

_INTERNAL = -32603


@asynccontextmanager
async def serve_agent(  # noqa: PLR0913  # limits of a server, all optional
    agent: Agent[Any],
    bus: Bus | str,
    *,
    project: str = "default",
    max_tasks: int = MAX_TASKS,
    lease_s: int = LEASE_S,
    sweep_s: float = SWEEP_S,
    kept_s: float = KEPT_S,
    push_to: Sequence[str] = (),
) -> AsyncGenerator[AgentService, None]:
    """Serve an agent by A2A on a bus, until the block ends.

    Any number of processes may serve the same agent: requests go to one of them, and the tasks of a dead one
    to another. Reach it with :class:`ProxyAgent` and the address ``nats:PROJECT/AGENT``.

    Args:
        agent: The agent. If it has no store, its threads are on the bus.
        bus: The bus, or the URL of a NATS server.
        project: The project that the agent belongs to.
        max_tasks: How many tasks this process works on at a time; others wait.
        lease_s: Seconds after which the task of a dead process goes to another one.
        sweep_s: Seconds between two looks for tasks without a server.
        kept_s: Seconds to keep tasks, if their bucket does not exist yet.
        push_to: Hosts that may get push notifications although they are not public.
    """
    async with opened_bus(bus) as opened:
        service = AgentService(
            agent,
            opened,
            project=project,
            max_tasks=max_tasks,
            lease_s=lease_s,
            sweep_s=sweep_s,
            kept_s=kept_s,
            push_to=push_to,
        )
        async with service.running(), answering_on_bus(service):
            yield service


@asynccontextmanager
async def answering_on_bus(service: AgentService) -> AsyncGenerator[None, None]:
    """Answer requests on the bus of a service until the block ends."""
    subject = subject_of(service.project, service.name)
    async with service.bus.listen(subject, group=GROUP) as requests:
        server = _BusServer(service.bus, AgentRequests(service, nats_card(service.agent, subject)))
        listening = asyncio.create_task(server.listen(requests), name=f"a2a-bus-{service.agent.name}")
        try:
            yield
        finally:
            listening.cancel()
            await asyncio.wait([listening])
            await server.stop()


class _BusServer:
    def __init__(self, bus: Bus, handler: AgentRequests) -> None:
        self._bus = bus
        self._handler = handler
        self._answering: set[asyncio.Task[None]] = set()

    async def listen(self, requests: Listener) -> None:
        async for request in requests:
            if not request.reply:
                continue
            task = asyncio.create_task(self._answer(request), name="a2a-answer")
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def stop(self) -> None:
        answering = list(self._answering)
        for task in answering:
            task.cancel()
        if answering:
            await asyncio.wait(answering)

    async def _answer(self, request: Message) -> None:
        try:
            await _Answer(self._bus, request.reply).send(self._values(request))
        except BusError as exc:
            log.warning("a2a.answer_lost", error=line_of(exc))

    async def _values(self, request: Message) -> AsyncGenerator[dict[str, Any], None]:
        if len(self._answering) > MAX_ANSWERS:
            raise InternalError("the server is busy; ask again later")
        try:
            asked = CallRequest.model_validate_json(request.payload)
        except ValidationError as exc:
            raise InternalError(f"not a request: {exc.error_count()} faults") from None
        async with aclosing(answers(self._handler, lambda: self._handler.card, asked)) as values:
            async for value in values:
                yield value


class _Answer:
    """One answer; it ends when its caller has gone."""

    def __init__(self, bus: Bus, inbox: str) -> None:
        self._bus = bus
        self._inbox = inbox
        self._frames = FrameNumbers()

    async def send(self, values: AsyncGenerator[dict[str, Any], None]) -> None:
        back = self._bus.inbox()
        async with self._bus.listen(back) as notices:
            sending = asyncio.create_task(self._send_all(values, back), name="a2a-frames")
            leaving = asyncio.create_task(_until_gone(notices), name="a2a-caller")
            try:
                await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (sending, leaving):
                    task.cancel()
                await asyncio.wait({sending, leaving})
        if not sending.cancelled() and (fault := sending.exception()) is not None:
            raise fault

    async def _send_all(self, values: AsyncGenerator[dict[str, Any], None], back: str) -> None:
        coming: asyncio.Task[dict[str, Any] | None] | None = None
        try:
            while True:
                coming = coming or asyncio.create_task(_next(values))
                await asyncio.wait({coming}, timeout=BEAT_S)
                if not coming.done():
                    await self._frame(FrameKind.BEAT, back)
                    continue
                value, coming = coming.result(), None
                if value is None:
                    await self._frame(FrameKind.END, back)
                    return
                for frame in self._frames.value(json.dumps(value, separators=(",", ":"))):
                    await self._bus.send(self._inbox, frame.encoded(), reply=back)
        except (WireError, BusError) as exc:
            await self._fail(exc, back)
        except Exception as exc:  # the caller gets an error of the protocol
            await self._fail(as_a2a(exc), back)
        finally:
            if coming is not None:
                coming.cancel()
                await asyncio.wait([coming])
            await values.aclose()

    async def _fail(self, exc: Exception, back: str) -> None:
        if isinstance(exc, BusError):
            raise exc
        kind = type(exc) if isinstance(exc, WireError) else InternalError
        code = JSON_RPC_ERROR_CODE_MAP.get(kind, _INTERNAL)
        await self._frame(FrameKind.ERROR, back, str(exc), code)

    async def _frame(self, kind: FrameKind, back: str, text: str = "", code: int = 0) -> None:
        await self._bus.send(self._inbox, self._frames.frame(kind, text, code=code).encoded(), reply=back)


async def _next(values: AsyncGenerator[dict[str, Any], None]) -> dict[str, Any] | None:
    return await anext(values, None)


async def _until_gone(notices: Listener) -> None:
    while not (await notices.next()).nobody_listens:
        pass
