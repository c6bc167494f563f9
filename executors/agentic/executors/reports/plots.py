"""Plots as SVG: no script, no library; colours come from the page around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from agentic.executors.reports.facts import STEP_BOUNDS_S, Timeline
from agentic.executors.reports.markup import Html, element, joined
from agentic.executors.reports.scales import clock, counted, duration, nice_ticks, number, time_ticks

WIDTH, HEIGHT = 520.0, 216.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 14.0, 12.0, 26.0
SPARK_WIDTH, SPARK_HEIGHT = 132.0, 26.0


@dataclass(frozen=True, slots=True)
class _Frame:
    """Maps seconds and values to positions in a plot."""

    span_s: float
    ticks: Sequence[float]

    def x(self, seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / self.span_s

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / self.ticks[-1]

    def lines(self) -> Html:
        """Return the lines behind the plot, with their labels."""
        across = [
            element(
                "line", x1=LEFT, x2=WIDTH - RIGHT, y1=_at(self.y(tick)), y2=_at(self.y(tick)), class_="grid"
            )
            for tick in self.ticks
        ]
        values = [
            element("text", number(tick), x=LEFT - 8, y=_at(self.y(tick)), class_="tick value")
            for tick in self.ticks
        ]
        moments = [
            element("text", clock(tick), x=_at(self.x(tick)), y=HEIGHT - 6, class_="tick")
            for tick in time_ticks(self.span_s)
        ]
        return joined([*across, *values, *moments])


def cumulative_plot(timeline: Timeline) -> Html:
    """Return the number of pages at each moment, as a rising line."""
    sums = [0, *accumulate(timeline.counts)]
    frame = _Frame(timeline.step_s * len(timeline.counts), nice_ticks(sums[-1]))
    points = [f"{_at(frame.x(n * timeline.step_s))} {_at(frame.y(total))}" for n, total in enumerate(sums)]
    base, end = _at(frame.y(0)), _at(frame.x(frame.span_s))
    path = "L".join(points)
    told = f"{counted(sums[-1], 'page')} within {duration(frame.span_s)}."
    return _plot(
        "Pages fetched (total)",
        told,
        frame.lines(),
        element("path", d=f"M{path}L{end} {base}L{_at(LEFT)} {base}Z", class_="area"),
        element("path", d=f"M{path}", class_="stroke"),
    )


def rate_plot(timeline: Timeline) -> Html:
    """Return pages per second in each interval, as bars."""
    rates = [count / timeline.step_s for count in timeline.counts]
    frame = _Frame(timeline.step_s * len(rates), nice_ticks(max(rates, default=0)))
    gap = 1.5 if len(rates) > 1 else 0.0
    wide = max((WIDTH - LEFT - RIGHT) / len(rates) - gap, 1.0)
    bars = [
        element(
            "rect",
            element("title", f"{clock(n * timeline.step_s)}: {number(rate)} pages a second"),
            x=_at(frame.x(n * timeline.step_s) + gap / 2),
            y=_at(frame.y(rate)),
            width=_at(wide),
            height=_at(frame.y(0) - frame.y(rate)),
            rx=_at(min(wide / 3, 2.0)),
            class_="bar",
        )
        for n, rate in enumerate(rates)
        if rate
    ]
    most, step = number(max(rates, default=0)), duration(timeline.step_s)
    told = f"At most {most} pages a second, in intervals of {step}."
    return _plot("Pages a second", told, frame.lines(), *bars)


def spark(classes: Sequence[int]) -> Html:
    """Return a small histogram of durations."""
    labels = class_labels()
    told = "; ".join(f"{label}: {count:,}" for label, count in zip(labels, classes, strict=True) if count)
    wide, most = SPARK_WIDTH / len(classes), max(classes, default=0) or 1
    bars = [
        element(
            "rect",
            element("title", f"{label}: {count:,}"),
            x=_at(place * wide + 0.75),
            y=_at(SPARK_HEIGHT - high),
            width=_at(wide - 1.5),
            height=_at(high),
            rx=1,
            class_="bar" if count else "none",
        )
        for place, (label, count) in enumerate(zip(labels, classes, strict=True))
        for high in [max((SPARK_HEIGHT - 2) * count / most, 3.0 if count else 1.0)]
    ]
    return element(
        "svg",
        element("title", "Time per page"),
        element("desc", told or "none"),
        *bars,
        role="img",
        class_="spark",
        viewBox=f"0 0 {SPARK_WIDTH:g} {SPARK_HEIGHT:g}",
        width=SPARK_WIDTH,
        height=SPARK_HEIGHT,
    )


def class_labels() -> list[str]:
    """Return the labels of the classes in a histogram of durations."""
    starts = ["under " + duration(STEP_BOUNDS_S[0])]
    between = [f"{duration(a)} to {duration(b)}" for a, b in pairwise(STEP_BOUNDS_S)]
    return [*starts, *between, f"{duration(STEP_BOUNDS_S[-1])} or more"]


def _plot(title: str, description: str, *parts: Html) -> Html:
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        *parts,
        role="img",
        class_="plot",
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        aria_label=f"{title}. {description}",
    )


def _at(place: float) -> str:
    return f"{place:.1f}".removesuffix(".0")
