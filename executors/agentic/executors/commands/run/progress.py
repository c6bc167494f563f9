"""Shows the progress of a run on standard error: a few moving lines, or a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from agentic.core.cli import err_console
from agentic.core.graph import WorkflowEvent
from agentic.executors.commands.run.progress_facts import RunProgress, failures_text, hosts_text

PLAIN_EVERY_S = 5.0
"""Interval between two lines of plain output."""

DRAW_EVERY_S = 0.1
"""Interval between updates in a terminal: there may be thousands of events per second."""

Hear = Callable[[WorkflowEvent], None]


@contextmanager
def shown_progress(title: str, *, quiet: bool = False) -> Iterator[Hear]:
    """Yield a listener for the events of a run, and show them until the block ends.

    In a terminal the lines disappear afterwards; elsewhere there is one every few seconds.
    """
    if quiet:
        yield lambda _: None
    elif err_console.is_terminal:
        with progress_bars() as bars:
            yield ProgressLines(bars, title).tell
    else:
        yield PlainLines(title).tell


@contextmanager
def progress_bars() -> Iterator[ProgressBars]:
    """Yield bars that are shown on standard error until the block ends."""
    with ProgressBars(err_console) as bars:
        yield bars


class ProgressBars(Progress):
    """Bars with notes below them; they disappear at the end."""

    def __init__(self, console: Console) -> None:
        self._notes: dict[object, Sequence[str]] = {}
        super().__init__(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[facts]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bars, then the notes."""
        yield from super().get_renderables()
        for lines in [*self._notes.values()]:  # a copy, because another thread calls this
            for line in lines:
                yield Text(line, "dim", no_wrap=True, overflow="ellipsis")

    def note(self, about: object, lines: Sequence[str]) -> None:
        """Show lines below the bars; they replace lines about the same thing."""
        self._notes[about] = lines


class ProgressLines:
    """One line for the run, one for each step that reports progress, and a crawl's failures.

    Args:
        bars: Holds the lines.
        title: Begins the first line.
        clock: Monotonic seconds.
    """

    def __init__(self, bars: ProgressBars, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._bars = bars
        self._title = title
        self._clock = clock
        self._run = bars.add_task(title, total=None, facts="")
        self._lines: dict[str, TaskID] = {}
        self._progress = RunProgress(clock)
        self._drawn_at = -DRAW_EVERY_S

    def tell(self, event: WorkflowEvent) -> None:
        """Show an event."""
        self._progress.hear(event)
        now = self._clock()
        if now - self._drawn_at >= DRAW_EVERY_S:
            self._drawn_at = now
            self._draw()

    def _draw(self) -> None:
        heading = f"{self._title}: {self._progress.current}" if self._progress.current else self._title
        self._bars.update(self._run, description=heading, facts=f"{self._progress.event_count:,} events")
        for name in [name for name in self._lines if name not in self._progress.steps]:
            self._bars.remove_task(self._lines.pop(name))
        for name, step in self._progress.steps.items():
            if name not in self._lines:
                self._lines[name] = self._bars.add_task(f"  {name}", total=None, facts="")
            facts = self._progress.facts(name)
            self._bars.update(self._lines[name], completed=step.done, total=step.total, facts=facts)
        self._bars.note(self, list(self._notes()))

    def _notes(self) -> Iterator[str]:
        for step in self._progress.steps.values():
            if step.failures:
                yield f"    failed  {failures_text(step.failures)}"
            if step.hosts:
                yield f"    hosts   {hosts_text(step.hosts)}"


class PlainLines:
    """A line every few seconds, for logs and pipes.

    Args:
        title: Begins each line.
        clock: Monotonic seconds.
    """

    def __init__(self, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._title = title
        self._clock = clock
        self._progress = RunProgress(clock)
        self._said_at = clock()

    def tell(self, event: WorkflowEvent) -> None:
        """Print the progress, if the last line is some seconds old."""
        self._progress.hear(event)
        now = self._clock()
        if now - self._said_at >= PLAIN_EVERY_S:
            self._said_at = now
            line = self._progress.line(self._title)
            err_console.print(line, markup=False, highlight=False, soft_wrap=True)
