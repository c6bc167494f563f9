"""Reports the kept results of a run interrupted by Ctrl-C or SIGTERM, and how to continue it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentic.core.cli import err_console
from agentic.core.masking import mask_known

if TYPE_CHECKING:
    from agentic.mappers import Database, ExecutionModel

STORED = frozenset({"inserted", "updated", "unchanged"})


@contextmanager
def interruptions_told(database: Database, execution: ExecutionModel, again: str | None) -> Iterator[None]:
    """If the block is interrupted, print on standard error the kept results, and the command that continues.

    An execution whose run had not begun ends as cancelled.

    Args:
        database: Holds the execution.
        execution: The execution that runs in the block.
        again: The command; by default with the execution's id.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        command = again or f"agentic executions retry {execution.id}"
        line = f"stopped: {_kept(database, execution)}; continue with: {command}"
        err_console.print(mask_known(line), style="yellow", markup=False, highlight=False, soft_wrap=True)
        raise


def _kept(database: Database, execution: ExecutionModel) -> str:
    """End the execution if its run has not begun; return its kept results as text."""
    from agentic.mappers.catalog.execution_counts import counts_so_far
    from agentic.mappers.catalog.executions import cancel_unbegun, find_execution
    from agentic.mappers.tables.core import CrawlModel

    with database.writing() as session:
        cancel_unbegun(session, execution.project_id, execution.id)
        now = find_execution(session, execution.project_id, execution.id)
        counts = counts_so_far(session, now.project_id, [now])[now.id]
        crawl = session.get(CrawlModel, (now.project_id, now.id))
    pages = [f"{crawl.done:,} of {crawl.total:,} pages"] if crawl is not None and crawl.total else []
    stored = [count for name, count in counts.items() if name in STORED and isinstance(count, int)]
    rows = [f"{sum(stored):,} rows"] if any(stored) else []
    if pages or rows:
        return f"{' and '.join([*pages, *rows])} are kept"
    return "finished steps are kept" if now.started_at is not None else "nothing had started"
