"""Looks at what is left of runs that were disturbed, and says what should not be so.

It reads the tables, not the ledger's own methods: those are what is tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text
from tests.faults.executors import flows

from agentic.core import RunStatus, WorkflowEvent
from agentic.core.ledger import ActivationStatus
from agentic.executors import RunClient
from agentic.mappers import Database

Log = Sequence[Mapping[str, object]]

_OPEN = {status.value for status in ActivationStatus if status.is_open}
_RESTING = {RunStatus.WAITING_INPUT.value, *(status.value for status in RunStatus if status.is_final)}


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a run has to come to.

    Attributes:
        status: How it ends.
        outputs: What it gives.
        log: Its durable events, as in one process; None when they are not compared.
        writes_rows: Whether each of its activations writes a row.
    """

    status: RunStatus = RunStatus.COMPLETED
    outputs: tuple[object, ...] = ()
    log: Log | None = None
    writes_rows: bool = True


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a test came to, for the table of all of them.

    Attributes:
        runs: Accepted.
        activations: With a result.
        entries: How often a handler was entered.
        repeated: How often of that for an activation for which one had been entered before.
        crashes: Claims that were taken back, as their lease had ended.
        kills: Processes that were killed.
        lost: Rows that are missing.
        doubled: Rows that are there more than once.
        overdue_s: For how long an activation was held at most by a lease that had ended.
        took_s: From the first submission to the end of the last run.
    """

    runs: int = 0
    activations: int = 0
    entries: int = 0
    repeated: int = 0
    crashes: int = 0
    kills: int = 0
    lost: int = 0
    doubled: int = 0
    overdue_s: float = 0.0
    took_s: float = 0.0


@dataclass
class History:
    """What the database and the folder of a place have of some runs.

    Attributes:
        database: Of the place.
        folder: Of the place.
        client: Reads results.
        expected: What each run has to come to.
    """

    database: Database
    folder: Path
    client: RunClient
    expected: Mapping[str, Expected]

    def check(self) -> Figures:
        """Check the invariants; return the figures that the tables and the folder have.

        Raises:
            AssertionError: One does not hold.
        """
        figures = self._figures()
        checks = (
            self._ended(),
            self._revisions(),
            self._results(),
            self._activations(),
            self._rows(),
            self._fences(),
            self._sequences(),
            self._leases(),
        )
        faults = [fault for check in checks for fault in check]
        assert not faults, "\n".join(["what is left of the runs is not as it has to be:", *faults[:50]])
        return figures

    def _ended(self) -> Iterator[str]:
        """I1: every accepted run ends, or rests."""
        found = self._statuses()
        for run_id, expected in self.expected.items():
            status = found.get(run_id)
            if status != expected.status.value:
                yield f"I1: run {run_id} is {status}, not {expected.status.value}"

    def _revisions(self) -> Iterator[str]:
        """I2: one checkpoint for each decision, without gaps."""
        revisions = self._grouped("SELECT run_id, revision FROM run_checkpoints ORDER BY revision")
        for run_id, newest in self._read("SELECT run_id, revision FROM runs"):
            found = [int(str(revision)) for (revision,) in revisions.get(run_id, ())]
            if found != list(range(1, int(newest) + 1)):
                yield f"I2: run {run_id} is at revision {newest} and has the checkpoints {found}"

    def _results(self) -> Iterator[str]:
        """I3: each run comes to what it would have come to undisturbed; its log says so (I6)."""
        resting = self._resting()
        for run_id, expected in self.expected.items():
            if run_id not in resting:
                continue
            result = self.client.handle(run_id).result(10)
            if result.status is RunStatus.COMPLETED and result.outputs != expected.outputs:
                yield f"I3: run {run_id} gave {result.outputs!r}, not {expected.outputs!r}"
            if expected.log is not None and log_of(result.events, run_id) != expected.log:
                yield f"I6: run {run_id} has another log than undisturbed"

    def _activations(self) -> Iterator[str]:
        """I3: each activation of a run that rests has an end."""
        resting = self._resting()
        for run_id, superstep, executor_id, status in self._read(
            "SELECT run_id, superstep, executor_id, status FROM activations"
        ):
            if run_id in resting and status in _OPEN:
                yield f"I3: activation {run_id}:{superstep}:{executor_id} is {status}, and its run rests"

    def _resting(self) -> Collection[str]:
        return {run_id for run_id, status in self._statuses().items() if status in _RESTING}

    def _statuses(self) -> Mapping[str, str]:
        return {str(row[0]): row[1] for row in self._read("SELECT run_id, status FROM runs")}

    def _rows(self) -> Iterator[str]:
        """I4: a row for each result, and no other."""
        missing, doubled = self._wrong_rows()
        yield from (f"I4: the row of {key} is missing" for key in missing)
        yield from (f"I4: the row of {key} is there more than once" for key in doubled)

    def _wrong_rows(self) -> tuple[Collection[object], Collection[object]]:
        query = "SELECT run_id, superstep, executor_id FROM fault_rows"
        rows = Counter(tuple(row) for row in self._read(query))
        writing = {run_id for run_id, expected in self.expected.items() if expected.writes_rows}
        done = {
            tuple(row)
            for row in self._read(
                "SELECT run_id, superstep, executor_id FROM activations WHERE status = 'done'"
            )
            if row[0] in writing
        }
        return sorted(done - rows.keys()), sorted(key for key in rows if rows[key] > 1 or key not in done)

    def _fences(self) -> Iterator[str]:
        """I5: each row was written by the process, and under the fence, of the claim that was settled.

        A run that is resumed in a superstep keeps the results of it in activations with a new fence, which no
        worker has claimed.
        """
        for run_id, superstep, executor_id, pid, fence, worker, last_fence, last_worker in self._read(
            "SELECT r.run_id, r.superstep, r.executor_id, r.pid, r.fence, r.worker, a.fence, a.worker "
            "FROM fault_rows r JOIN activations a ON a.run_id = r.run_id AND a.superstep = r.superstep "
            "AND a.executor_id = r.executor_id"
        ):
            is_kept = not last_worker and fence < last_fence
            is_settled = (fence, worker) == (last_fence, last_worker)
            if not (is_kept or is_settled) or str(worker).split("/")[1] != str(pid):
                yield (
                    f"I5: the row of {run_id}:{superstep}:{executor_id} is of process {pid} with fence "
                    f"{fence} of {worker}; settled was {last_fence} of {last_worker}"
                )

    def _sequences(self) -> Iterator[str]:
        """I6: the events of a run are without gaps."""
        batches = self._grouped('SELECT run_id, "first", "last" FROM run_events ORDER BY "last"')
        for run_id, found in batches.items():
            due = 1
            for first, last in found:
                if first != due:
                    yield f"I6: run {run_id} has no events from {due} to {int(str(first)) - 1}"
                due = int(str(last)) + 1

    def _leases(self) -> Iterator[str]:
        """I7: nothing is held any more."""
        for run_id, worker in self._read("SELECT run_id, worker FROM activations WHERE status = 'running'"):
            yield f"I7: an activation of {run_id} is held by {worker}"

    def _figures(self) -> Figures:
        query = "SELECT count(*), sum(crashes) FROM activations WHERE status IN ('done', 'dead')"
        ((activations, crashes),) = self._read(query)
        missing, doubled = self._wrong_rows()
        entered = entries(self.folder)
        return Figures(
            runs=len(self.expected),
            activations=int(activations),
            entries=len(entered),
            repeated=len(entered) - len(set(entered)),
            crashes=int(crashes or 0),
            lost=len(missing),
            doubled=len(doubled),
        )

    def _grouped(self, statement: str) -> Mapping[str, Sequence[Sequence[object]]]:
        found: dict[str, list[Sequence[object]]] = {}
        for run_id, *rest in self._read(statement):
            found.setdefault(run_id, []).append(rest)
        return found

    def _read(self, statement: str) -> Sequence[Sequence[str]]:
        with self.database.reading() as session:
            return [tuple(row) for row in session.execute(text(statement))]


def entries(folder: Path) -> Sequence[str]:
    """Return which activations were entered, in order."""
    log = folder / flows.ENTRIES
    return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []


def log_of(events: Sequence[WorkflowEvent], run_id: str) -> Log:
    """Return the durable events of a run, but for its name and times."""
    kept = [event.to_dict() for event in events if event.run_id == run_id]
    return [{**event, "id": 0, "run_id": 0, "time": 0, "duration_s": 0} for event in kept]
