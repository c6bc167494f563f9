"""Serves a sandbox of this machine to clients elsewhere."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Literal

from agentic.core.bus import Bus, BusError, Listener, Message
from agentic.core.errors import line_of, text_of
from agentic.core.logging import get_logger
from agentic.core.sandbox.errors import SandboxError, SandboxFileError
from agentic.core.sandbox.model import SandboxJob, SandboxLimits
from agentic.core.sandbox.remote.protocol import (
    ALIVE_S,
    OFFER_S,
    SILENT_S,
    Assembly,
    end,
    packed,
    pieces_of,
    subject_of,
    unpacked,
)
from agentic.core.sandbox.sandbox import Sandbox

log = get_logger(__name__)


async def serve_sandbox(
    bus: Bus,
    sandbox: Sandbox,
    pool: str = "default",
    *,
    max_parallel: int = 4,
    most: SandboxLimits | None = None,
) -> None:
    """Serve a sandbox until cancelled; its runs are ended then.

    Args:
        bus: The bus.
        sandbox: The sandbox.
        pool: Name of the workers.
        max_parallel: Runs at a time. A worker with none free makes no offers.
        most: The highest limits that a client may ask for; a job with higher ones is refused.
    """
    worker = _Worker(bus, sandbox, most)
    async with bus.listen(subject_of(pool)) as asked, asyncio.TaskGroup() as runs:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # until Python 3.12, `wait_for` in clients may lose that
            raise asyncio.CancelledError
        running: set[asyncio.Task[None]] = set()
        async for message in asked:
            if message.reply and len(running) < max_parallel:
                run = runs.create_task(worker.serve(message))
                running.add(run)
                run.add_done_callback(running.discard)


class _Worker:
    def __init__(self, bus: Bus, sandbox: Sandbox, most: SandboxLimits | None) -> None:
        self._bus = bus
        self._sandbox = sandbox
        self._most = most

    async def serve(self, asked: Message) -> None:
        """Offer a place; run a job if one comes for it."""
        inbox = self._bus.inbox()
        with suppress(BusError, TimeoutError, ValueError):
            async with self._bus.listen(inbox) as heard:
                await self._bus.send(asked.reply, packed("offer"), reply=inbox)
                async with asyncio.timeout(OFFER_S):
                    content = await _job(heard)
                if content is not None:
                    await self._run(content, asked.reply, heard)

    async def _run(self, content: bytes, client: str, heard: Listener) -> None:
        output: asyncio.Queue[bytes] = asyncio.Queue()
        run = asyncio.ensure_future(self._messages(content, output))
        others = [
            asyncio.ensure_future(_client_is_gone(heard)),
            asyncio.ensure_future(self._forward(output, client)),
        ]
        try:
            await asyncio.wait([run, others[0]], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end(run, *others)
        rest = [output.get_nowait() for _ in range(output.qsize())]
        ended = [packed("failed", text="the run was cancelled")] if run.cancelled() else run.result()
        for message in (*rest, *ended):
            await self._bus.send(client, message)

    async def _messages(self, content: bytes, output: asyncio.Queue[bytes]) -> list[bytes]:
        """Run a job; return the messages with its result, or its failure."""

        def keep(name: Literal["stdout", "stderr"], piece: bytes) -> None:
            output.put_nowait(packed(name, piece))

        try:
            result = await self._sandbox.run_job(self._checked(content), keep)
            pieces = pieces_of(result.model_dump_json(exclude_defaults=True).encode())
        except SandboxError as exc:
            return [packed("failed", error=type(exc).__name__, text=text_of(exc))]
        except Exception as exc:  # the jobs of other clients go on
            log.exception("sandbox_job.failed")
            return [packed("failed", text=line_of(exc))]
        return [packed("result", piece, number=number, is_last=is_last) for number, piece, is_last in pieces]

    def _checked(self, content: bytes) -> SandboxJob:
        try:
            job = SandboxJob.model_validate_json(content)
        except ValueError:
            raise SandboxFileError(
                "the worker cannot read the job: its version is another one; update the older side"
            ) from None
        for name in SandboxLimits.model_fields if self._most else ():
            asked, most = getattr(job.limits, name), getattr(self._most, name)
            if asked > most:
                raise SandboxFileError(f"{name} is {asked:g}, but the worker allows {most:g}; ask for less")
        return job

    async def _forward(self, output: asyncio.Queue[bytes], client: str) -> None:
        """Send output as it comes, and signs of life between."""
        while True:
            message = packed("alive")
            with suppress(TimeoutError):
                async with asyncio.timeout(ALIVE_S):
                    message = await output.get()
            with suppress(BusError):
                await self._bus.send(client, message)


async def _job(heard: Listener) -> bytes | None:
    """Return the job of a client; None if another worker got it."""
    job = Assembly()
    while True:
        head, piece = unpacked((await heard.next()).payload)
        if head.kind == "cancel":
            return None
        if head.kind == "job" and (content := job.add(head, piece)) is not None:
            return content


async def _client_is_gone(heard: Listener) -> None:
    """Return when the client cancels, or is silent for too long."""
    with suppress(TimeoutError):
        while True:
            async with asyncio.timeout(SILENT_S):
                message = await heard.next()
            with suppress(ValueError):
                if unpacked(message.payload)[0].kind == "cancel":
                    return
