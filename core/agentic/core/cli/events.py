"""``agentic events``: what happens, as it happens."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from agentic.core.bus import (
    EventFilter,
    NatsNotConfiguredError,
    PublishedEvent,
    open_bus,
    tail_events,
)
from agentic.core.cli.output import console
from agentic.core.graph import EventKind
from agentic.core.settings import load_settings
from agentic.core.types import JSONValue

events_app = typer.Typer(
    name="events", help="What happens in runs, from the stream on NATS.", no_args_is_help=True
)

_MAX_FACTS = 100


@events_app.command("tail")
def tail(
    project: Annotated[str | None, typer.Option(help="Only of this project.")] = None,
    run: Annotated[str | None, typer.Option(help="Only of this run and the runs nested in it.")] = None,
    kind: Annotated[
        list[EventKind] | None,
        typer.Option(metavar="KIND", help="Only of this kind, as run.failed; may be repeated."),
    ] = None,
    last: Annotated[int, typer.Option(min=0, help="How many earlier events to show first.")] = 20,
    follow: Annotated[bool, typer.Option(help="Go on with new events until Ctrl-C.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show the newest events, then new ones as they come."""
    wanted = EventFilter(project=project, run_id=run, kinds=frozenset(kind or ()))
    try:
        asyncio.run(_tail(wanted, last=last, follow=follow, as_json=as_json))
    except KeyboardInterrupt:
        # The usual way to end it.
        return


async def _tail(wanted: EventFilter, *, last: int, follow: bool, as_json: bool) -> None:
    settings = load_settings()
    if settings.nats is None:
        raise NatsNotConfiguredError(settings.home)
    show = _print_json if as_json else _print_line
    async with (
        open_bus(settings) as bus,
        aclosing(tail_events(bus, wanted, last=last, follow=follow)) as found,
    ):
        async for published in found:
            show(published)


def _print_json(published: PublishedEvent) -> None:
    sys.stdout.write(json.dumps(published.to_dict(), ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _print_line(published: PublishedEvent) -> None:
    console.print(describe(published), soft_wrap=True)


def describe(published: PublishedEvent) -> Text:
    """Return one line for people: time, run, superstep, path, kind and a few facts.

    Names and facts come from outside, so markup and control characters in them stay visible as they are.
    """
    event = published.event
    at = datetime.fromtimestamp(event.time).astimezone().strftime("%H:%M:%S.%f")[:-3]
    took = "" if event.duration_s is None else f"{event.duration_s:.3f}s "
    return Text.assemble(
        (at, "dim"),
        f" {_visible(event.run_id)[:8]:8} s{event.superstep:<3} ",
        (f"{_visible(event.path) or '-':24} ", "cyan"),
        (f"{event.kind:20} ", "red" if str(event.kind).endswith((".failed", ".undeliverable")) else "bold"),
        f"{took}{_facts(event.data)}",
    )


def _facts(data: Mapping[str, JSONValue]) -> str:
    words = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in data.items()
    ]
    line = _visible(" ".join(words))
    return line if len(line) <= _MAX_FACTS else f"{line[: _MAX_FACTS - 1]}…"


def _visible(text: str) -> str:
    """Return ``text`` with what a terminal would obey (escape sequences, line ends) written out."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
