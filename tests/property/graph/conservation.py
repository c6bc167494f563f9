"""Whether a message vanished: looked up in the events and the state of a run, not in a model of it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.property.graph.history import History, gists
from tests.property.graph.mail import gist, holds
from tests.property.graph.model import chosen
from tests.property.graph.shapes import Direct, FanOut, Link, MapOver, Retry, Shape, Switch, ends_of

from agentic.core import EventKind, WorkflowEvent
from agentic.core.graph.model.state import RunState


def vanished(shape: Shape, history: History, state: RunState) -> Iterator[str]:
    """Tell of messages that were sent and are neither delivered, superseded, undeliverable nor pending.

    A message that a rule on its way held back is none of these; what a retry edge took goes along with the
    input that is delivered again.
    """
    found = {*_arrived(history), *_lost(history), *_pending(state)}
    bodies = {link.body for link in shape.links if isinstance(link, MapOver)}
    for event in history.of(EventKind.EXECUTOR_COMPLETED):
        if event.path in bodies or not history.of(EventKind.SUPERSTEP_COMPLETED, event.superstep):
            continue
        for message, aim in history.sends(event):
            links = [link for link in shape.links if ends_of(link, event.path)]
            on_its_way = [link for link in links if aim is None or aim in ends_of(link, event.path)]
            if not found.intersection(_gists(message)) and not any(
                _holds_back(link, message, aim) or _takes_back(link, history, event) for link in on_its_way
            ):
                yield f"{event.path} sent {message} in superstep {event.superstep}"


def _gists(message: object) -> Iterator[str]:
    """Yield what a message can be found by; a list is worked off item by item."""
    yield gist(message)
    if isinstance(message, list):
        yield from map(gist, message)


def _arrived(history: History) -> Iterator[str]:
    for event in history.of(EventKind.EXECUTOR_INVOKED):
        yield from _gists(history.value(event.data["input"]))


def _lost(history: History) -> Iterator[str]:
    yield from gists(history, history.of(EventKind.MESSAGE_UNDELIVERABLE))
    yield from gists(history, history.of(EventKind.MESSAGE_SUPERSEDED))


def _pending(state: RunState) -> Iterator[str]:
    for buffer in state.fan_ins.values():
        for held in buffer.values():
            yield from (gist(one.payload.value) for one in held)
    for activation in state.activations:
        yield from _gists(activation.delivery.payload.value)
        yield from (gist(payload.value) for payload in activation.delivery.feedback)
    for progress in state.maps.values():
        yield from _gists(progress.items.value)


def _holds_back(link: Link, message: object, aim: str | None) -> bool:
    match link:
        case Direct() | Switch() | FanOut():
            return all(aim not in {None, target} for target in chosen(link, message))
        case Retry():
            return not holds(link.rule, message)
        case _:
            return False


def _takes_back(link: Link, history: History, event: WorkflowEvent) -> bool:
    """Whether a retry edge delivered an input again after ``event``."""
    return isinstance(link, Retry) and any(
        after.path == link.target and "pass" in after.data
        for after in history.of(EventKind.EXECUTOR_INVOKED, event.superstep + 1)
    )
