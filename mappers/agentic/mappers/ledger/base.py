"""Shared base of the parts of a ledger transaction in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agentic.core.ledger import ActivationId
from agentic.core.types import RunId
from agentic.mappers.database.driver import Value
from agentic.mappers.ledger.activation_statements import ADD_ACTIVATION
from agentic.mappers.ledger.cursor import LedgerCursor
from agentic.mappers.ledger.rows import FoundRun
from agentic.mappers.ledger.run_statements import CLOCK, LOCK_FREE_RUN, LOCK_RUN, MARK_IDLE
from agentic.mappers.ledger.steps import NewRow


class UsesCursor:
    """The basics of a transaction, without its operations.

    Changes to a run or its activations lock the project first, if it has a limit, then the run, then the
    activations; and a run before its child runs. One exception: a child run ends while its parent run is
    interrupted. Then the database undoes one of the two transactions, and it begins again. On SQLite,
    transactions take turns instead. Data of a locked run stays valid, so it is read once; whether its
    superstep still waits for an activation stays valid until a step of any run is written.

    New activations are written before the next operation on activations, or at the end. An activation claimed
    before that is written as claimed, which saves half of the index cost of a step.
    """

    def __init__(self, cursor: LedgerCursor, project_id: str) -> None:
        self._cursor = cursor
        self._project_id = project_id
        self._locked: dict[RunId, FoundRun | None] = {}
        self._idle: set[RunId] = set()
        self._left_open: dict[tuple[RunId, int], bool] = {}
        self._added: dict[ActivationId, NewRow] = {}

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Begin a part: if the block raises, its writes are undone, and no earlier ones."""
        self._write_added()
        idle = set(self._idle)
        try:
            with self._cursor.savepoint():
                yield
                self._write_added()
        except BaseException:
            self._idle = idle
            self._left_open.clear()
            self._added.clear()
            self._locked.clear()  # the part's locks are released
            raise

    def finish(self) -> None:
        """Write the remaining rows, and mark undecided runs as needing a decision."""
        self._write_added()
        for run_id in self._idle:
            self._cursor.run(MARK_IDLE, self._of_project(run_id=run_id))

    def now(self) -> float:
        """Return the database's clock."""
        found = self._cursor.row(CLOCK, {})
        return found[0] if found else 0.0

    @property
    def _activations(self) -> LedgerCursor:
        """The cursor for statements on activations."""
        self._write_added()
        return self._cursor

    def _of_project(self, **values: Value) -> dict[str, Value]:
        return {"project_id": self._project_id, **values}

    def _key(self, activation_id: ActivationId) -> dict[str, Value]:
        run_id, superstep, executor_id, shard = activation_id
        return {
            "project_id": self._project_id,
            "run_id": run_id,
            "superstep": superstep,
            "executor_id": executor_id,
            "shard": shard,
        }

    def _locked_run(self, run_id: RunId) -> FoundRun | None:
        """Return a run, locked against other changes until this transaction ends."""
        if run_id in self._locked:
            return self._locked[run_id]
        found = self._cursor.row(LOCK_RUN, {"project_id": self._project_id, "run_id": run_id})
        run = None if found is None else FoundRun(*found)
        self._locked[run_id] = run
        return run

    def _free_run(self, run_id: RunId) -> FoundRun | None:
        """Like :meth:`_locked_run`; None also while another transaction holds the lock."""
        if run_id in self._locked or not self._cursor.is_postgresql:
            return self._locked_run(run_id)
        found = self._cursor.row(LOCK_FREE_RUN, {"project_id": self._project_id, "run_id": run_id})
        if found is None:
            return None
        run = self._locked[run_id] = FoundRun(*found)
        return run

    def _write_added(self) -> None:
        if self._added:
            rows = list(self._added.values())
            self._added.clear()
            self._cursor.run_each(ADD_ACTIVATION, rows)
