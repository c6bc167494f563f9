"""How commands print: tables for people, JSON for scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from agentic.core.cli.plain import print_json, write_json
from agentic.core.terminal import harmless

__all__ = [
    "HarmlessConsole",
    "console",
    "err_console",
    "print_facts",
    "print_json",
    "print_lines",
    "print_rows",
    "print_sample",
    "whole_console",
    "write_json",
]

_CELL_WIDTH = 22
_PADDING = 3
_HEAD_LINES = 4
"""Lines of a table besides its rows."""
_MAX_ROW_LINES = 3
"""Lines of a folded row of a table, in the mean; rows that need more are printed as blocks."""


class HarmlessConsole(Console):
    """Prints text from outside without what a terminal would obey; its own colours and cursor stay."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield what is printed, with control characters in texts written out."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(harmless(segment.text), segment.style)


console = HarmlessConsole()
"""Standard output: the result of the command."""

err_console = HarmlessConsole(stderr=True)
"""Standard error: progress, warnings and errors."""


_WHOLE = 100_000
"""Columns of a console that never truncates."""


def whole_console() -> Console:
    """Return what prints to standard output: fitted to a terminal, and whole in files and pipes."""
    return console if console.is_terminal else HarmlessConsole(width=_WHOLE)


def print_rows(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, object]],
    *,
    as_json: bool = False,
    styles: Mapping[str, Sequence[str | None]] | None = None,
    where: Console | None = None,
) -> None:
    """Print ``rows`` as a table, or as a JSON list of objects when ``as_json``.

    Rows that are too wide for the terminal are blocks, with a line for each cell.

    Args:
        title: Heading of the table; not printed in JSON.
        columns: Keys of the rows, in order. JSON holds every key of a row, the table only these.
        rows: One mapping a row; missing and None cells stay empty.
        as_json: For scripts.
        styles: Column -> the Rich style of its cell in each row.
        where: Console of the table; standard output by default.
    """
    if as_json:
        print_json([dict(row) for row in rows])
    else:
        cells = [[_shown(row.get(column)) for column in columns] for row in rows]
        _print_table(title, columns, cells, styles or {}, where)


