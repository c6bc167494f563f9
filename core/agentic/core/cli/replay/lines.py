"""The steps of a run as lines for people.

Names and values come from outside: everything goes through ``visible``, ``short`` or ``shown``, so that
nothing of it is taken for markup or obeyed by a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from rich.text import Text

from agentic.core.cli.replay.story import Gap, ReplayedActivation, ReplayedAttempt, ReplayedRun, ReplayedStep
from agentic.core.cli.texts import short, shown, visible
from agentic.core.graph import RunStatus, RunView
from agentic.core.types import JSONValue

_MOST = 20
"""Lines shown per kind; the others are counted."""

_LABEL_CHARS = 9
_STYLES: Mapping[str, str] = {
    "completed": "green",
    "failed": "red",
    "cancelled": "yellow",
    "parked": "magenta",
    "waiting_input": "magenta",
    "in hand": "yellow",
}


def heading(replayed: ReplayedRun, project: str, sources: str) -> list[Text]:
    """Return what there is to say before the first step: which run, from where, and what is missing."""
    count = max(step.last for step in replayed.steps) - sum(
        last - first + 1 for first, last in replayed.missing
    )
    workflow = f"of workflow {visible(replayed.workflow)}, " if replayed.workflow else ""
    facts = f"{workflow}project {visible(project)}; {_count(count, 'event')} from {sources}"
    lines = [Text.assemble("run ", (visible(replayed.run_id), "bold"), f" {facts}")]
    if replayed.missing:
        first = replayed.missing[0][0]
        lines.append(
            Text(
                f"missing: {_gaps(replayed.missing)}, expired or lost before they reached the stream; the "
                f"state of the run is unknown from event {first} on",
                "yellow",
            )
        )
    return lines


def step_lines(step: ReplayedStep) -> list[Text]:
    """Return a step: what began it, what ran, what came of it, and what is to come."""
    return [_title(step), *_labelled(_begun(step)), *_labelled(_done(step)), *_labelled(_left(step))]


def ending_lines(replayed: ReplayedRun, now: float) -> list[Text]:
    """Return how the run ended, or how far it is known.

    Args:
        replayed: The run.
        now: Seconds since the epoch.
    """
    last = replayed.steps[-1]
    name = visible(replayed.run_id)
    if replayed.status is RunStatus.RUNNING:
        return _unfinished(replayed, last, now)
    if replayed.status is RunStatus.WAITING_INPUT:
        settled = {str(facts.get("request")) for facts in last.settled}
        asked = [one for one in (last.after.requests if last.after else ()) if one not in settled]
        lines = [Text(f"run {name} waits for answers", _STYLES[replayed.status])]
        return [*lines, *_few([Text(f"  to {visible(request)}") for request in asked])]
    took = "" if replayed.duration_s is None else f" after {_seconds(replayed.duration_s)}"
    count = _count(sum(step.is_done for step in replayed.steps), "superstep")
    line = f"run {name} {replayed.status}{took}, {count}"
    error = f": {short(last.error)}" if last.error else ""
    return [Text(f"{line}{error}", _STYLES[replayed.status])]


def _unfinished(replayed: ReplayedRun, last: ReplayedStep, now: float) -> list[Text]:
    """Say of a run without an end where it stood; whether its process lives is told by no event."""
    name = visible(replayed.run_id)
    if last.in_hand:
        within = f"in superstep {last.number}, {len(last.in_hand)} still running"
    else:
        within = f"{'after' if last.is_done else 'in'} superstep {last.number}"
    when = f"{_clock(replayed.heard_at)}, {_ago(now - replayed.heard_at)}"
    in_hand = [Text(f"  running: {_named(one)}{_given(one)}") for one in last.in_hand]
    return [
        Text(f"run {name} has not ended; last event {when}, {within}", "yellow"),
        *_few(in_hand),
        Text("  it is still running, or its process was killed: events do not show which"),
    ]


def _title(step: ReplayedStep) -> Text:
    leg = f", leg {step.leg}" if step.leg > 1 else ""
    took = "no end recorded" if step.duration_s is None else _seconds(step.duration_s)
    broken_off = "" if step.is_done or step.duration_s is None else ", interrupted"
    facts = f"  {took}{broken_off}  {_clock(step.began_at)}  events {step.first}-{step.last}"
    return Text.assemble((f"superstep {step.number}{leg}", "bold"), (facts, "dim"))


Labelled = tuple[str, Text]


def _begun(step: ReplayedStep) -> Iterator[Labelled]:
    if step.missing:
        yield "missing", Text(_gaps(step.missing), "yellow")
    for number in step.bare:
        yield "missing", Text(f"details of event {number}: too large for the bus", "yellow")
    if step.resumed_from is not None:
        killed = ": its process was killed" if step.resumed_from == RunStatus.RUNNING else ""
        yield "resumed", Text(f"state was {visible(step.resumed_from)}{killed}", "yellow")
    for facts in step.settled:
        yield "request", Text(_settled(facts))


def _done(step: ReplayedStep) -> Iterator[Labelled]:
    ran = [_activation(one) for one in step.activations]
    for line in _few_groups(ran):
        yield "ran", line
    yield from _all("edge", (f"{visible(name)} carried {count}" for name, count in step.edges.items()))
    yield from _all("astray", (f"{visible(words)}  {shown(value)}" for words, value in step.astray))
    yield from _all("output", (f"{shown(value)}  of {visible(path)}" for path, value in step.outputs))
    for table in ("state", "local"):
        yield from _all(table, _changes(step.changes.get(table, {})))
    yield from _all("asks", (_asked(facts) for facts in step.raised))
    for target, missing in step.starving.items():
        yield "starves", Text(f"{visible(target)} lacks {visible(', '.join(missing))}", "yellow")


def _left(step: ReplayedStep) -> Iterator[Labelled]:
    if step.is_done and step.after is not None:
        yield from _all("next", _due(step.after))
        yield from _all("waits", _waiting(step.after))
    if step.ending is not None:
        error = f": {short(step.error)}" if step.error else ""
        yield "run", Text(f"{step.ending.replace('_', ' ')}{error}", _STYLES[step.ending])


def _activation(one: ReplayedActivation) -> list[Text]:
    """Return an activation: the line that says how it ended, and one for each try before."""
    took = "" if one.duration_s is None else f" in {_seconds(one.duration_s)}"
    attempt = f", attempt {one.attempt}" if one.attempt > 1 else ""
    again = ", again" if one.facts.get("again") else ""
    line = Text.assemble(
        (_named(one), "cyan"),
        " ",
        (one.outcome, _STYLES[one.outcome]),
        f"{took}{attempt}{again}{_given(one)}",
    )
    runs = [Text(f"  run {visible(run)}, nested") for run in one.runs]
    return [line, *(_attempt(failure) for failure in one.failures), *runs]


def _attempt(failure: ReplayedAttempt) -> Text:
    took = "" if failure.duration_s is None else f" after {_seconds(failure.duration_s)}"
    then = "; retried" if failure.will_retry else ""
    return Text(f"  attempt {failure.number} failed{took}: {short(failure.error)}{then}", "red")


def _named(one: ReplayedActivation) -> str:
    shard = f"#{one.shard}" if one.shard else ""
    item = one.facts.get("item")
    of_list = f" item {item[1]}" if isinstance(item, list) and len(item) == 2 else ""
    passed = f" pass {one.facts['pass']}" if "pass" in one.facts else ""
    return f"{visible(one.path)}{shard}{of_list}{passed}"


def _given(one: ReplayedActivation) -> str:
    sources = f" {visible('+'.join(one.sources))}:" if one.sources else ""
    return f"  <-{sources} {shown(one.input)}"


def _changes(entries: Mapping[str, JSONValue]) -> Iterator[str]:
    return (f"{visible(name)} = {shown(value)}" for name, value in entries.items())


def _asked(facts: Mapping[str, JSONValue]) -> str:
    kind = f" ({visible(str(facts['response_type']))})" if facts.get("response_type") else ""
    return f"{visible(str(facts.get('request')))}  {shown(facts.get('question'))}{kind}"


def _settled(facts: Mapping[str, JSONValue]) -> str:
    name = visible(str(facts.get("request")))
    if "answer" not in facts:
        return f"{name} expired"
    by = f" by {visible(str(facts['answered_by']))}" if facts.get("answered_by") else ""
    return f"{name} answered{by}  {shown(facts['answer'])}"


def _due(view: RunView) -> Iterator[str]:
    for one in view.due:
        shard = f"#{one.shard}" if one.shard else ""
        yield f"{visible(one.executor_id)}{shard}  <- {shown(one.message)}"


def _waiting(view: RunView) -> Iterator[str]:
    for edge, by_source in view.fan_ins.items():
        held = ", ".join(f"{count} of {visible(source)}" for source, count in by_source.items())
        yield f"join {visible(edge)} holds {held}"
    for done, count in view.maps.values():
        yield f"list of {count}: {done} done"
    for request in view.requests:
        yield f"request {visible(request)}"


def _all(label: str, lines: Iterable[str]) -> Iterator[Labelled]:
    return ((label, line) for line in _few([Text(line) for line in lines]))


def _few(lines: Sequence[Text]) -> list[Text]:
    return list(_few_groups([[line] for line in lines]))


def _few_groups(groups: Sequence[Sequence[Text]]) -> Iterator[Text]:
    for group in groups[:_MOST]:
        yield from group
    if len(groups) > _MOST:
        yield Text(f"… and {len(groups) - _MOST:,} more; --json has all", "dim")


def _labelled(lines: Iterable[Labelled]) -> Iterator[Text]:
    """Yield lines behind their labels; a label that is that of the line before is left out."""
    before = ""
    for label, line in lines:
        yield Text.assemble("  ", (f"{'' if label == before else label:{_LABEL_CHARS}} ", "dim"), line)
        before = label


def _gaps(gaps: Iterable[Gap]) -> str:
    words = [str(first) if first == last else f"{first}-{last}" for first, last in gaps]
    noun = "events" if len(words) > 1 or "-" in words[0] else "event"
    return f"{noun} {', '.join(words)}"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _seconds(duration_s: float) -> str:
    return f"{duration_s:.3f}s" if duration_s < 10 else f"{duration_s:.1f}s"


def _ago(passed_s: float) -> str:
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if passed_s >= 2 * size:
            return f"{passed_s / size:.0f} {unit} ago"
    return f"{max(0.0, passed_s):.0f} s ago"


def _clock(time: float) -> str:
    return datetime.fromtimestamp(time).astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
