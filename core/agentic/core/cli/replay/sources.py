"""Where the events of a run are: in the stream on NATS, and wherever rooms above keep them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from agentic.core.bus import (
    EventBus,
    EventFilter,
    NatsNotConfiguredError,
    open_bus,
    read_events,
)
from agentic.core.cli.replay.retelling import origin_of, replay_events
from agentic.core.errors import AgenticError
from agentic.core.graph import WorkflowEvent
from agentic.core.settings import load_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvents:
    """What is known of a run.

    Attributes:
        run_id: Its whole id.
        project: The project it belongs to.
        events: Durable events of it and its sub-runs, and the latest live one, in any order.
        sources: Names of where they are from.
    """

    run_id: str
    project: str
    events: Sequence[WorkflowEvent]
    sources: tuple[str, ...]


class EventSource(Protocol):
    """Finds the events of a run."""

    def __call__(self, run: str, project: str | None) -> RunEvents:
        """Return what is known of the run that is called ``run``, or of the one whose id begins so.

        Raises:
            AgenticError: There is none, or it cannot be read; the message says which.
        """
        ...


class RunEventsNotFoundError(AgenticError, LookupError):
    """Nobody has an event of a run."""

    def __init__(self, run: str, faults: Mapping[str, AgenticError]) -> None:
        reasons = "; ".join(f"{name}: {fault}" for name, fault in faults.items())
        super().__init__(f"run {run!r} cannot be replayed: no events found ({reasons})")
        self.run = run


class UnreachableRunError(RunEventsNotFoundError):
    """Nobody has an event of a run, but not everybody could be asked."""

    exit_code: ClassVar[int] = 3


class NoEventError(AgenticError, LookupError):
    """The stream has no event of a run."""

    def __init__(self, run: str, project: str | None) -> None:
        within = f" in project {project!r}" if project else ""
        super().__init__(f"it has no events of run {run!r}{within}; see `agentic events tail`")
        self.run = run


class AmbiguousRunError(AgenticError, LookupError):
    """Several runs are meant."""

    def __init__(self, run: str, found: Sequence[tuple[str, str]]) -> None:
        names = ", ".join(f"{run_id!r} in project {project!r}" for project, run_id in sorted(found)[:5])
        super().__init__(f"{run!r} matches several runs ({names}); use a longer prefix, or --project")
        self.run = run


def in_stream(run: str, project: str | None) -> RunEvents:
    """Find a run in the stream on NATS; see :class:`EventSource`.

    Raises:
        NatsNotConfiguredError: There is no stream.
        BusUnavailableError: The server does not answer.
        NoEventError: The stream has no event of the run.
        AmbiguousRunError: There are several such runs.
    """
    settings = load_settings()
    if settings.nats is None:
        raise NatsNotConfiguredError(settings.home)

    async def read() -> RunEvents:
        async with open_bus(settings, project) as bus:
            return await find_run(bus, run, project)

    return asyncio.run(read())


def gather(
    run: str, project: str | None, sources: Mapping[str, EventSource]
) -> tuple[RunEvents, Mapping[str, AgenticError]]:
    """Return what is known of a run, and why which sources could not help.

    A source is asked when those before it do not tell the run whole, to its end.

    Raises:
        RunEventsNotFoundError: No source has an event of it.
        AmbiguousRunError: Several runs are meant.
    """
    found: RunEvents | None = None
    faults: dict[str, AgenticError] = {}
    for name, source in sources.items():
        if found is not None and _is_whole(found):
            break
        try:
            told = source(found.run_id, found.project) if found else source(run, project)
        except AmbiguousRunError:
            raise
        except AgenticError as exc:
            faults[name] = exc
        else:
            found = _joined(found, told)
    if found is None:
        raise (UnreachableRunError if _is_away(faults) else RunEventsNotFoundError)(run, faults)
    return found, faults


async def find_run(bus: EventBus, run: str, project: str | None) -> RunEvents:
    """Return the events of a run, and those of the runs it was forked from. Raises as :func:`in_stream`."""
    end = (await bus.state()).last
    by_run = await _read(bus, run, project, end)
    owner, run_id = _meant(run, project, by_run)
    events = by_run[owner, run_id]
    seen = {run_id}
    origin = origin_of(events, run_id)
    while origin is not None and origin not in seen:
        seen.add(origin)
        before = (await _read(bus, origin, owner, end)).get((owner, origin), [])
        events += before
        origin = origin_of(before, origin)
    return RunEvents(run_id=run_id, project=owner, events=events, sources=("the stream",))


async def _read(
    bus: EventBus, run: str, project: str | None, end: int
) -> dict[tuple[str, str], list[WorkflowEvent]]:
    """Return the events of all runs that may be meant, by project and run; of live ones the latest."""
    found: dict[tuple[str, str], list[WorkflowEvent]] = {}
    live: dict[tuple[str, str], WorkflowEvent] = {}
    async with aclosing(read_events(bus, EventFilter(project=project), until=end)) as events:
        async for published in events:
            event = published.event
            name = _named(event.run_id, run)
            if name is None:
                continue
            key = (published.project, name)
            if event.sequence is None:
                live[key] = event
            else:
                found.setdefault(key, []).append(event)
    return {key: [*told, live[key]] if key in live else told for key, told in found.items()}


def _named(run_id: str, run: str) -> str | None:
    """Return which run an event belongs to, of those that ``run`` may mean; None if to none of them."""
    if f"{run_id}/".startswith(f"{run}/"):
        return run
    outermost = run_id.partition("/")[0]
    return outermost if outermost.startswith(run) else None


def _meant(
    run: str, project: str | None, found: Mapping[tuple[str, str], Sequence[WorkflowEvent]]
) -> tuple[str, str]:
    """Return project and id of the run that is called so, or else of the one that begins so."""
    candidates = [key for key in found if key[1] == run] or list(found)
    if not candidates:
        raise NoEventError(run, project)
    if len(candidates) > 1:
        raise AmbiguousRunError(run, candidates)
    return candidates[0]


def _joined(known: RunEvents | None, told: RunEvents) -> RunEvents:
    if known is None:
        return told
    return replace(known, events=[*known.events, *told.events], sources=(*known.sources, *told.sources))


def _is_whole(found: RunEvents) -> bool:
    replayed = replay_events(found.events, found.run_id)
    return replayed is not None and replayed.is_whole


def _is_away(faults: Mapping[str, AgenticError]) -> bool:
    """Return whether a run may well be somewhere, as a server could not be asked, or none is known of."""
    is_unset = [isinstance(fault, NatsNotConfiguredError) for fault in faults.values()]
    return all(is_unset) or any(isinstance(fault, ConnectionError) for fault in faults.values())
