"""What a run looks like while it goes on: a few lines on standard error that move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from agentic.core.cli import err_console
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.types import JSONValue


@contextmanager
def shown_progress(title: str) -> Iterator[ProgressLines]:
    """Show the events given to :meth:`ProgressLines.tell` until the block ends; gone afterwards."""
    with progress_bars() as progress:
        yield ProgressLines(progress, title)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Show what is added to it, on standard error, until the block ends."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[facts]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err_console, transient=True) as progress:
        yield progress


class ProgressLines:
    """One line for the run, and one for each executor that reports progress."""

    def __init__(self, progress: Progress, title: str) -> None:
        self._progress = progress
        self._title = title
        self._run = progress.add_task(title, total=None, facts="")
        self._lines: dict[str, TaskID] = {}
        self._event_count = 0

    def tell(self, event: WorkflowEvent) -> None:
        """Show what an event says."""
        self._event_count += 1
        if event.kind is EventKind.EXECUTOR_PROGRESS:
            self._report(event.path, event.data)
        elif event.kind is EventKind.EXECUTOR_INVOKED:
            self._progress.update(self._run, description=f"{self._title}: {event.path}")
        elif event.kind in {EventKind.EXECUTOR_COMPLETED, EventKind.EXECUTOR_FAILED}:
            self._end(event.path)
        self._progress.update(self._run, facts=f"{self._event_count} events")

    def _report(self, path: str, data: Mapping[str, JSONValue]) -> None:
        done, total = _number(data.get("done")), _number(data.get("total"))
        if path not in self._lines:
            self._lines[path] = self._progress.add_task(f"  {path}", total=None, facts="")
        counted = f"{done:g}" if total is None else f"{done:g}/{total:g}"
        self._progress.update(
            self._lines[path], completed=done or 0, total=total, facts=f"{counted} {data.get('note') or ''}"
        )

    def _end(self, path: str) -> None:
        if (line := self._lines.pop(path, None)) is not None:
            self._progress.remove_task(line)


def _number(value: JSONValue) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
