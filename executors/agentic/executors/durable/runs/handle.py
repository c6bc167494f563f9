"""A run that was accepted, as its caller sees it."""

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
    """A run that was accepted.

    Args:
        host: Of this process.
        run_id: The run.
    """

    def __init__(self, host: RunHost, run_id: str) -> None:
        self.run_id = RunId(run_id)
        self._host = host

    async def row(self) -> RunRow:
        """Return the run as the ledger has it.

        Raises:
            UnknownRunError: There is no such run.
        """
        run = await self._host.lane.do(lambda ledger: ledger.run(self.run_id))
        if run is None:
            raise UnknownRunError(self.run_id)
        return run

    async def status(self) -> RunStatus:
        """Return where the run stands. Raises as :meth:`row`."""
        return (await self.row()).status

    async def result(self, timeout_s: float | None = None) -> RunResult:
        """Wait until the run has ended, or waits for answers, and return what it came to.

        A failed run gives a result, too: its ``error`` says what failed it.

        Raises:
            UnknownRunError: There is no such run.
            TimeoutError: It goes on still.
        """
        return await self._read(await self.rest(timeout_s))

    async def rest(self, timeout_s: float | None = None) -> RunRow:
        """Wait until the run has ended, or waits for answers. Raises as :meth:`result`."""
        async with asyncio.timeout(timeout_s):
            pause_s = _FIRST_LOOK_S
            while (run := await self.row()).status is RunStatus.RUNNING:
                await self._host.rests.wait(self.run_id, pause_s)
                pause_s = min(pause_s * 1.3, _LAST_LOOK_S)
        return run

    async def rest_of_children(self, timeout_s: float | None = None) -> None:
        """Wait until the child runs have ended, too, that were stopped with the run.

        Raises:
            TimeoutError: One goes on still.
        """
        async with asyncio.timeout(timeout_s):
            while await self._host.lane.do(lambda ledger: has_stopping(ledger, self.run_id)):  # noqa: ASYNC110
                await asyncio.sleep(_FIRST_LOOK_S)

    async def events(self, after: int = 0) -> list[WorkflowEvent]:
        """Return the durable events of the run above a sequence, in order."""
        found: list[WorkflowEvent] = []
        while batches := await self._host.lane.do(lambda ledger: ledger.events(self.run_id, after=after)):  # noqa: B023
            found += [event for batch in batches for event in read_batch(batch)]
            after = batches[-1].last
        return found

    async def answer(self, responses: Mapping[str, object], answered_by: str = "") -> None:
        """Answer requests of the run; see :func:`agentic.executors.durable.runs.control.answer`."""
        await answer(self._host, self.run_id, responses, answered_by)

    async def resume(self) -> None:
        """Let the run go on; see :func:`agentic.executors.durable.runs.control.resume`."""
        await resume(self._host, self.run_id)

    async def cancel(self, reason: str = "cancelled") -> bool:
        """Ask for the run to be cancelled; False when it has ended already."""
        return await cancel(self._host, self.run_id, reason)

    async def pause(self, *, is_paused: bool = True) -> bool:
        """Let nothing more of the run be begun, or let it go on; False when it has ended already."""
        return await pause(self._host, self.run_id, is_paused=is_paused)

    async def _read(self, run: RunRow) -> RunResult:
        stored = await self._host.lane.do(lambda ledger: ledger.load(self.run_id))
        found = restore(stored, self._host.catalog.get(run.workflow).workflow)
        state = found.state
        return RunResult(
            run_id=self.run_id,
            status=state.status,
            outputs=tuple(parcel.value for parcel in found.outputs),
            superstep_count=state.superstep,
            duration_s=(run.finished_at or run.updated_at) - run.created_at,
            events=tuple(await self.events()),
            error=state.error,
            waiting_fan_ins=state.waiting_fan_ins,
            pending_requests=tuple(info_of(state, asked) for asked in state.open_requests),
        )
