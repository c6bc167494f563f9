"""Removes old runs from the ledger, with a progress bar."""

from __future__ import annotations

from dataclasses import dataclass

from agentic.executors.commands.steering import Desk


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """The result of a pruning.

    Attributes:
        runs: Runs that were removed, or would be.
        rows: Rows that were removed.
        held: Old runs that stay because some of their events are not published yet.
        is_dry: Whether nothing was removed.
    """

    runs: int
    rows: int
    held: int
    is_dry: bool

    def __str__(self) -> str:
        said = f"{self.runs} runs {'would be ' if self.is_dry else ''}removed, {self.rows} rows"
        if not self.held:
            return said
        return (
            f"{said}; {self.held} stay because some of their events are not published yet: check NATS and "
            "`agentic reconcile`, or add --unpublished"
        )


def prune_runs(desk: Desk, older_than_s: float, *, even_unpublished: bool, is_dry: bool) -> Pruned:
    """Remove runs that ended long ago; child runs go with their parents.

    Args:
        desk: Holds the runs.
        older_than_s: Minimum time since their end.
        even_unpublished: Also runs with unpublished events.
        is_dry: Only count.
    """
    from agentic.core.garbage import tune_gc
    from agentic.executors.commands.progress import progress_bars
    from agentic.mappers.runs.retention import Retention

    tune_gc()
    retention = Retention(desk.database, desk.project_id, older_than_s)
    run_count = row_count = held_count = 0
    with progress_bars() as bars:
        bar = bars.add_task("runs", total=None, facts="")
        for page in retention.pages(even_unpublished=even_unpublished):
            run_count += len(page.runs)
            held_count += page.held_count
            row_count += 0 if is_dry or not page.runs else retention.remove(*page.runs)
            bars.update(bar, advance=len(page.runs), facts=f"{run_count} runs, {row_count} rows")
    return Pruned(runs=run_count, rows=row_count, held=held_count, is_dry=is_dry)
