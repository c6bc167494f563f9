"""A view of a durable run, drawn or as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from agentic.core.bus import PublishedEvent
from agentic.core.cli.events import describe
from agentic.core.graph import WorkflowEvent
from agentic.core.ledger import ActivationStatus
from agentic.executors.commands.runs.views import activation_row, request_row, run_row, state_of
from agentic.executors.durable.runs.watch import Look

_STYLES = {"running": "cyan", "completed": "green", "failed": "red", "cancelled": "yellow"}
_COLUMNS = ("executor", "shard", "status", "worker", "lease", "for", "crashes", "note")
_SHOWN_REQUESTS = 3


def look_data(look: Look) -> dict[str, object]:
    """Return a look as JSON-able data."""
    return {
        **run_row(look.run),
        "activations": {str(status): count for status, count in sorted(look.counts.items())},
        "crashes": look.crash_count,
        "open": [activation_row(row, look.run.run_id, look.now) for row in look.activations],
        "requests": [request_row(request) for request in look.requests],
        "event_count": look.event_count,
        "events": [event.to_dict() for event in look.events],
    }


def frame(look: Look, latest: Iterable[WorkflowEvent], project: str) -> RenderableType:
    """Return a look as a frame of a terminal.

    Args:
        look: A look at a run.
        latest: Events to show.
        project: Name of the run's project.
    """
    parts: list[RenderableType] = [*_head(look)]
    if look.activations:
        parts.append(_table(look))
    parts += [_line(f"  waits for {request.id}", "magenta") for request in look.requests[:_SHOWN_REQUESTS]]
    if look.requests:
        parts.append(_line(f"  see `agentic requests list --run {look.run.run_id}`", "dim"))
    parts += [event_line(event, project) for event in latest]
    return Group(*parts)


def event_line(event: WorkflowEvent, project: str) -> Text:
    """Return an event as a line."""
    line = describe(PublishedEvent(stream_sequence=0, project=project, event=event))
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def standing(look: Look) -> str:
    """Return the state of a run in one line."""
    facts = [
        f"run {look.run.run_id} is {state_of(look.run)}",
        f"superstep {look.run.superstep}",
        _counted(look),
    ]
    facts += [f"{look.crash_count} crashes"] if look.crash_count else []
    facts += [f"{len(look.requests)} requests wait"] if look.requests else []
    facts += [look.run.error] if look.run.error else []
    return "; ".join(filter(None, facts))


def _head(look: Look) -> Iterator[Text]:
    run = look.run
    status = str(run.status)
    took_s = (run.finished_at or look.now) - run.created_at
    yield Text.assemble((run.run_id, "bold"), "  ", (state_of(run), _STYLES.get(status, "magenta")))
    yield _line(f"  {run.workflow}", "")
    facts = {
        "superstep": run.superstep,
        "seconds": f"{took_s:.1f}",
        "events": look.event_count,
        "crashes": look.crash_count,
        "requests": len(look.requests),
    }
    yield _line("  " + "  ".join(f"{name} {fact}" for name, fact in facts.items()), "")
    yield _line(f"  {_counted(look) or 'no activations'}", "")
    for reason in filter(None, (run.cancel_reason, run.note, run.error)):
        yield _line(f"  {reason}", "red" if reason == run.error else "yellow")


def _table(look: Look) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in _COLUMNS:
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    for row in look.activations:
        table.add_row(*_cells(activation_row(row, look.run.run_id, look.now)))
    return table


def _cells(row: Mapping[str, object]) -> Iterator[Text]:
    shown = {**row, "lease": _lease(row["lease_s"], row["due_in_s"]), "for": _seconds(row["for_s"])}
    for column in _COLUMNS:
        value = shown[column]
        yield Text("" if value is None else str(value), "red" if column == "crashes" and value else "")


def _lease(left_s: object, due_in_s: object) -> str:
    """Return the remaining time of a claim, or the time until one is possible."""
    if isinstance(due_in_s, float):
        return f"due in {due_in_s:.0f} s"
    if not isinstance(left_s, float):
        return ""
    return f"{left_s:.0f} s" if left_s >= 0 else f"over for {-left_s:.0f} s"


def _seconds(passed_s: object) -> str:
    return f"{passed_s:.1f} s" if isinstance(passed_s, float) else ""


def _counted(look: Look) -> str:
    return ", ".join(
        f"{look.counts[status]} {status}" for status in ActivationStatus if status in look.counts
    )


def _line(text: str, style: str) -> Text:
    return Text(text, style, no_wrap=True, overflow="ellipsis")
