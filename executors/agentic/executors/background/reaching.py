"""Durable runs for coroutines: of this event loop, or of a client on a thread of its own."""

from __future__ import annotations

from typing import Protocol

from agentic.core.graph.model.result import RunResult
from agentic.core.ledger import RunRow
from agentic.core.threads import in_thread
from agentic.executors.durable.runs.service import RunService, Submission
from agentic.executors.runs import RunClient, RunHandle


class ReachedRun(Protocol):
    """An accepted run."""

    async def row(self) -> RunRow:
        """Return its row in the ledger."""
        ...

    async def result(self, timeout_s: float | None = None) -> RunResult:
        """Return its result, once it has ended or waits."""
        ...

    async def cancel(self, reason: str = "cancelled") -> bool:
        """Request its cancellation; False when it has already ended."""
        ...


class ReachedRuns(Protocol):
    """Accepts runs."""

    async def submit(self, workflow: str, message: object, how: Submission | None = None) -> object:
        """Accept a run."""
        ...

    def handle(self, run_id: str) -> ReachedRun:
        """Return an accepted run."""
        ...


class ClientRuns:
    """The runs of a client that blocks.

    Args:
        client: The client.
    """

    def __init__(self, client: RunClient) -> None:
        self._client = client

    async def submit(self, workflow: str, message: object, how: Submission | None = None) -> object:
        """Accept a run."""
        return await in_thread(self._client.submit, workflow, message, how)

    def handle(self, run_id: str) -> ReachedRun:
        """Return an accepted run."""
        return _ClientRun(self._client.handle(run_id))


class _ClientRun:
    def __init__(self, handle: RunHandle) -> None:
        self._handle = handle

    async def row(self) -> RunRow:
        return await in_thread(self._handle.row)

    async def result(self, timeout_s: float | None = None) -> RunResult:
        return await in_thread(self._handle.result, timeout_s)

    async def cancel(self, reason: str = "cancelled") -> bool:
        return await in_thread(self._handle.cancel, reason)


def reached(runs: RunClient | RunService) -> ReachedRuns:
    """Return runs as coroutines reach them."""
    return ClientRuns(runs) if isinstance(runs, RunClient) else runs
