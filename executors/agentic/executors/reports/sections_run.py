"""Sections about the whole run: its identity, figures and steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from agentic.executors.reports.facts import Header, PageCounts, RunReport, StepFacts
from agentic.executors.reports.markup import Html, element, joined
from agentic.executors.reports.parts import BarPart, Section, table, tile, track, word
from agentic.executors.reports.plots import spark
from agentic.executors.reports.scales import duration, number, share

LISTED_WORKERS = 4
LISTED_HOSTS = 3

_PILLS = {"succeeded": "ok", "partial": "warn", "failed": "bad", "cancelled": "warn"}


def head(report: RunReport) -> Html:
    """Show which execution it was, and its outcome."""
    header = report.header
    place = f"Run report · {header.platform} · project {header.project}"
    pill = element("span", header.status, class_=f"pill {_PILLS.get(header.status, 'busy')}")
    facts = [
        element("div", element("dt", name), element("dd", fact)) for name, fact in _facts(report) if fact
    ]
    return element(
        "header",
        element("p", place, class_="eyebrow"),
        element("h1", header.pipeline or header.agent, pill),
        *([element("p", header.description, class_="lead")] if header.description else []),
        *_notices(header),
        element("dl", *facts, class_="facts"),
    )


def _notices(header: Header) -> Iterator[Html]:
    if header.error:
        yield element("p", element("b", "Error: "), header.error, class_="notice bad")
    elif header.reason:
        label = f"{header.status.capitalize()}: "
        yield element("p", element("b", label), header.reason, class_="notice warn")


def _facts(report: RunReport) -> Iterator[tuple[str, str]]:
    header = report.header
    hosts = [host.host for host in report.hosts[:LISTED_HOSTS]]
    if report.host_count > len(hosts):
        hosts.append(f"and {report.host_count - len(hosts)} more")
    took = "" if header.seconds is None else f" · {duration(header.seconds)}"
    yield "Execution", element("span", header.execution_id, class_="mono")
    yield "Agent", "" if header.agent == header.pipeline else header.agent
    yield "Pipeline", _version(header)
    yield "Started", moment(header.started_at or header.created_at)
    yield "Ended", f"{moment(header.finished_at)}{took}" if header.finished_at else ""
    yield "Attempts", str(header.attempts) if header.attempts > 1 else ""
    yield "Workers", _listed(header.workers, LISTED_WORKERS)
    yield "Source", ", ".join(hosts)


def _version(header: Header) -> Html:
    if header.digest is None:
        return joined([])
    version = "" if header.version is None else f"version {header.version}, "
    shown = element("span", header.digest[:12], class_="mono", title=header.digest)
    return joined([version, shown, " · changed since" if header.is_changed else ""])


def _listed(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join([*names[:most], *([f"and {more} more"] if more > 0 else [])])


def tiles(report: RunReport) -> Html:
    """Show the key figures."""
    return element("div", *_tiles(report), class_="tiles")


def _tiles(report: RunReport) -> Iterator[Html]:
    pages, seconds = report.pages, report.header.seconds
    if pages is not None:
        failed = pages.failed - pages.excluded
        finished = pages.done + failed
        left = f", {number(pages.left)} left" if pages.left else ""
        yield tile("Pages fetched", number(pages.done), "", f"of {number(pages.known)} known{left}")
        yield tile(
            "Failed pages",
            number(failed),
            "",
            f"{share(failed, finished)} of finished pages{_excluded(pages)}",
            is_alarm=failed > 0.1 * finished,
        )
        if seconds:
            yield tile("Pace", number(finished / seconds), "pages/s", "from start to end")
    rows = sum(count for name, count in report.rows.items() if name != "failed")
    yield tile("Rows", number(rows), "", _row_words(report))
    if tried := report.strategies.looked_at:
        had = f"{number(report.strategies.recovered)} recovered"
        yield tile("Retried pages", number(tried), "", had)
    if seconds is not None:
        run = (
            f"{number(report.header.superstep_count)} supersteps, {number(report.header.event_count)} events"
        )
        yield tile("Time", *_split(duration(seconds)), run)


def _excluded(pages: PageCounts) -> str:
    return f"; {number(pages.excluded)} disallowed by robots.txt" if pages.excluded else ""


def _row_words(report: RunReport) -> str:
    found = {name: count for name, count in report.rows.items() if count and name != "failed"}
    words = [f"{number(count)} {name}" for name, count in found.items()]
    return ", ".join(words) or "nothing was stored"


def _split(words: str) -> tuple[str, str]:
    figure, _, unit = words.partition(" ")
    return figure, unit


def graph_section(graph: str, *, is_changed: bool) -> Section:
    """Show the pipeline."""
    about = "The compiled graph: each step is an executor, each arrow a message."
    if is_changed:
        about = "With the current configuration of the agent, which has changed since."
    return Section("pipeline", "Pipeline", about, element("div", Html(graph), class_="graph"))


def steps_section(steps: Sequence[StepFacts]) -> Section:
    """Show where the time was spent."""
    most = max(step.total_s for step in steps) or 1.0
    columns = ("step", "times", "in all", " ", "mean", "longest", "durations")
    rows = [
        (
            word(step.name),
            number(step.count),
            duration(step.total_s),
            track([BarPart(step.name, step.total_s, "")], most),
            duration(step.total_s / step.count),
            duration(step.longest_s),
            spark(step.histogram),
        )
        for step in steps
    ]
    about = (
        "Seconds in the activations of each step; parallel ones count each. The small bars range from "
        "under 3 ms to over 100 s."
    )
    numeric = ("times", "in all", "mean", "longest")
    return Section("steps", "Time by step", about, table(columns, rows, numeric=numeric))


def moment(time: datetime) -> str:
    """Return a time to the second, in UTC."""
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"
