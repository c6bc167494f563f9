"""Where the events of a run come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentic.core import MemoryCheckpointStore, WorkflowBuilder, executor
from agentic.core.bus import BusUnavailableError, EventPublisher, MemoryBus, NatsNotConfiguredError
from agentic.core.cli.replay.retelling import replay_events
from agentic.core.cli.replay.sources import (
    AmbiguousRunError,
    EventSource,
    NoEventError,
    RunEvents,
    RunEventsNotFoundError,
    UnreachableRunError,
    find_run,
    gather,
)
from agentic.core.errors import AgenticError
from agentic.core.graph import EventKind, WorkflowEvent
from agentic.core.types import RunId

if TYPE_CHECKING:
    from tests.unit.core.cli.replay.conftest import Events, Killed


async def stream_of(*stories: tuple[str, Events]) -> MemoryBus:
    bus = MemoryBus()
    for project, events in stories:
        async with EventPublisher(bus, project) as publisher:
            for event in events:
                await publisher.publish(event)
    return bus


def event(run_id: str, sequence: int | None = 1, time: float = 1.0) -> WorkflowEvent:
    kind = EventKind.RUN_STARTED if sequence else EventKind.EXECUTOR_PROGRESS
    path, number = ("", 0) if sequence else ("work", int(time))
    return WorkflowEvent(kind, RunId(run_id), time, sequence, 0, path, live_number=number)


def found_events(events: Events, name: str) -> EventSource:
    def source(run: str, project: str | None) -> RunEvents:
        assert (run, project) in {("r", None), ("r", "p")}
        return RunEvents(run_id="r", project="p", events=events, sources=(name,))

    return source


def failing(error: AgenticError) -> EventSource:
    def source(run: str, project: str | None) -> RunEvents:
        raise error

    return source


async def test_a_run_is_found_among_others_with_what_is_nested_in_it() -> None:
    bus = await stream_of(("p", [event(name) for name in ("r", "r2", "r/sub.0.0", "s/r")]))
    found = await find_run(bus, "r", None)
    assert (found.run_id, found.project) == ("r", "p")
    assert [one.run_id for one in found.events] == ["r", "r/sub.0.0"]
    within = await find_run(bus, "r/sub.0.0", None)
    assert [one.run_id for one in within.events] == ["r/sub.0.0"]


async def test_a_run_is_found_by_how_its_id_begins_if_no_other_one_does() -> None:
    bus = await stream_of(("p", [event("abc1"), event("abd1"), event("abc1/sub.0.0")]))
    assert (await find_run(bus, "abc", None)).run_id == "abc1"
    with pytest.raises(AmbiguousRunError, match="'abc1' in project 'p', 'abd1'"):
        await find_run(bus, "ab", None)
    with pytest.raises(NoEventError, match="'x'"):
        await find_run(bus, "x", None)


async def test_runs_of_two_projects_with_one_id_are_told_apart() -> None:
    bus = await stream_of(("one", [event("r")]), ("two", [event("r")]))
    with pytest.raises(AmbiguousRunError, match="--project"):
        await find_run(bus, "r", None)
    assert (await find_run(bus, "r", "two")).project == "two"
    with pytest.raises(NoEventError, match="in project 'three'"):
        await find_run(bus, "r", "three")


async def test_of_live_events_the_latest_is_kept_to_tell_when_a_run_was_last_heard_of() -> None:
    bus = await stream_of(("p", [event("r"), event("r", None, 5.0), event("r", None, 9.0)]))
    found = await find_run(bus, "r", None)
    replayed = replay_events(found.events, "r")
    assert replayed is not None
    assert (len(found.events), replayed.heard_at) == (2, 9.0)


async def test_a_fork_is_found_with_the_run_it_was_forked_from() -> None:
    @executor(id="work")
    async def work(text: str) -> str:
        return text

    store, flow = MemoryCheckpointStore(), WorkflowBuilder("w", version="1").set_start(work).build()
    origin = await flow.run("x", run_id="r", checkpoints=store)
    fork = await flow.resume("r", checkpoints=store, checkpoint_id="r@1")
    bus = await stream_of(("p", origin.events), ("p", fork.events))

    found = await find_run(bus, fork.run_id, "p")

    replayed = replay_events(found.events, found.run_id)
    assert replayed is not None
    assert (replayed.is_whole, replayed.steps[0].first) == (True, 1)


def test_who_comes_later_is_asked_only_when_not_all_is_told(shopping: Events) -> None:
    found, faults = gather(
        "r", None, {"one": found_events(shopping, "one"), "two": failing(AgenticError("not asked"))}
    )
    assert (found.sources, faults) == (("one",), {})


def test_what_one_source_lacks_another_one_tells(shopping: Events) -> None:
    found, _ = gather(
        "r", None, {"one": found_events(shopping[:4], "one"), "two": found_events(shopping[2:], "two")}
    )
    assert found.sources == ("one", "two")
    assert replay_events(found.events, "r") == replay_events(shopping, "r")


def test_a_killed_run_stays_unfinished_when_nobody_knows_more(killed: Killed) -> None:
    found, faults = gather(
        "r", None, {"one": found_events(killed.before, "one"), "two": failing(AgenticError("no such run"))}
    )
    assert found.sources == ("one",)
    assert str(faults["two"]) == "no such run"


def test_it_is_not_guessed_which_of_several_runs_is_meant(shopping: Events) -> None:
    several = failing(AmbiguousRunError("r", [("one", "r"), ("two", "r")]))
    with pytest.raises(AmbiguousRunError):
        gather("r", None, {"one": several, "two": found_events(shopping, "two")})


def test_an_unknown_run_is_named_with_what_each_source_says() -> None:
    sources = {"the stream": failing(NoEventError("r", None)), "the ledger": failing(AgenticError("no run"))}
    with pytest.raises(
        RunEventsNotFoundError, match=r"run 'r' .*the stream: it has no events .*the ledger: no run"
    ) as caught:
        gather("r", None, sources)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("error", "others"),
    [
        (BusUnavailableError("nats://u:secret@host:1", "refused"), {"the ledger": AgenticError("no run")}),
        (NatsNotConfiguredError(Path("home")), {}),
    ],
)
def test_a_server_that_could_not_be_asked_is_another_exit_code(
    error: AgenticError, others: dict[str, AgenticError]
) -> None:
    sources = {name: failing(one) for name, one in {"the stream": error, **others}.items()}
    with pytest.raises(UnreachableRunError) as caught:
        gather("r", None, sources)
    assert caught.value.exit_code == 3
    assert "secret" not in str(caught.value)
