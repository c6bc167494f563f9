"""``agentic events``: what happens, as it happens."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from agentic.core.bus import (
    EventBus,
    EventFilter,
    NatsNotConfiguredError,
    PublishedEvent,
    open_bus,
    read_events,
    tail_events,
)
from agentic.core.cli.output import console, err_console, write_json
from agentic.core.cli.texts import visible
from agentic.core.errors import AgenticError
from agentic.core.graph import EventKind
from agentic.core.ids import SHORT_CHARS
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue

events_app = typer.Typer(
    name="events", help="Show and replay events of runs, from NATS.", no_args_is_help=True
)

OfProject = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Filter by project. Default: AGENTIC_PROJECT, or all if unset."),
]

_MAX_FACTS = 100
_LAST = 20


@events_app.command("tail")
def tail(  # noqa: PLR0913  # one parameter for each option
    *,
    project: OfProject = None,
    run: Annotated[str | None, typer.Option(help="Filter by run, nested runs included.")] = None,
    kind: Annotated[
        list[EventKind] | None,
        typer.Option(metavar="KIND", help="Filter by kind, e.g. run.failed. Repeatable."),
    ] = None,
    last: Annotated[
        int | None, typer.Option(min=0, help="Number of earlier events to show first. Default: 20.")
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="SEQUENCE",
            help="Resume after this `stream_sequence` (see --json).",
        ),
    ] = None,
    follow: Annotated[bool, typer.Option(help="Follow new events until Ctrl-C.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Show the newest events, or those after a known one, then follow new ones."""
    if after is not None and last is not None:
        raise typer.BadParameter("give --after or --last, not both")
    wanted = EventFilter(project=of_project(project), run_id=run, kinds=frozenset(kind or ()))
    begin = _Begin(last=_LAST if last is None else last, after=after)
    try:
        asyncio.run(_tail(wanted, begin, follow=follow, as_json=as_json))
    except KeyboardInterrupt:
        # The usual way to end it.
        return


@events_app.command("replay")
def replay(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run id or unique prefix.")],
    *,
    project: OfProject = None,
    step: Annotated[int | None, typer.Option(min=0, metavar="N", help="Show superstep N only.")] = None,
    backwards: Annotated[bool, typer.Option("--backwards", help="Start with the last step.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Print all steps at once, even in a terminal.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per step and line.")] = False,
) -> None:
    """Replay a run superstep by superstep, even one that was killed.

    In a terminal: Enter for the next step, b for the previous one, g N for
    superstep N, q to quit.
    """
    from agentic.core.cli.replay.command import replay_run

    replay_run(
        run, of_project(project), step=step, is_backwards=backwards, shows_all=everything, as_json=as_json
    )


def of_project(named: str | None) -> str | None:
    """Return the project to keep to: the one that is named, or that of the environment; None for all."""
    return named or load_settings().chosen_project


class StreamEndError(AgenticError, ValueError):
    """Events are asked for after one that the stream never had."""

    def __init__(self, after: int, last: int) -> None:
        super().__init__(
            f"--after {after} is past the end of the stream ({last}): the stream was recreated since then; "
            "start with --after 0"
        )
        self.after = after
        self.last = last


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begin:
    """Where to begin: with the newest ``last`` events, or after a stream sequence."""

    last: int
    after: int | None


async def _tail(wanted: EventFilter, begin: _Begin, *, follow: bool, as_json: bool) -> None:
    settings = load_settings()
    if settings.nats is None:
        raise NatsNotConfiguredError(settings.home)
    show = _print_json if as_json else print_event
    async with (
        open_bus(settings, wanted.project) as bus,
        aclosing(await _found(bus, wanted, begin, follow=follow)) as found,
    ):
        async for published in found:
            show(published)


async def _found(
    bus: EventBus, wanted: EventFilter, begin: _Begin, *, follow: bool
) -> AsyncGenerator[PublishedEvent, None]:
    """Return the events to show.

    Raises:
        StreamEndError: The stream has not come so far.
        BusUnavailableError: The server does not answer.
    """
    if begin.after is None:
        return tail_events(bus, wanted, last=begin.last, follow=follow)
    kept = await bus.state()
    if begin.after > kept.last:
        raise StreamEndError(begin.after, kept.last)
    if begin.after + 1 < kept.first:
        gone = f"the stream begins with {kept.first}: events from {begin.after + 1} to there were removed"
        err_console.print(gone, style="yellow", markup=False, soft_wrap=True)
    return read_events(bus, wanted, after=begin.after, until=None if follow else kept.last)


def _print_json(published: PublishedEvent) -> None:
    write_json(published.to_dict())
    sys.stdout.flush()


def print_event(published: PublishedEvent) -> None:
    """Print an event: cut to the width of a terminal, but failures and lines for a file or pipe are whole."""
    if console.is_terminal and not _is_failure(published.event.kind):
        console.print(describe(published), no_wrap=True, overflow="ellipsis")
    else:
        console.print(describe(published), soft_wrap=True)


def _is_failure(kind: EventKind) -> bool:
    return str(kind).endswith((".failed", ".undeliverable"))


def describe(published: PublishedEvent) -> Text:
    """Return one line for people: time, run, superstep, path, kind and a few facts.

    Names and facts come from outside, so markup and control characters in them stay visible as they are.
    """
    event = published.event
    at = datetime.fromtimestamp(event.time).astimezone().strftime("%H:%M:%S.%f")[:-3]
    took = "" if event.duration_s is None else f"{event.duration_s:.3f}s "
    return Text.assemble(
        (at, "dim"),
        f" {visible(event.run_id)[:SHORT_CHARS]:{SHORT_CHARS}} s{event.superstep:<3} ",
        (f"{visible(event.path) or '-':24} ", "cyan"),
        (f"{event.kind:20} ", "red" if _is_failure(event.kind) else "bold"),
        f"{took}{_facts(event.data)}",
    )


def _facts(data: Mapping[str, JSONValue]) -> str:
    words = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in data.items()
    ]
    line = visible(" ".join(words))
    return line if len(line) <= _MAX_FACTS else f"{line[: _MAX_FACTS - 1]}…"
