"""A run that was disturbed beside the same run undisturbed, in one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from tests.property.durable.auditing import AuditedLedger, Closed, Stepped
from tests.property.durable.driving import RUN_ID
from tests.property.durable.logs import logs_of
from tests.property.durable.promises import Audit
from tests.property.durable.troubles import ENDINGS, HARMLESS, STEERING, Fate, Moment
from tests.property.graph.checking import check, check_broken_off
from tests.property.graph.playing import Story
from tests.property.graph.shapes import Shape
from tests.property.graph.world import World

from agentic.core import EventKind, Workflow, WorkflowEvent

_REFUSALS = {"RetriesExhaustedError", "StateConflictError", "UndeliverableMessageError"}


@dataclass(frozen=True)
class Quiet:
    """A run in one process, to which nothing happens."""

    story: Story
    world: World

    @property
    def size(self) -> int:
        """How many activations it has."""
        return sum(event.kind is EventKind.EXECUTOR_INVOKED for event in self.story.events)

    @property
    def extent(self) -> Mapping[Moment, int]:
        """About how many moments of each kind it has as a durable run."""
        count, calls = self.size, len(self.world.onces)
        return {
            "turn": 110 * count,
            "transaction": 20 * count,
            "dispatch": count,
            "publication": count,
            "entry": len(self.world.entries),
            "call": calls,
            "record": calls,
        }


@dataclass(frozen=True, kw_only=True)
class Struck:
    """A durable run, to which something happens."""

    shape: Shape
    workflow: Workflow
    story: Story
    world: World
    ledger: AuditedLedger
    max_running: int | None
    fate: Fate
    published: Sequence[WorkflowEvent]

    @property
    def crashes(self) -> int:
        """Claims that were taken back, as their leases had ended."""
        changes = self.ledger.changes
        return sum(isinstance(change, Closed) and change.settled.is_crash for change in changes)


def compare(quiet: Quiet, struck: Struck) -> None:
    """Assert that nothing of what happened to a run can be seen, but for what people wanted."""
    audit = Audit(struck.max_running, makes_zombies=struck.fate.makes_zombies)
    faults = list(audit.faults(struck.ledger.changes))
    assert not faults, faults
    _check_rows(struck)
    assert logs_of(struck.published) == logs_of(struck.story.events)
    if not struck.fate.makes_zombies:
        _check_tries(struck.world)
    hits = struck.fate.hits.keys()
    assert not struck.crashes or hits - HARMLESS - ENDINGS, "nothing crashed"
    is_failed = struck.crashes > 0 and struck.workflow.config.crash.on_crash == "fail"
    if is_failed or hits & set(STEERING):
        if not _is_stopped_at_rest(struck.story):
            check(struck.shape, struck.workflow, struck.story)
        if not is_failed and "answer" not in hits:
            check_broken_off(struck.workflow, quiet.story, struck.story, struck.story.events)
        return
    assert struck.story.outcome == quiet.story.outcome
    assert logs_of(struck.story.events) == logs_of(quiet.story.events)
    # A result that its barrier refuses has a row if it was written beside others, whose transactions nothing
    # takes back, and none if the barrier was decided in its own. More cannot be promised of it.
    expected, found = Counter(entry.key for entry in quiet.world.left), _results(struck.ledger)
    assert found <= expected
    assert expected - found <= _refusals(struck.story.events), "a result that counts has no row"
    if hits <= HARMLESS:
        assert _entries(struck.world) == _entries(quiet.world), "something was begun in vain"


def _is_stopped_at_rest(story: Story) -> bool:
    """Whether a run was cancelled while it waited for answers, which no run in one process can be."""
    kinds: dict[str, list[EventKind]] = {}
    for event in story.events:
        kinds.setdefault(event.run_id, []).append(event.kind)
    stop = EventKind.RUN_WAITING_INPUT, EventKind.RUN_CANCELLED
    return any(stop in pairwise(of_run) for of_run in kinds.values())


def _check_rows(struck: Struck) -> None:
    """What joins transactions is done once: for each result, and when the run begins, rests or goes on."""
    # Others of a superstep have written theirs by the time the barrier refuses it; they are asked again, and
    # write again. So a result that counts has one row, and each that was refused before at most one more.
    again = _results(struck.ledger) - Counter(_results(struck.ledger).keys())
    assert again <= _refusals(struck.story.events)
    told = [row.text for row in struck.ledger.session.rows if row.kind == "run"]
    steps = [
        change.step.checkpoint.metadata for change in struck.ledger.changes if isinstance(change, Stepped)
    ]
    assert told == [status for status, _ in groupby(str(one.status) for one in steps if one.run_id == RUN_ID)]


def _check_tries(world: World) -> None:
    """A try that failed is not made again."""
    newest: dict[str, int] = {}
    for entry in world.entries:
        assert newest.get(entry.key, 1) <= entry.attempt, f"{entry} comes too late"
        newest[entry.key] = entry.attempt


def _refusals(events: Sequence[WorkflowEvent]) -> Counter[str]:
    """Count how often the barrier refused the result of each activation."""
    keys: dict[tuple[str, str, int, int], str] = {}
    refused = Counter[str]()
    for event in events:
        place = event.run_id, event.path, event.superstep, event.shard
        if event.kind is EventKind.EXECUTOR_INVOKED:
            own = f"{event.path.rpartition('/')[2]}.{event.superstep}.{event.shard}"
            keys[place] = f"{event.run_id}:{event.data.get('origin', own)}"
        elif event.kind is EventKind.EXECUTOR_FAILED and event.data["error_type"] in _REFUSALS:
            refused[keys[place]] += 1
    return refused


def _results(ledger: AuditedLedger) -> Counter[str]:
    return Counter(row.text for row in ledger.session.rows if row.kind == "result")


def _entries(world: World) -> Counter[tuple[str, int, int]]:
    return Counter((entry.key, entry.superstep, entry.attempt) for entry in world.entries)
