"""Functions that join the transaction of a result, when that transaction comes to nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from agentic.core import RunStatus, Workflow, WorkflowBuilder, WorkflowContext, executor
from agentic.core.ledger import (
    LedgerConflictError,
    LedgerError,
    LedgerTransaction,
    LedgerUnavailableError,
    MemoryLedger,
    OnCommit,
)
from agentic.core.ledger.memory import _Transaction
from agentic.executors.durable import LocalRuns, WorkflowCatalog
from agentic.executors.durable.runs.local import HostOptions


class Troubled(MemoryLedger):
    """A ledger whose database is in trouble the first time that a function joins a transaction."""

    def __init__(self, trouble: LedgerError) -> None:
        super().__init__()
        self.troubles = [trouble]

    @contextmanager
    def transaction(self) -> Iterator[LedgerTransaction]:
        with super().transaction():
            yield _Troubled(self._rows, self.troubles)


class _Troubled(_Transaction):
    def __init__(self, rows: object, troubles: list[LedgerError]) -> None:
        super().__init__(rows)  # type: ignore[arg-type]  # the memory ledger's own
        self._troubles = troubles

    def apply(self, functions: Sequence[OnCommit]) -> None:
        if functions and self._troubles:
            raise self._troubles.pop()


def storing(entries: list[int]) -> Workflow:
    @executor(id="store")
    async def store(number: int, ctx: WorkflowContext[int, int]) -> None:
        entries.append(number)
        ctx.on_commit(lambda _: None)
        await ctx.yield_output(number)

    return WorkflowBuilder("storing", version="1").set_start(store).build()


@pytest.mark.parametrize(
    ("trouble", "at_most"),
    [(LedgerConflictError("a deadlock"), 1), (LedgerUnavailableError("the connection is lost"), 2)],
)
async def test_the_trouble_of_the_database_is_no_failure_of_the_handler(
    trouble: LedgerError, at_most: int
) -> None:
    entries: list[int] = []
    catalog = WorkflowCatalog({"storing": lambda: storing(entries)})
    options = HostOptions(lease_s=0.2)
    async with LocalRuns(Troubled(trouble), catalog, sweep_s=0.1, options=options) as runs:
        result = await (await runs.submit("storing", 7)).result(10)
    assert (result.status, result.outputs, result.error) == (RunStatus.COMPLETED, (7,), None)
    assert 1 <= len(entries) <= at_most
