"""The handle of an accepted run, for its caller."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from agentic.core.graph.checkpoints.restore import restore
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.result import RunResult, RunStatus
from agentic.core.ledger import RunRow, UnknownRunError
from agentic.core.ledger.batches import read_batch
from agentic.core.types import RunId
from agentic.executors.durable.runs.children import has_stopping, info_of
from agentic.executors.durable.runs.control import answer, cancel, pause, resume
from agentic.executors.durable.worker.host import RunHost

_FIRST_LOOK_S = 0.02
_LAST_LOOK_S = 0.5


class AsyncRunHandle:
    """An accepted run.

    Args:
        host: The parts of this process.
        run_id: The run.
    """

    def __init__(self, host: RunHost, run_id: str) -> None:
        self.run_id = RunId(run_id)
        self._host = host

    async def row(self) -> RunRow:
        """Return the run's row in the ledger.

        Raises:
            UnknownRunError: The run does not exist.
        """
        run = await self._host.ledger_executor.do(lambda ledger: ledger.run(self.run_id))
        if run is None:
            raise UnknownRunError(self.run_id)
        return run

    async def status(self) -> RunStatus:
        """Return the run's status. Raises as :meth:`row`."""
        return (await self.row()).status

    async def result(self, timeout_s: float | None = None) -> RunResult:
        """Wait until the run has ended, or waits for answers, and return its result.

        A failed run has a result, too: its ``error`` says why.

        Raises:
            UnknownRunError: The run does not exist.
            TimeoutError: The run is still active.
        """
        return await self._read(await self.rest(timeout_s))

    async def rest(self, timeout_s: float | None = None) -> RunRow:
        """Wait until the run has ended, or waits for answers. Raises as :meth:`result`."""
        async with asyncio.timeout(timeout_s):
            pause_s = _FIRST_LOOK_S
            while (run := await self.row()).status is RunStatus.RUNNING:
                await self._host.waiters.wait(self.run_id, pause_s)
                pause_s = min(pause_s * 1.3, _LAST_LOOK_S)
        return run

    async def rest_of_children(self, timeout_s: float | None = None) -> None:
        """Wait until all child runs that were stopped with the run have ended, too.

        Raises:
            TimeoutError: One is still active.
        """
        async with asyncio.timeout(timeout_s):
            while await self._host.ledger_executor.do(lambda ledger: has_stopping(ledger, self.run_id)):  # noqa: ASYNC110
                await asyncio.sleep(_FIRST_LOOK_S)

    async def events(self, after: int = 0) -> list[WorkflowEvent]:
        """Return the run's durable events after a sequence number, in order."""
        found: list[WorkflowEvent] = []
        while batches := await self._host.ledger_executor.do(
            lambda ledger: ledger.events(self.run_id, after=after)  # noqa: B023
        ):
            found += [event for batch in batches for event in read_batch(batch)]
            after = batches[-1].last
        return found

    async def answer(self, responses: Mapping[str, object], answered_by: str = "") -> None:
        """Answer requests of the run; see :func:`agentic.executors.durable.runs.control.answer`."""
        await answer(self._host, self.run_id, responses, answered_by)

    async def resume(self) -> None:
        """Continue the run; see :func:`agentic.executors.durable.runs.control.resume`."""
        await resume(self._host, self.run_id)

    async def cancel(self, reason: str = "cancelled") -> bool:
        """Request the run's cancellation; False when it has already ended."""
        return await cancel(self._host, self.run_id, reason)

    async def pause(self, *, is_paused: bool = True) -> bool:
        """Pause the run, or continue it; False when it has already ended."""
        return await pause(self._host, self.run_id, is_paused=is_paused)

    async def _read(self, run: RunRow) -> RunResult:
        stored = await self._host.ledger_executor.do(lambda ledger: ledger.load(self.run_id))
        found = restore(stored, self._host.catalog.get(run.workflow).workflow)
        state = found.state
        return RunResult(
            run_id=self.run_id,
            status=state.status,
            outputs=tuple(payload.value for payload in found.outputs),
            superstep_count=state.superstep,
            duration_s=(run.finished_at or run.updated_at) - run.created_at,
            events=tuple(await self.events()),
            error=state.error,
            waiting_fan_ins=state.waiting_fan_ins,
            pending_requests=tuple(info_of(state, asked) for asked in state.open_requests),
        )