def print_sample(title: str, columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Print a glance at ``rows``: a line each, long cells cut, and only the first columns that fit.

    Nested values are shortened: a price is ``0.50 EUR``, and a list of mappings is its first one. A line
    below the table names the columns that do not fit.
    """
    cells = [[" ".join(_brief(row.get(column)).split()) for column in columns] for row in rows]
    widths = _fitting(columns, cells, console.width - 2)
    cut = [[_cut(cell, width) for cell, width in zip(row, widths, strict=False)] for row in cells]
    _print_table(title, columns[: len(widths)], cut)
    if left_out := columns[len(widths) :]:
        console.print(Text(harmless(f"  not shown: {', '.join(left_out)}"), "dim"))


def print_facts(title: str, facts: Mapping[str, object]) -> None:
    """Print ``facts`` one a line, their names before them; those without a value are left out."""
    shown = {name.replace("_", " "): _shown(value) for name, value in facts.items() if value is not None}
    width = max(map(len, shown), default=0)
    console.print(Text(title, style="bold"), soft_wrap=True)
    for name, value in shown.items():
        console.print(Text(harmless(f"  {name:<{width}}  {value}")), soft_wrap=True)


def print_lines(title: str, columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Print a line for each of ``rows``, whose last column is long: cut on a terminal, whole in a pipe.

    Args:
        title: Heading of the table.
        columns: Keys of the rows, in order; all but the last are short.
        rows: One mapping a row.
    """
    heads = [column.replace("_", " ") for column in columns]
    cells = [[" ".join(_shown(row.get(column)).split()) for column in columns] for row in rows]
    widths = [max(map(cell_len, (head, *values))) for head, *values in zip(heads, *cells, strict=True)]
    room = console.width - sum(widths[:-1]) - _PADDING * len(columns)
    if console.is_terminal:
        widths[-1] = max(min(widths[-1], room), len(heads[-1]))
    console.print(Text(title, style="bold"))
    console.print(Text(_line(heads, widths), style="bold"), soft_wrap=True)
    for row in cells:
        # As plain text: brackets are no markup.
        console.print(Text(harmless(_line(row, widths))), soft_wrap=True)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    cut = [_cut(cell, width) for cell, width in zip(cells, widths, strict=True)]
    padded = [set_cell_size(cell, width) for cell, width in zip(cut, widths, strict=True)]
    return f"  {(' ' * _PADDING).join(padded).rstrip()}"


def _print_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Mapping[str, Sequence[str | None]] = MappingProxyType({}),
    where: Console | None = None,
) -> None:
    where = where or console
    # Not as the title of the table, which would be folded at the width of the table.
    where.print(Text(harmless(title), style="bold"), soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for number, row in enumerate(rows):
        found = [styles[column][number] if column in styles else None for column in columns]
        # As plain text: brackets in scraped data are no markup.
        table.add_row(*(Text(harmless(cell), style or "") for cell, style in zip(row, found, strict=True)))
    if len(where.render_lines(table)) > _HEAD_LINES + _MAX_ROW_LINES * len(rows):
        _print_blocks(columns, rows, styles, where)
    else:
        where.print(table)


def _print_blocks(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Mapping[str, Sequence[str | None]],
    where: Console,
) -> None:
    """Print rows whose columns would be too narrow: the first cell, then a line for each other one."""
    heads = [column.replace("_", " ") for column in columns]
    width = max(map(cell_len, heads[1:]), default=0)
    for number, row in enumerate(rows):
        where.print(Text(f"\n  {harmless(row[0])}", "bold"), soft_wrap=True)
        for column, head, cell in zip(columns[1:], heads[1:], row[1:], strict=True):
            if cell:
                style = styles[column][number] if column in styles else None
                line = f"    {set_cell_size(head, width)}  {harmless(cell)}"
                where.print(Text(line, style or ""), soft_wrap=True)
    where.print()


_MONEY = frozenset({"amount", "currency"})
_CENTS = re.compile(r"-?\d+\.\d")
"""An amount with one digit after the point, which prices are not written with."""


def _brief(value: object) -> str:
    """Return a value as short text: names only where several values need them, and nothing empty."""
    match value:
        case Mapping():
            return _brief_mapping(value)
        case list() | tuple() if any(isinstance(part, Mapping) for part in value):
            return _brief(value[0]) + (f" (+{len(value) - 1})" if len(value) > 1 else "")
        case list() | tuple():
            return ", ".join(map(_brief, value))
        case bool():
            return "yes" if value else "no"
        case _:
            return _shown(value)


def _brief_mapping(value: Mapping[object, object]) -> str:
    filled = {name: part for name, part in value.items() if part not in (None, "", [], {})}
    if "amount" in filled and filled.keys() <= _MONEY:
        return _money(filled["amount"], filled.get("currency"))
    if len(filled) == 1:
        return _brief(next(iter(filled.values())))
    return ", ".join(f"{name}: {_brief(part)}" for name, part in filled.items())


def _money(amount: object, currency: object) -> str:
    text = _shown(amount)
    if _CENTS.fullmatch(text):
        text += "0"
    return f"{text} {_shown(currency)}".rstrip()


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={part}" for key, part in value.items())
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return harmless(str(value))


def _fitting(columns: Sequence[str], cells: Sequence[Sequence[str]], room: int) -> list[int]:
    """Return the widths of the columns that fit into ``room``, at least one.

    Long cells have a share first; then the columns take the room that is left, the first ones first.
    """
    wanted = [
        max(len(column), *(cell_len(row[index]) for row in cells)) if cells else len(column)
        for index, column in enumerate(columns)
    ]
    widths: list[int] = []
    for column, widest in zip(columns, wanted, strict=True):
        width = min(widest, max(len(column), _CELL_WIDTH))
        if widths and width + _PADDING > room:
            break
        widths.append(width)
        room -= width + _PADDING
    for index, width in enumerate(widths):
        more = min(wanted[index] - width, max(room, 0))
        widths[index] += more
        room -= more
    return widths


def _cut(text: str, width: int) -> str:
    """Return the first characters; of a URL or path the last, because these tell it from others."""
    if cell_len(text) <= width:
        return text
    if "/" in text and " " not in text:
        return f"…{text[1 - width :]}"
    return f"{set_cell_size(text, width - 1).rstrip()}…"
