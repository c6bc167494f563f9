"""Runs activations of a superstep concurrently in one process, as many as ``workflow.run`` would."""

from __future__ import annotations

import asyncio

from agentic.core.ledger import ActivationId
from agentic.executors.durable.worker.host import RunHost
from agentic.executors.durable.worker.worker import Bounds, DurableWorker, OnClaim, Wide, Worked
from agentic.executors.workers.guarding import engine_task

MAX_WIDTH = 32
"""Maximum number of concurrent activations per message, even if the graph allows more."""


class WorkerPool:
    """A worker with helpers where the graph allows messages to be handled concurrently.

    Args:
        host: The parts of this process.
        bounds: How long each of its workers continues in place.
        on_claim: Called with each activation they begin with.
    """

    def __init__(
        self, host: RunHost, bounds: Bounds | None = None, *, on_claim: OnClaim | None = None
    ) -> None:
        self._host = host
        self._on_claim = on_claim
        self._bounds = bounds
        self._helpers: set[asyncio.Task[Worked]] = set()
        self._shared_out: Wide | None = None
        self._worked = Worked()

    async def work(self, wanted: ActivationId | None = None) -> Worked:
        """Do an activation, the ones beside it, and the next ones; see :meth:`DurableWorker.work`.

        Raises:
            LedgerUnavailableError: The ledger cannot be used.
        """
        try:
            self._worked.add(await self._worker().work(wanted))
            while self._helpers:
                done, _ = await asyncio.wait(self._helpers, return_when=asyncio.FIRST_COMPLETED)
                self._helpers -= done
                for helper in done:
                    self._worked.add(helper.result())
        except BaseException as exc:
            await self._stop(str(exc))
            raise
        return self._worked

    def _worker(self) -> DurableWorker:
        return DurableWorker(self._host, self._bounds, on_wide=self._share_out, on_claim=self._on_claim)

    def _share_out(self, wide: Wide) -> None:
        if self._shared_out == wide:
            return
        self._shared_out = wide
        for _ in range(min(wide.width, MAX_WIDTH) - 1 - len(self._helpers)):
            self._helpers.add(engine_task(self._worker().help(wide)))

    async def _stop(self, reason: str) -> None:
        for helper in self._helpers:
            helper.cancel(reason)
        await asyncio.gather(*self._helpers, return_exceptions=True)
