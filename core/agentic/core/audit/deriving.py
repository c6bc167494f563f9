"""Reads the decisions of a run from its durable events. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from agentic.core.audit.decision import ENGINE, Decision, DecisionKind, shown_details, shown_reason
from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.types import JSONValue

Facts = Mapping[str, JSONValue]


def decisions_of(events: Iterable[WorkflowEvent]) -> list[Decision]:
    """Return the decisions that events report, in their order.

    An edge that accepts every message is not a decision, and neither is a plain event. Decisions contain no
    inputs, questions, answers or results. Errors are as in their events, on one line and without the
    credentials of URLs.
    """
    return [found for event in events if (found := _decision(event)) is not None]


def decided_by(events: Iterable[WorkflowEvent]) -> tuple[float | None, str | None]:
    """Return the time of the newest event that reports a decision, and the kinds of all such events.

    The kinds are words of a text, each once. None without such events.
    """
    telling = [event for event in events if event.kind in DECIDING and _tells(event)]
    if not telling:
        return None, None
    kinds = sorted({str(event.kind) for event in telling})
    return max(event.time for event in telling), f" {' '.join(kinds)} "


def _tells(event: WorkflowEvent) -> bool:
    """Whether it may report a decision; most edges accept every message, and report none."""
    return event.kind is not EventKind.EDGE_ACTIVATED or bool(event.data.get("rule"))


def _decision(event: WorkflowEvent) -> Decision | None:
    tell = _TOLD.get(event.kind)
    return None if tell is None or "dropped_bytes" in event.data else tell(event)


def _route(event: WorkflowEvent) -> Decision | None:
    data = event.data
    rule = _text(data, "rule")
    chosen = data.get("chosen")
    if not rule:
        return None
    targets = list(chosen) if isinstance(chosen, dict) else _names(data, "targets")
    cases = data.get("cases")
    reasons = [_text(cases, target) for target in targets] if isinstance(cases, dict) else [rule]
    details: dict[str, JSONValue] = {"edge": _text(data, "edge"), "messages": data.get("message_count")}
    if isinstance(chosen, dict):
        details["chosen"] = chosen
    what = f"{' + '.join(_names(data, 'sources'))} to {' + '.join(targets)}"
    return _told(event, DecisionKind.ROUTE_TAKEN, what, "; ".join(dict.fromkeys(reasons)), details)


def _failure(event: WorkflowEvent) -> Decision:
    data = event.data
    reason = f"{_text(data, 'error_type')}: {_text(data, 'error')}".strip(": ")
    details: dict[str, JSONValue] = {"executor": event.path, "attempt": event.attempt}
    if event.shard:
        details["shard"] = event.shard
    if data.get("will_retry"):
        what = f"{event.path} is retried after attempt {event.attempt}"
        return _told(event, DecisionKind.ATTEMPT_RETRIED, what, reason, details)
    then = "the run continues without it" if data.get("handled") else "the run fails"
    what = f"{event.path} failed for good after attempt {event.attempt}, {then}"
    return _told(event, DecisionKind.EXECUTOR_GIVEN_UP, what, reason, details)


def _dropped(event: WorkflowEvent) -> Decision:
    what = f"a {_text(event.data, 'type')} of {event.path} is not delivered"
    return _told(event, DecisionKind.MESSAGE_DROPPED, what, _text(event.data, "reason"))


def _raised(event: WorkflowEvent) -> Decision:
    data = event.data
    what = f"{event.path} asks and waits for the answer"
    details = {name: data.get(name) for name in ("request", "response_type", "deadline")}
    return _told(event, DecisionKind.REQUEST_RAISED, what, "it needs an answer to continue", details)


def _answered(event: WorkflowEvent) -> Decision:
    request = _text(event.data, "request")
    who = _text(event.data, "answered_by") or "somebody"
    return _told(
        event,
        DecisionKind.REQUEST_ANSWERED,
        f"{request} is answered",
        "the run asked for it",
        {"request": request},
        who=who,
    )


def _expired(event: WorkflowEvent) -> Decision:
    request, deadline = _text(event.data, "request"), event.data.get("deadline")
    details: dict[str, JSONValue] = {"request": request, "deadline": deadline}
    reason = "no answer in time"
    return _told(event, DecisionKind.REQUEST_EXPIRED, f"{request} expires", reason, details)


def _resumed(event: WorkflowEvent) -> Decision:
    data = event.data
    details: dict[str, JSONValue] = {name: data.get(name) for name in ("checkpoint", "changed")}
    reason = f"it was {_text(data, 'was')}" if data.get("was") else ""
    return _told(event, DecisionKind.RUN_RESUMED, "the run continues where it stopped", reason, details)


def _failed(event: WorkflowEvent) -> Decision:
    error_type = _text(event.data, "error_type")
    kind = _ENDS.get(error_type, DecisionKind.RUN_FAILED)
    details: dict[str, JSONValue] = {"error_type": error_type, "unfinished": event.data.get("unfinished")}
    return _told(event, kind, "the run ends", _text(event.data, "error"), details)


def _cancelled(event: WorkflowEvent) -> Decision:
    return _told(event, DecisionKind.RUN_CANCELLED, "the run ends", "it was requested")


def _told(
    event: WorkflowEvent,
    kind: DecisionKind,
    what: str,
    reason: str,
    details: Mapping[str, JSONValue] | None = None,
    *,
    who: str = ENGINE,
) -> Decision:
    return Decision(
        id=event.id,
        time=event.time,
        kind=kind,
        subject=event.run_id,
        who=who,
        what=shown_reason(what),
        reason=shown_reason(reason),
        details=shown_details({"superstep": event.superstep, **(details or {})}),
    )


def _text(data: Facts, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _names(data: Facts, name: str) -> list[str]:
    value = data.get(name)
    return [str(part) for part in value] if isinstance(value, list) else []


_TOLD: Mapping[EventKind, Callable[[WorkflowEvent], Decision | None]] = {
    EventKind.EDGE_ACTIVATED: _route,
    EventKind.EXECUTOR_FAILED: _failure,
    EventKind.MESSAGE_UNDELIVERABLE: _dropped,
    EventKind.REQUEST_RAISED: _raised,
    EventKind.REQUEST_ANSWERED: _answered,
    EventKind.REQUEST_EXPIRED: _expired,
    EventKind.RUN_RESUMED: _resumed,
    EventKind.RUN_FAILED: _failed,
    EventKind.RUN_CANCELLED: _cancelled,
}

_ENDS = {
    "RunTimeoutError": DecisionKind.RUN_TIMED_OUT,
    "ConvergenceError": DecisionKind.RUN_DIVERGED,
}

DECIDING = frozenset(_TOLD)
"""The kinds of events that may contain a decision."""

_TOLD_BY: Mapping[DecisionKind, EventKind] = {
    DecisionKind.ROUTE_TAKEN: EventKind.EDGE_ACTIVATED,
    DecisionKind.ATTEMPT_RETRIED: EventKind.EXECUTOR_FAILED,
    DecisionKind.EXECUTOR_GIVEN_UP: EventKind.EXECUTOR_FAILED,
    DecisionKind.MESSAGE_DROPPED: EventKind.MESSAGE_UNDELIVERABLE,
    DecisionKind.REQUEST_RAISED: EventKind.REQUEST_RAISED,
    DecisionKind.REQUEST_ANSWERED: EventKind.REQUEST_ANSWERED,
    DecisionKind.REQUEST_EXPIRED: EventKind.REQUEST_EXPIRED,
    DecisionKind.RUN_RESUMED: EventKind.RUN_RESUMED,
    DecisionKind.RUN_FAILED: EventKind.RUN_FAILED,
    DecisionKind.RUN_TIMED_OUT: EventKind.RUN_FAILED,
    DecisionKind.RUN_DIVERGED: EventKind.RUN_FAILED,
    DecisionKind.RUN_CANCELLED: EventKind.RUN_CANCELLED,
}


def telling(kinds: Collection[DecisionKind], who: str | None) -> frozenset[EventKind]:
    """Return the kinds of events that may report these decisions.

    Args:
        kinds: Kinds of decisions; empty for any.
        who: The author, if that matters: people decide in runs by answering.
    """
    found = frozenset(_TOLD_BY[kind] for kind in kinds if kind in _TOLD_BY) if kinds else DECIDING
    return found if who in {None, ENGINE} else found & {EventKind.REQUEST_ANSWERED}
