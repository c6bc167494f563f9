"""Shows a running run: a frame that is redrawn in a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from agentic.core.cli import console, print_json, whole_console, write_json
from agentic.core.graph import RunStatus
from agentic.core.types import RunId
from agentic.executors.commands.runs.steering import Desk, say

if TYPE_CHECKING:
    from agentic.core.graph import WorkflowEvent
    from agentic.executors.durable.runs.watch import Look

Once = Annotated[bool, typer.Option("--once", help="Show the current state and exit.")]
Every = Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Seconds between updates.")]

Show = Callable[["Look"], None]

_SHOWN_EVENTS = 6
_OTHER_LINES = 15
_FEWEST_ROWS, _MOST_ROWS = 5, 20
_RESTS = 10
"""Pause after each update, as a multiple of its duration: watching costs a run little."""


def watch_run(
    desk: Desk, run_id: RunId, *, once: bool = False, every_s: float = 0.5, as_json: bool = False
) -> None:
    """Show a run until it ends, or once; in JSON one object per line after each change.

    Raises:
        Exit: With 1, if it ends without completing and was not shown only once.
    """
    from agentic.executors.durable.runs.watch import RunWatch

    rows = min(max(console.size.height - _OTHER_LINES, _FEWEST_ROWS), _MOST_ROWS)
    watch = RunWatch(desk.database, desk.project_id, run_id, limit=rows)
    if once:
        _show_once(watch.look(), desk.project, as_json=as_json)
        return
    with _shown(desk.project, as_json=as_json) as show:
        status = _follow(watch.look, show, every_s)
    if status is not RunStatus.COMPLETED:
        raise typer.Exit(1)


def _follow(look: Callable[[], Look], show: Show, every_s: float) -> RunStatus:
    while True:
        began = time.monotonic()
        seen = look()
        show(seen)
        if seen.run.status.is_final:
            return seen.run.status
        time.sleep(max(every_s, _RESTS * (time.monotonic() - began)))


def _show_once(look: Look, project: str, *, as_json: bool) -> None:
    from agentic.executors.commands.runs.frames import frame, look_data

    if as_json:
        print_json(look_data(look))
    else:
        whole_console().print(frame(look, list(look.events)[-_SHOWN_EVENTS:], project))


@contextmanager
def _shown(project: str, *, as_json: bool) -> Iterator[Show]:
    """Yield a function that shows looks."""
    if as_json:
        yield _Changes(_print_data)
    elif console.is_terminal:
        with _drawn(project) as draw:
            yield draw
    else:
        yield _Changes(_Lines(project))


@contextmanager
def _drawn(project: str) -> Iterator[Show]:
    """Yield a function that redraws the frame; the last one stays."""
    from rich.live import Live

    from agentic.executors.commands.runs.frames import frame

    latest: deque[WorkflowEvent] = deque(maxlen=_SHOWN_EVENTS)
    with Live(console=console, auto_refresh=False) as live:

        def draw(look: Look) -> None:
            latest.extend(look.events)
            live.update(frame(look, latest, project), refresh=True)

        yield draw


class _Changes:
    """Passes on the looks with a change."""

    def __init__(self, show: Show) -> None:
        self._show = show
        self._facts: tuple[object, ...] = ()

    def __call__(self, look: Look) -> None:
        if look.facts != self._facts:
            self._facts = look.facts
            self._show(look)


class _Lines:
    """Prints a line for each event, and for each change of the run's state."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._standing = ""
        self._console = whole_console()

    def __call__(self, look: Look) -> None:
        from agentic.executors.commands.runs.frames import event_line, standing

        for event in look.events:
            self._console.print(event_line(event, self._project))
        if standing(look) != self._standing:
            self._standing = standing(look)
            say(self._standing)


def _print_data(look: Look) -> None:
    from agentic.executors.commands.runs.frames import look_data

    write_json(look_data(look))
    sys.stdout.flush()
