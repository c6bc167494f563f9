"""Runs jobs in the sandbox of a worker elsewhere."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import ClassVar, cast

from agentic.core.bus import Bus, BusError, Listener
from agentic.core.sandbox import errors
from agentic.core.sandbox.collecting import held_to_limits
from agentic.core.sandbox.errors import SandboxError, SandboxLostError, SandboxUnavailableError
from agentic.core.sandbox.model import SandboxJob, SandboxResult
from agentic.core.sandbox.remote.protocol import (
    ALIVE_S,
    LATE_S,
    SILENT_S,
    Assembly,
    Head,
    end,
    packed,
    pieces_of,
    subject_of,
    unpacked,
)
from agentic.core.sandbox.sandbox import OnOutput, Sandbox

_KNOWN = ("SandboxError", "SandboxFileError")


class RemoteSandbox(Sandbox):
    """Runs commands on a worker that :func:`serve_sandbox` has started, over NATS or another bus.

    A job runs at most once: when its worker is lost, the run fails with :class:`SandboxLostError`.

    Args:
        bus: The bus. Everyone who can send on it can run commands in these sandboxes.
        pool: Name of the workers.
        wait_s: Seconds to wait for a free place.
    """

    kind: ClassVar[str] = "remote"

    def __init__(self, bus: Bus, pool: str = "default", *, wait_s: float = 60.0) -> None:
        self._bus = bus
        self.pool = pool
        self.wait_s = wait_s

    async def run_job(self, job: SandboxJob, on_output: OnOutput | None = None) -> SandboxResult:
        """Run a job; see :meth:`Sandbox.run`."""
        inbox = self._bus.inbox()
        try:
            async with self._bus.listen(inbox) as heard:
                worker = await self._offered(heard, inbox)
                return await self._run(worker, inbox, heard, job, on_output)
        except BusError as exc:
            raise SandboxUnavailableError(self.kind, f"the bus failed: {exc}") from exc

    async def _offered(self, heard: Listener, inbox: str) -> str:
        """Return the subject of a worker with a free place; ask again until there is one."""
        until = time.monotonic() + self.wait_s
        while time.monotonic() < until:
            await self._bus.send(subject_of(self.pool), packed("ask"), reply=inbox)
            with suppress(TimeoutError):
                async with asyncio.timeout(min(ALIVE_S, max(until - time.monotonic(), 0.001))):
                    while True:
                        message = await heard.next()
                        if message.nobody_listens:
                            await asyncio.sleep(ALIVE_S)
                        elif message.reply and _head(message.payload).kind == "offer":
                            return message.reply
        raise SandboxUnavailableError(
            self.kind,
            f"no worker of the pool {self.pool!r} had a free place in {self.wait_s:g} s",
            "start a worker",
        )

    async def _run(
        self, worker: str, inbox: str, heard: Listener, job: SandboxJob, on_output: OnOutput | None
    ) -> SandboxResult:
        async def live() -> None:
            while True:
                await asyncio.sleep(ALIVE_S)
                with suppress(BusError):
                    await self._bus.send(worker, packed("alive"), reply=inbox)

        living = asyncio.ensure_future(live())
        try:
            content = job.model_dump_json(exclude_defaults=True).encode()
            for number, piece, is_last in pieces_of(content):
                await self._bus.send(
                    worker, packed("job", piece, number=number, is_last=is_last), reply=inbox
                )
            async with asyncio.timeout(job.limits.time_s + LATE_S):
                return await self._result(heard, job, on_output)
        except TimeoutError:
            await self._bus.send(worker, packed("cancel"))
            raise SandboxLostError(
                self.kind, f"its worker sent no result within {LATE_S:g} s after the time limit"
            ) from None
        except asyncio.CancelledError:
            await self._cancel(worker, heard)
            raise
        finally:
            await end(living)

    async def _result(self, heard: Listener, job: SandboxJob, on_output: OnOutput | None) -> SandboxResult:
        result = Assembly()
        left = dict.fromkeys(("stdout", "stderr"), job.limits.output_bytes)
        while True:
            head, piece = await self._heard(heard)
            match head.kind:
                case "stdout" | "stderr" if on_output is not None:
                    if shown := piece[: left[head.kind]]:
                        left[head.kind] -= len(shown)
                        on_output(head.kind, shown)
                case "failed":
                    raise _error_of(head, self.pool)
                case "result":
                    try:
                        whole = result.add(head, piece)
                        if whole is not None:
                            return held_to_limits(SandboxResult.model_validate_json(whole), job)
                    except ValueError as exc:
                        raise SandboxLostError(self.kind, "its result is damaged") from exc
                case _:
                    pass

    async def _heard(self, heard: Listener) -> tuple[Head, bytes]:
        while True:
            try:
                async with asyncio.timeout(SILENT_S):
                    message = await heard.next()
            except TimeoutError:
                raise SandboxLostError(self.kind, f"its worker was silent for {SILENT_S:g} s") from None
            if message.nobody_listens:
                raise SandboxLostError(self.kind, "its worker has ended")
            with suppress(ValueError):
                head, piece = unpacked(message.payload)
                if head.kind != "offer":
                    return head, piece
                if message.reply:  # of a worker that is not needed: its place is free again
                    await self._bus.send(message.reply, packed("cancel"))

    async def _cancel(self, worker: str, heard: Listener) -> None:
        """End the run of a worker, and wait until it has ended."""
        with suppress(BusError, TimeoutError, SandboxError):
            await self._bus.send(worker, packed("cancel"))
            async with asyncio.timeout(SILENT_S):
                while (await self._heard(heard))[0].kind not in {"failed", "result"}:
                    pass


def _head(payload: bytes) -> Head:
    try:
        return unpacked(payload)[0]
    except ValueError:
        return Head(kind="alive")


def _error_of(head: Head, pool: str) -> SandboxError:
    if head.error in _KNOWN:
        return cast("type[SandboxError]", getattr(errors, head.error))(head.text)
    return SandboxUnavailableError("remote", f"a worker of the pool {pool!r} failed: {head.text}")
