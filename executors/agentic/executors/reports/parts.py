"""The parts of a report's sections: cards, tables, bars, lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentic.executors.reports.markup import Html, element, joined
from agentic.executors.reports.scales import number, share

CELL_CHARS = 160


@dataclass(frozen=True, slots=True)
class BarPart:
    """A drawn part of a whole: its name, number and colour."""

    name: str
    count: float
    colour: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report; without content it is omitted."""

    anchor: str
    title: str
    about: str
    content: Html

    def card(self) -> Html:
        """Return it as markup."""
        return element(
            "section",
            element("h2", self.title),
            element("p", self.about, class_="about"),
            self.content,
            class_="card",
            id=self.anchor,
        )


def tile(name: str, figure: str, unit: str = "", aside: str = "", *, is_alarm: bool = False) -> Html:
    """Return a figure of the summary."""
    shown = [figure, element("small", unit)] if unit else [figure]
    return element(
        "div",
        element("div", name, class_="name"),
        element("div", *shown, class_="figure"),
        element("div", aside, class_="aside"),
        class_="tile alarm" if is_alarm else "tile",
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numeric: Iterable[str] = ()) -> Html:
    """Return a table.

    Args:
        columns: Headings.
        rows: The cells of each row; cells that are not markup are escaped.
        numeric: Columns of numbers.
    """
    right = {column for column in columns if column in set(numeric)}
    head = [element("th", name, scope="col", class_="n" if name in right else None) for name in columns]
    body = [
        element(
            "tr", *[_cell(cell, is_number=name in right) for name, cell in zip(columns, row, strict=True)]
        )
        for row in rows
    ]
    whole = element("table", element("thead", element("tr", *head)), element("tbody", *body))
    return element("div", whole, class_="scroll")


def _cell(cell: str, *, is_number: bool) -> Html:
    return element("td", cell, class_="n" if is_number else None)


def track(parts: Sequence[BarPart], whole: float | None = None) -> Html:
    """Return a bar of parts side by side; with ``whole`` its length is their share of that."""
    total = sum(part.count for part in parts) if whole is None else whole
    pieces = [
        element(
            "i",
            class_=f"fill-{part.colour}" if part.colour else "fill",
            style=f"width:{_width(part, total)}%",
        )
        for part in parts
        if part.count
    ]
    told = ", ".join(f"{part.name} {number(part.count)}" for part in parts if part.count) or "nothing"
    return element("div", *pieces, class_="track", role="img", aria_label=told)


def big_bar(parts: Sequence[BarPart]) -> Html:
    """Return a bar with a legend of its colours."""
    total = sum(part.count for part in parts)
    legend = [
        element(
            "li",
            element("i", class_=f"fill-{part.colour}" if part.colour else "fill"),
            element("b", number(part.count)),
            f" {part.name} · {share(part.count, total)}",
        )
        for part in parts
    ]
    return element("div", track(parts), element("ul", *legend, class_="legend"), class_="bigbar")


def folded(summary: str, *parts: str, is_open: bool = False) -> Html:
    """Return content that is folded behind its summary."""
    return element("details", element("summary", summary), *parts, open="" if is_open else None)


def bullets(items: Iterable[str]) -> Html:
    """Return a list without bullets."""
    return element("ul", *[element("li", item) for item in items], class_="plain")


def word(name: str) -> Html:
    """Return a technical name."""
    return element("span", name, class_="mono word")


def shortened(text: str, most: int = CELL_CHARS) -> str:
    """Return text, cut off if it is long."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def and_more(shown: int, total: int) -> Html:
    """Return a note about omitted items, if there are any."""
    if total <= shown:
        return joined([])
    return element("p", f"… and {total - shown:,} more", class_="said")


def _width(part: BarPart, total: float) -> str:
    return f"{100 * part.count / total:.2f}" if total else "0"
