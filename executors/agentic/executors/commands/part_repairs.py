"""The parts of a pipeline besides its fields, for ``agentic pipelines repair``."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agentic.core.cli import print_line
from agentic.core.hooks import get_registry
from agentic.core.types import JSONValue
from agentic.executors.commands.shared.page_trees import open_pages

if TYPE_CHECKING:
    from agentic.core.pipeline.repairs.proposals import Repair, RepairProposal
    from agentic.core.pipeline.repairs.searches import SeenPage

WIDTH = 78
_SHOWN_EVIDENCE = 2
_SHOWN_CHOICES = 5
_WORDS = {"start_page": "start page", "json": "JSON", "list": "list", "paging": "next page", "login": "login"}
Row = dict[str, JSONValue]


async def look_at(
    spec: JSONValue, rows: Sequence[Row], urls: Sequence[str], private_hosts: Sequence[str]
) -> tuple[list[SeenPage], list[Repair]]:
    """Return the answers for some addresses, and repairs of the parts of a pipeline.

    Args:
        spec: As data.
        rows: Of an earlier run.
        urls: The addresses.
        private_hosts: Private hosts that may be asked.

    Raises:
        OptionError: A host is private, and may not be asked.
    """
    from agentic.core.pipeline.repairs.searches import find_repairs

    async with open_pages(private_hosts) as pages:
        seen = [await pages.page(url) for url in urls]
        return seen, await find_repairs(spec, rows, pages, name_of=name_of_actor, seen=seen)


def name_of_actor(name: str) -> str:
    """Return the name of the actor that an alias stands for."""
    actors = get_registry().actors
    return actors[name].name if name in actors else name


def as_row(repair: Repair) -> dict[str, object]:
    """Return a repair as an object of JSON."""
    from agentic.core.pipeline.repairs.proposals import RepairProposal

    state = "found" if isinstance(repair, RepairProposal) else "unsure"
    return {"step": repair.subject, "state": state, **repair.model_dump(mode="json")}


def print_repairs(repairs: Sequence[Repair]) -> None:
    """Print repairs in lines of 80 columns; values are printed whole."""
    from agentic.core.pipeline.repairs.proposals import RepairProposal

    print_line("Steps")
    for repair in repairs:
        head = f"  {_WORDS.get(repair.kind, repair.kind)} of {repair.subject}"
        if isinstance(repair, RepairProposal):
            print_line(f"{head}: found, score {repair.score:.2f}, next best {repair.runner_up:.2f}")
            _print_wrapped(repair.note)
            for line in _changes(repair):
                print_line(f"    {line}")
        else:
            print_line(f"{head}: unsure")
            _print_wrapped(repair.reason)
            for choice in repair.choices[:_SHOWN_CHOICES]:
                print_line(f"      {choice}")


def _print_wrapped(text: str) -> None:
    wrapped = textwrap.wrap(text, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    for line in wrapped:
        print_line(f"    {line}")


def _changes(repair: RepairProposal) -> Iterator[str]:
    from agentic.core.pipeline.errors import shown_place

    for change in repair.changes:
        yield f"{shown_place(change.place)}"
        yield f"  old  {_shown(change.old)}"
        yield f"  new  {_shown(change.new)}"
    for seen in repair.evidence[:_SHOWN_EVIDENCE]:
        yield textwrap.shorten(f"seen {_shown(seen.old)}: {_shown(seen.new)}", WIDTH - 4, placeholder=" ...")


def _shown(value: JSONValue) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
