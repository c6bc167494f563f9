"""The contract of every ledger for checkpoints and events."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import replace
from typing import cast

import pytest

from agentic.core.graph.checkpoints.store import StoredCheckpoint
from agentic.core.graph.errors import CheckpointNotFoundError
from agentic.core.graph.model.result import RunStatus
from agentic.core.ledger.port import LedgerTransaction
from agentic.core.ledger.records import EventBatch, LedgerStep, StateChanges
from agentic.core.testing.checkpoint_contract import HISTORY, ODD_NAMES, Changes, checkpoint
from agentic.core.testing.ledger.cases import OTHER, RUN, UsesLedger, batch, ended, new_run, step
from agentic.core.types import RunId


class LedgerCheckpointsContract(UsesLedger):
    """The state of runs.

    Override the attributes of the class for a store with lower limits.

    Attributes:
        big_head_bytes: A head of this size must fit.
        big_part_bytes: A part of this size must fit.
        part_count: This number of parts must fit.
    """

    big_head_bytes = 2 * 1024 * 1024
    big_part_bytes = 5 * 1024 * 1024
    part_count = 2_000

    def test_a_checkpoint_comes_back_as_it_was_written(self, ledger: LedgerTransaction) -> None:
        head, changes = '{"née": "漢字 🐍 \\u0000 \\""}', {"state/k": '"1"', "empty": "", "local.x": "null"}
        whole = checkpoint(1, changes, head=head)
        facts = replace(
            whole.metadata,
            superstep=17,
            saved_at=1_764_000_000.123456,
            version=None,
            schema_version=3,
            forked_from="elsewhere@4",
        )
        ledger.add_run(replace(new_run(), step=LedgerStep(checkpoint=replace(whole, metadata=facts))))
        found = ledger.load(RUN)
        assert (found.head, dict(found.parts)) == (head, changes)
        assert replace(found.metadata, size_bytes=0) == facts

    def test_the_size_is_what_a_step_added_in_bytes(self, ledger: LedgerTransaction) -> None:
        self._begin(ledger, {"a": "x" * 100}, head="é")
        assert ledger.load(RUN).metadata.size_bytes == 102
        self._go_on(ledger, 2, {"b": "漢", "a": None}, head="{}")
        assert ledger.load(RUN).metadata.size_bytes == 5

    def test_the_newest_checkpoint_has_all_parts(self, ledger: LedgerTransaction) -> None:
        for found, expected in zip(self._play(ledger, HISTORY), _folded(HISTORY), strict=True):
            assert dict(found.parts) == expected
        assert ledger.load(RUN).metadata.revision == len(HISTORY)
        assert ledger.load(RUN).head == f'{{"step": {len(HISTORY)}}}'

    def test_a_run_that_is_not_there_has_no_checkpoint(self, ledger: LedgerTransaction) -> None:
        self._begin(ledger, {})
        with pytest.raises(CheckpointNotFoundError, match="'other'"):
            ledger.load(OTHER)
        with pytest.raises(CheckpointNotFoundError, match="'other'"):
            ledger.changes_since(OTHER, 1)

    def test_changes_lead_from_any_checkpoint_to_the_newest(self, ledger: LedgerTransaction) -> None:
        history = [*HISTORY] * 2
        earlier: list[StoredCheckpoint] = []
        for newest in self._play(ledger, history):
            earlier.append(newest)
            for before in earlier:
                changes = ledger.changes_since(RUN, before.metadata.revision)
                assert _applied(before, changes) == newest

    def test_changes_tell_only_of_parts_that_changed_since(self, ledger: LedgerTransaction) -> None:
        self._begin(ledger, {"a": "1", "b": "1"})
        self._go_on(ledger, 2, {"b": "2"})
        self._go_on(ledger, 3, {"c": "3"})
        assert ledger.changes_since(RUN, 1).changes == {"b": "2", "c": "3"}
        assert ledger.changes_since(RUN, 2).changes == {"c": "3"}
        assert ledger.changes_since(RUN, 3).changes == {}

    def test_changes_name_the_parts_that_went(self, ledger: LedgerTransaction) -> None:
        self._begin(ledger, {"a": "1", "b": "1"})
        self._go_on(ledger, 2, {"a": None})
        assert ledger.changes_since(RUN, 1).changes == {"a": None}

    def test_since_before_the_first_checkpoint_everything_changed(self, ledger: LedgerTransaction) -> None:
        self._begin(ledger, {"a": "1"})
        self._go_on(ledger, 2, {"b": "2"})
        assert ledger.changes_since(RUN, 0).changes == {"a": "1", "b": "2"}

    def test_runs_have_states_of_their_own(self, ledger: LedgerTransaction) -> None:
        self._begin(ledger, {"a": "1"})
        self._begin(ledger, {"a": "2"}, run_id=OTHER)
        self._go_on(ledger, 2, {"a": None})
        assert dict(ledger.load(RUN).parts) == {}
        assert dict(ledger.load(OTHER).parts) == {"a": "2"}

    def test_what_was_loaded_is_nobody_elses(self, ledger: LedgerTransaction) -> None:
        changes: dict[str, str | None] = {"a": "1"}
        self._begin(ledger, changes)
        changes["a"] = "changed by who wrote it"
        for parts in (ledger.load(RUN).parts, ledger.changes_since(RUN, 0).changes):
            if isinstance(parts, MutableMapping):
                cast("MutableMapping[str, str | None]", parts)["a"] = "changed by a reader"
        assert dict(ledger.load(RUN).parts) == {"a": "1"}

    @pytest.mark.parametrize("status", RunStatus)
    def test_a_checkpoint_says_where_its_run_stands(
        self, ledger: LedgerTransaction, status: RunStatus
    ) -> None:
        self._begin(ledger, {})
        ledger.advance(RUN, 0, 1, ended(status))
        assert ledger.load(RUN).metadata.status is status
        assert ledger.changes_since(RUN, 1).metadata == ledger.load(RUN).metadata

    def test_names_of_parts_are_taken_as_they_are(self, ledger: LedgerTransaction) -> None:
        parts = {name: f"text of {name}" for name in ODD_NAMES}
        self._begin(ledger, parts)
        assert dict(ledger.load(RUN).parts) == parts
        self._go_on(ledger, 2, dict.fromkeys(ODD_NAMES[::2]))
        assert ledger.changes_since(RUN, 1).changes == dict.fromkeys(ODD_NAMES[::2])
        assert set(ledger.load(RUN).parts) == set(ODD_NAMES[1::2])

    def test_big_heads_and_parts_are_kept_whole_in_a_step(self, ledger: LedgerTransaction) -> None:
        head = f'"{"head 🐍" * (self.big_head_bytes // 9)}"'
        part = f'"{"0123456789" * (self.big_part_bytes // 10)}"'
        self._begin(ledger, {"big": part}, head=head)
        assert ledger.load(RUN).head == head
        assert ledger.load(RUN).parts["big"] == part

    def test_many_parts_are_kept_apart(self, ledger: LedgerTransaction) -> None:
        parts = {f"item/{number}": str(number) for number in range(self.part_count)}
        self._begin(ledger, parts)
        self._go_on(ledger, 2, {"item/7": "changed", "item/8": None})
        parts["item/7"] = "changed"
        del parts["item/8"]
        assert dict(ledger.load(RUN).parts) == parts

    def _play(self, ledger: LedgerTransaction, history: Sequence[Changes]) -> Iterator[StoredCheckpoint]:
        """Write a history step by step, and yield the loaded checkpoint after each."""
        self._begin(ledger, history[0])
        yield ledger.load(RUN)
        for revision, changes in enumerate(history[1:], start=2):
            self._go_on(ledger, revision, changes)
            yield ledger.load(RUN)

    def _begin(
        self, ledger: LedgerTransaction, changes: Changes, *, head: str | None = None, run_id: RunId = RUN
    ) -> None:
        first = LedgerStep(checkpoint=checkpoint(1, changes, run_id=run_id, head=head))
        ledger.add_run(replace(new_run(run_id=run_id), step=first))

    def _go_on(
        self, ledger: LedgerTransaction, revision: int, changes: Changes, *, head: str | None = None
    ) -> None:
        later = LedgerStep(checkpoint=checkpoint(revision, changes, head=head))
        assert ledger.advance(RUN, revision - 2, revision - 1, later)


class LedgerEventsContract(UsesLedger):
    """Events of steps, and whether they were published."""

    def test_events_come_back_in_order(self, ledger: LedgerTransaction) -> None:
        written = self._tell(ledger, (1, 3), (4, 4), (5, 9))
        assert list(ledger.events(RUN)) == written
        assert list(ledger.events(RUN, limit=2)) == written[:2]

    @pytest.mark.parametrize(
        ("after", "firsts"),
        [(0, [1, 4, 5]), (2, [1, 4, 5]), (3, [4, 5]), (4, [5]), (8, [5]), (9, []), (99, [])],
    )
    def test_events_are_read_from_where_a_reader_stands(
        self, ledger: LedgerTransaction, after: int, firsts: list[int]
    ) -> None:
        self._tell(ledger, (1, 3), (4, 4), (5, 9))
        assert [one.first for one in ledger.events(RUN, after=after)] == firsts

    def test_a_long_log_is_read_piece_by_piece(self, ledger: LedgerTransaction) -> None:
        written = self._tell(ledger, *((n, n) for n in range(1, 40)))
        found: list[EventBatch] = []
        while piece := ledger.events(RUN, after=found[-1].last if found else 0, limit=7):
            found.extend(piece)
        assert found == written

    def test_a_step_may_tell_of_runs_within_its_run(self, ledger: LedgerTransaction) -> None:
        inner = RunId("run/implement.0.0")
        told = [batch(1, 2), batch(1, 5, inner), batch(3, 3)]
        ledger.add_run(replace(new_run(), step=replace(new_run().step, events=told)))
        assert list(ledger.events(RUN)) == [told[0], told[2]]
        assert list(ledger.events(inner)) == [told[1]]
        assert sorted(ledger.unpublished(), key=_place) == sorted(told, key=_place)

    def test_a_step_that_tells_nothing_leaves_no_events(self, ledger: LedgerTransaction) -> None:
        ledger.add_run(new_run())
        ledger.advance(RUN, 0, 1, step(2, 1))
        assert not ledger.events(RUN)
        assert not ledger.events(OTHER)
        assert not ledger.unpublished()

    def test_what_was_published_is_not_published_again(self, ledger: LedgerTransaction) -> None:
        written = self._tell(ledger, (1, 3), (4, 4), (5, 9))
        assert list(ledger.unpublished()) == written
        assert ledger.mark_published(written[:1]) == 1
        assert list(ledger.unpublished()) == written[1:]
        assert ledger.mark_published(written) == 2
        assert not ledger.unpublished()
        assert list(ledger.events(RUN)) == written

    def test_a_batch_that_was_left_out_is_still_to_be_published(self, ledger: LedgerTransaction) -> None:
        written = self._tell(ledger, (1, 3), (4, 4), (5, 9))
        ledger.mark_published([written[0], written[2]])
        ledger.mark_published([])
        assert list(ledger.unpublished()) == [written[1]]

    def test_each_runs_events_are_to_be_published_in_order(self, ledger: LedgerTransaction) -> None:
        for name in ("b", "a"):
            ledger.add_run(replace(new_run(run_id=name), step=_telling(1, name)))
        for revision in range(2, 6):
            for name in ("a", "b"):
                ledger.advance(RunId(name), revision - 2, revision - 1, _telling(revision, name))
        found = ledger.unpublished()
        for name in ("a", "b"):
            assert [one.first for one in found if one.run_id == name] == [1, 2, 3, 4, 5]
        assert list(ledger.unpublished(limit=4)) == list(found[:4])

    def test_publishing_goes_on_when_a_run_tells_more(self, ledger: LedgerTransaction) -> None:
        for revision in range(1, 4):
            if revision == 1:
                ledger.add_run(replace(new_run(), step=_telling(1)))
            else:
                ledger.advance(RUN, revision - 2, revision - 1, _telling(revision))
            assert [one.first for one in ledger.unpublished()] == [revision]
            ledger.mark_published(ledger.unpublished())

    def test_batches_that_are_not_there_are_not_marked(self, ledger: LedgerTransaction) -> None:
        written = self._tell(ledger, (1, 3))
        assert ledger.mark_published([batch(4, 4), batch(1, 3, OTHER)]) == 0
        assert list(ledger.unpublished()) == written

    def test_runs_with_odd_names_tell_what_they_do(self, ledger: LedgerTransaction) -> None:
        for name in ODD_NAMES:
            ledger.add_run(replace(new_run(run_id=name), step=_telling(1, name)))
        for name in ODD_NAMES:
            assert list(ledger.events(RunId(name))) == [batch(1, 1, name)]
        ledger.mark_published([batch(1, 1, name) for name in ODD_NAMES[1:]])
        assert list(ledger.unpublished()) == [batch(1, 1, ODD_NAMES[0])]

    def test_a_big_batch_is_kept_whole(self, ledger: LedgerTransaction) -> None:
        big = replace(batch(1, 9), text=f'["{"0123456789 🐍" * 100_000}"]')
        ledger.add_run(replace(new_run(), step=replace(new_run().step, events=[big])))
        assert list(ledger.events(RUN)) == [big]

    def _tell(self, ledger: LedgerTransaction, *spans: tuple[int, int]) -> list[EventBatch]:
        """Write a step for each span of sequences."""
        batches = [batch(first, last) for first, last in spans]
        ledger.add_run(replace(new_run(), step=replace(step(), events=batches[:1])))
        for revision, one in enumerate(batches[1:], start=2):
            told = replace(step(revision, revision - 1), events=[one])
            assert ledger.advance(RUN, revision - 2, revision - 1, told)
        return batches


def _place(one: EventBatch) -> tuple[str, int]:
    return (one.run_id, one.first)


def _telling(revision: int, run_id: str = RUN) -> LedgerStep:
    told = step(revision, revision - 1, run_id=run_id)
    return replace(told, events=[batch(revision, revision, run_id)])


def _folded(history: Sequence[Changes]) -> list[dict[str, str]]:
    """Return the expected parts after each step."""
    parts: dict[str, str | None] = {}
    folded = []
    for changes in history:
        parts |= changes
        folded.append({name: text for name, text in parts.items() if text is not None})
    return folded


def _applied(before: StoredCheckpoint, changes: StateChanges) -> StoredCheckpoint:
    (parts,) = _folded([{**before.parts, **changes.changes}])
    return StoredCheckpoint(metadata=changes.metadata, head=changes.head, parts=parts)
