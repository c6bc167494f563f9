"""The contract of every checkpoint store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import cast

import pytest

from agentic.core.graph.checkpoints.store import (
    Checkpoint,
    CheckpointMetadata,
    CheckpointStore,
    StoredCheckpoint,
)
from agentic.core.graph.errors import (
    CheckpointConflictError,
    CheckpointNotFoundError,
    InvalidPolicyError,
)
from agentic.core.graph.model.result import RunStatus
from agentic.core.types import RunId

Changes = Mapping[str, str | None]

RUN = RunId("run")
OTHER = RunId("other")

ODD_NAMES = (
    "",
    " ",
    "two words",
    "a/b.c:d",
    "../up",
    "*",
    ">",
    "agentic.>",
    "%",
    "_",
    "100%_done",
    "\\",
    "'quoted' \"twice\"",
    "'; DROP TABLE run_parts; --",
    "${x}{y}%s%(z)s?:n",
    "line\nbreak\ttab",
    "Zoë 漢字 🐍",
    "ſ",
    "s",
    "S",
    "é",
    "e\u0301",
    "NULL",
    "0",
    "x" * 500,
)
"""Names that are special in SQL, NATS, file systems or formats, or that some of them treat as equal."""

HISTORY: Sequence[Changes] = (
    {"a": "1", "b": "1"},
    {"a": "2", "c": "1", "never": None},
    {},
    {"b": None, "c": "2"},
    {"d": "1"},
    {"b": "again", "d": None},
    {"a": None, "c": None, "b": "more"},
    {"a": "back"},
)
"""Changes of eight checkpoints: parts are added, changed, removed, and added again."""


def checkpoint(
    revision: int = 1, changes: Changes | None = None, *, run_id: str = RUN, head: str | None = None
) -> Checkpoint:
    """Return a checkpoint as the engine saves it at that revision."""
    metadata = CheckpointMetadata(
        run_id=RunId(run_id),
        revision=revision,
        superstep=revision - 1,
        status=RunStatus.RUNNING,
        saved_at=1_700_000_000.25 + revision,
        workflow_id="flow",
        version="1",
    )
    text = f'{{"step": {revision}}}' if head is None else head
    return Checkpoint(metadata=metadata, head=text, changes=changes or {})


async def save_history(store: CheckpointStore, run_id: str = RUN, repeats: int = 1) -> list[dict[str, str]]:
    """Save the history and return the expected parts of each revision."""
    parts: dict[str, str] = {}
    expected: list[dict[str, str]] = []
    for revision, changes in enumerate([*HISTORY] * repeats, start=1):
        await store.save(checkpoint(revision, changes, run_id=run_id))
        merged = {**parts, **changes}
        parts = {name: text for name, text in merged.items() if text is not None}
        expected.append(parts)
    return expected


async def load_all(store: CheckpointStore, run_id: str = RUN) -> list[StoredCheckpoint]:
    """Return every checkpoint of a run, the oldest first."""
    listed = await store.list_metadata(run_id=RunId(run_id))
    return [await store.load(found.run_id, found.revision) for found in reversed(listed)]


def ids(found: Sequence[CheckpointMetadata]) -> list[str]:
    """Return the ids of checkpoints, in their order."""
    return [metadata.id for metadata in found]


@pytest.mark.asyncio
class CheckpointStoreContract:
    """Inherit from this and provide a fixture ``store``; every test is then run against it.

    The fixture returns a new, empty store for each test, and closes it afterwards if necessary::

        class TestMyStore(CheckpointStoreContract):
            @pytest.fixture
            async def store(self) -> AsyncIterator[CheckpointStore]:
                async with MyStore.connect(url) as store:
                    yield store

    Override the attributes of the class for a store with lower limits.

    Attributes:
        big_head_bytes: A head of this size must fit.
        big_part_bytes: A part of this size must fit.
        part_count: This number of parts must fit.
    """

    big_head_bytes = 2 * 1024 * 1024
    big_part_bytes = 5 * 1024 * 1024
    part_count = 2_000

    async def test_a_checkpoint_comes_back_as_it_was_saved(self, store: CheckpointStore) -> None:
        metadata = CheckpointMetadata(
            run_id=RUN,
            revision=1,
            superstep=17,
            status=RunStatus.FAILED,
            saved_at=1_764_000_000.123456,
            workflow_id="flow",
            version=None,
            schema_version=3,
            forked_from="elsewhere@4",
        )
        head, changes = '{"née": "漢字 🐍 \\u0000 \\""}', {"state/k": '"1"', "empty": "", "local.x": "null"}
        await store.save(Checkpoint(metadata=metadata, head=head, changes=changes))
        loaded = await store.load(RUN, 1)
        assert loaded.head == head
        assert dict(loaded.parts) == changes
        assert replace(loaded.metadata, size_bytes=0) == metadata

    async def test_the_size_is_what_a_checkpoint_added_in_bytes(self, store: CheckpointStore) -> None:
        await store.save(checkpoint(1, {"a": "x" * 100}, head="é"))
        await store.save(checkpoint(2, {"b": "漢", "a": None}, head="{}"))
        listed = await store.list_metadata(run_id=RUN)
        assert [metadata.size_bytes for metadata in listed] == [5, 102]
        assert (await store.latest(RUN)).metadata.size_bytes == 5

    @pytest.mark.parametrize("status", RunStatus)
    async def test_every_status_can_be_kept(self, store: CheckpointStore, status: RunStatus) -> None:
        first = checkpoint()
        await store.save(replace(first, metadata=replace(first.metadata, status=status)))
        assert (await store.latest(RUN)).metadata.status is status

    async def test_parts_that_did_not_change_stay(self, store: CheckpointStore) -> None:
        await store.save(checkpoint(1, {"a": "1", "b": "1"}))
        await store.save(checkpoint(2, {"b": "2"}))
        await store.save(checkpoint(3))
        assert dict((await store.latest(RUN)).parts) == {"a": "1", "b": "2"}

    async def test_a_part_can_go_and_come_back(self, store: CheckpointStore) -> None:
        for revision, text in enumerate(("1", None, None, "4"), start=1):
            await store.save(checkpoint(revision, {"a": text}))
        assert [dict(loaded.parts) for loaded in await load_all(store)] == [{"a": "1"}, {}, {}, {"a": "4"}]

    async def test_every_revision_can_be_loaded_and_the_last_is_the_latest(
        self, store: CheckpointStore
    ) -> None:
        expected = await save_history(store, repeats=4)
        loaded = await load_all(store)
        assert [dict(one.parts) for one in loaded] == expected
        assert [one.metadata.revision for one in loaded] == list(range(1, len(expected) + 1))
        assert [one.head for one in loaded] == [f'{{"step": {n + 1}}}' for n in range(len(expected))]
        assert await store.latest(RUN) == loaded[-1]

    async def test_loaded_parts_are_nobody_elses(self, store: CheckpointStore) -> None:
        changes: dict[str, str | None] = {"a": "1"}
        await store.save(checkpoint(1, changes))
        changes["a"] = changes["b"] = "changed by the saver"
        loaded = await store.latest(RUN)
        if isinstance(loaded.parts, MutableMapping):
            cast("MutableMapping[str, str]", loaded.parts)["a"] = "changed by a reader"
        assert dict((await store.latest(RUN)).parts) == {"a": "1"}

    @pytest.mark.parametrize("revision", [-1, 0, 2, 7])
    async def test_a_history_starts_at_one(self, store: CheckpointStore, revision: int) -> None:
        with pytest.raises(CheckpointConflictError, match=f"checkpoint {revision} of run 'run'") as caught:
            await store.save(checkpoint(revision, {"a": "1"}))
        assert (caught.value.revision, caught.value.newest) == (revision, 0)
        assert not await store.list_metadata()

    @pytest.mark.parametrize("revision", [0, 1, 2, 4])
    async def test_a_history_has_no_gap_and_is_written_once(
        self, store: CheckpointStore, revision: int
    ) -> None:
        await store.save(checkpoint(1, {"a": "1"}))
        await store.save(checkpoint(2, {"a": "2"}))
        before = await load_all(store)
        with pytest.raises(CheckpointConflictError) as caught:
            await store.save(checkpoint(revision, {"a": "mine", "b": "mine"}, head='"mine"'))
        assert caught.value.newest == 2
        assert await load_all(store) == before

    async def test_of_two_that_save_at_once_one_wins_and_nothing_is_mixed(
        self, store: CheckpointStore
    ) -> None:
        parts: dict[str, str] = {}
        for revision in range(1, 11):
            rivals = [
                checkpoint(revision, {"who": name, f"{name}{revision}": "here"}, head=f'"{name}"')
                for name in ("one", "two", "three")
            ]
            outcomes = await asyncio.gather(*map(store.save, rivals), return_exceptions=True)
            winners = [rival for rival, outcome in zip(rivals, outcomes, strict=True) if outcome is None]
            assert len(winners) == 1
            assert [type(o) for o in outcomes if o is not None] == [CheckpointConflictError] * 2
            parts |= cast("dict[str, str]", winners[0].changes)
            latest = await store.latest(RUN)
            assert (latest.head, dict(latest.parts)) == (winners[0].head, parts)

    async def test_runs_are_saved_side_by_side(self, store: CheckpointStore) -> None:
        names = [f"run {number}" for number in range(12)]
        expected = await asyncio.gather(*(save_history(store, name) for name in names))
        for name, parts in zip(names, expected, strict=True):
            assert [dict(one.parts) for one in await load_all(store, name)] == parts

    async def test_a_missing_run_is_named(self, store: CheckpointStore) -> None:
        await store.save(checkpoint())
        with pytest.raises(CheckpointNotFoundError, match="'other'") as caught:
            await store.latest(OTHER)
        assert (caught.value.run_id, caught.value.revision) == (OTHER, None)

    @pytest.mark.parametrize(("run_id", "revision"), [(OTHER, 1), (RUN, 3), (RUN, 0), (RUN, -1)])
    async def test_a_missing_checkpoint_is_named(
        self, store: CheckpointStore, run_id: RunId, revision: int
    ) -> None:
        await store.save(checkpoint(1, {"a": "1"}))
        await store.save(checkpoint(2))
        with pytest.raises(CheckpointNotFoundError, match=f"'{run_id}'") as caught:
            await store.load(run_id, revision)
        assert (caught.value.run_id, caught.value.revision) == (run_id, revision)

    async def test_one_runs_checkpoints_are_listed_by_revision_even_if_the_clock_went_back(
        self, store: CheckpointStore
    ) -> None:
        for revision, saved_at in enumerate((50.0, 10.0, 30.0), start=1):
            one = checkpoint(revision)
            await store.save(replace(one, metadata=replace(one.metadata, saved_at=saved_at)))
        assert ids(await store.list_metadata(run_id=RUN)) == ["run@3", "run@2", "run@1"]

    async def test_checkpoints_of_many_runs_are_listed_newest_first(self, store: CheckpointStore) -> None:
        await self._save_three_runs(store)
        assert ids(await store.list_metadata()) == ["c@1", "a@2", "b@2", "b@1", "a@1"]

    async def test_lists_can_be_narrowed_down(self, store: CheckpointStore) -> None:
        await self._save_three_runs(store)
        assert ids(await store.list_metadata(run_id=RunId("a"))) == ["a@2", "a@1"]
        assert ids(await store.list_metadata(workflow_id="crawl")) == ["c@1", "b@2", "b@1"]
        assert ids(await store.list_metadata(status=RunStatus.FAILED)) == ["a@2", "b@1"]
        both = await store.list_metadata(workflow_id="crawl", status=RunStatus.FAILED)
        assert ids(both) == ["b@1"]
        assert not await store.list_metadata(run_id=RunId("a"), workflow_id="crawl")
        assert not await store.list_metadata(run_id=OTHER)
        assert not await store.list_metadata(workflow_id="CRAWL")

    async def test_of_each_run_only_the_newest_can_be_listed(self, store: CheckpointStore) -> None:
        await self._save_three_runs(store)
        assert ids(await store.list_metadata(newest_only=True)) == ["c@1", "a@2", "b@2"]
        assert ids(await store.list_metadata(newest_only=True, run_id=RunId("b"))) == ["b@2"]
        assert ids(await store.list_metadata(newest_only=True, workflow_id="crawl")) == ["c@1", "b@2"]
        failed_last = await store.list_metadata(newest_only=True, status=RunStatus.FAILED)
        assert ids(failed_last) == ["a@2"]

    async def test_a_list_tells_what_a_load_tells(self, store: CheckpointStore) -> None:
        await self._save_three_runs(store)
        for listed in await store.list_metadata():
            assert (await store.load(listed.run_id, listed.revision)).metadata == listed

    @pytest.mark.parametrize("count", range(1, len(HISTORY) + 2))
    async def test_the_last_ones_are_kept_as_they_were(self, store: CheckpointStore, count: int) -> None:
        await save_history(store, OTHER)
        await save_history(store)
        before = await load_all(store)
        gone = max(len(before) - count, 0)
        assert await store.keep_last(RUN, count) == gone
        assert await load_all(store) == before[gone:]
        assert await store.latest(RUN) == before[-1]
        for revision in range(1, gone + 1):
            with pytest.raises(CheckpointNotFoundError):
                await store.load(RUN, revision)
        assert len(await load_all(store, OTHER)) == len(HISTORY)

    @pytest.mark.parametrize("count", [1, 2, 5])
    async def test_a_run_goes_on_while_its_old_checkpoints_go(
        self, store: CheckpointStore, count: int
    ) -> None:
        parts: dict[str, str] = {}
        for revision, changes in enumerate([*HISTORY] * 3, start=1):
            await store.save(checkpoint(revision, changes))
            await store.keep_last(RUN, count)
            parts = {name: text for name, text in {**parts, **changes}.items() if text is not None}
            assert dict((await store.latest(RUN)).parts) == parts
        assert len(await load_all(store)) == count

    async def test_old_checkpoints_do_not_come_back_under_their_number(self, store: CheckpointStore) -> None:
        await save_history(store)
        await store.keep_last(RUN, 2)
        with pytest.raises(CheckpointConflictError):
            await store.save(checkpoint(1, {"a": "1"}))

    @pytest.mark.parametrize("count", [0, -1])
    async def test_the_newest_one_cannot_be_thrown_away(self, store: CheckpointStore, count: int) -> None:
        await store.save(checkpoint())
        with pytest.raises(InvalidPolicyError, match="count"):
            await store.keep_last(RUN, count)
        assert len(await load_all(store)) == 1

    async def test_removing_from_a_missing_run_removes_nothing(self, store: CheckpointStore) -> None:
        await store.save(checkpoint())
        assert await store.keep_last(OTHER, 1) == 0
        assert await store.delete_all(OTHER) == 0
        assert len(await store.list_metadata()) == 1

    async def test_a_run_can_be_deleted_and_begin_anew(self, store: CheckpointStore) -> None:
        await save_history(store)
        await save_history(store, OTHER)
        assert await store.delete_all(RUN) == len(HISTORY)
        assert not await store.list_metadata(run_id=RUN)
        with pytest.raises(CheckpointNotFoundError):
            await store.latest(RUN)
        await store.save(checkpoint(1, {"new": "1"}))
        assert dict((await store.latest(RUN)).parts) == {"new": "1"}
        assert len(await load_all(store, OTHER)) == len(HISTORY)

    @pytest.mark.parametrize("revision", range(1, len(HISTORY) + 1))
    async def test_a_fork_starts_from_the_same_text(self, store: CheckpointStore, revision: int) -> None:
        await save_history(store)
        origin = await store.load(RUN, revision)
        metadata = await store.fork(RUN, revision, OTHER)
        first = await store.load(OTHER, 1)
        assert (first.head, dict(first.parts)) == (origin.head, dict(origin.parts))
        assert metadata == first.metadata
        size = len(origin.head) + sum(map(len, origin.parts.values()))
        assert metadata == replace(
            origin.metadata, run_id=OTHER, revision=1, forked_from=f"run@{revision}", size_bytes=size
        )

    async def test_a_fork_and_its_origin_go_on_without_each_other(self, store: CheckpointStore) -> None:
        await save_history(store)
        before = await load_all(store)
        await store.fork(RUN, 3, OTHER)
        await store.save(checkpoint(2, {"a": "fork", "b": None, "e": "fork"}, run_id=OTHER))
        assert await load_all(store) == before
        await store.save(checkpoint(len(before) + 1, {"a": "origin", "c": None}))
        assert [dict(one.parts) for one in await load_all(store, OTHER)] == [
            {"a": "2", "b": "1", "c": "1"},
            {"a": "fork", "c": "1", "e": "fork"},
        ]

    async def test_a_fork_can_be_forked_and_outlives_its_origins(self, store: CheckpointStore) -> None:
        await save_history(store)
        await store.fork(RUN, 4, OTHER)
        await store.save(checkpoint(2, {"x": "1"}, run_id=OTHER))
        again = await store.fork(OTHER, 2, RunId("third"))
        assert again.forked_from == "other@2"
        await store.delete_all(RUN)
        await store.delete_all(OTHER)
        assert dict((await store.latest(RunId("third"))).parts) == {"a": "2", "c": "2", "x": "1"}

    async def test_an_old_checkpoint_can_be_forked_when_others_are_gone(self, store: CheckpointStore) -> None:
        expected = await save_history(store)
        await store.keep_last(RUN, 3)
        await store.fork(RUN, len(expected) - 2, OTHER)
        await store.keep_last(RUN, 1)
        assert dict((await store.latest(OTHER)).parts) == expected[-3]

    async def test_only_what_is_there_can_be_forked(self, store: CheckpointStore) -> None:
        await save_history(store)
        await store.keep_last(RUN, 2)
        for run_id, revision in ((RUN, 1), (RUN, 99), (OTHER, 1)):
            with pytest.raises(CheckpointNotFoundError) as caught:
                await store.fork(run_id, revision, RunId("third"))
            assert (caught.value.run_id, caught.value.revision) == (run_id, revision)
        assert not await store.list_metadata(run_id=RunId("third"))

    async def test_a_fork_never_overwrites_a_run(self, store: CheckpointStore) -> None:
        await save_history(store)
        await save_history(store, OTHER)
        await store.keep_last(OTHER, 1)
        before = [*await load_all(store), *await load_all(store, OTHER)]
        for taken in (RUN, OTHER):
            with pytest.raises(CheckpointConflictError, match=f"run '{taken}'"):
                await store.fork(RUN, 2, taken)
        assert [*await load_all(store), *await load_all(store, OTHER)] == before

    async def test_of_two_forks_under_one_name_one_wins(self, store: CheckpointStore) -> None:
        expected = await save_history(store)
        forks = [store.fork(RUN, revision, OTHER) for revision in (1, 8)]
        outcomes = await asyncio.gather(*forks, return_exceptions=True)
        won = [outcome for outcome in outcomes if isinstance(outcome, CheckpointMetadata)]
        assert [type(o) for o in outcomes if o not in won] == [CheckpointConflictError]
        revision = won[0].superstep + 1
        assert [dict(one.parts) for one in await load_all(store, OTHER)] == [expected[revision - 1]]

    async def test_run_ids_are_taken_as_they_are(self, store: CheckpointStore) -> None:
        for number, name in enumerate(ODD_NAMES):
            await store.save(checkpoint(1, {"number": str(number)}, run_id=name))
            await store.save(checkpoint(2, run_id=name))
        for number, name in enumerate(ODD_NAMES):
            assert dict((await store.latest(RunId(name))).parts) == {"number": str(number)}
            assert ids(await store.list_metadata(run_id=RunId(name))) == [f"{name}@2", f"{name}@1"]
        assert {found.run_id for found in await store.list_metadata()} == set(ODD_NAMES)
        for number, name in enumerate(ODD_NAMES):
            assert await store.keep_last(RunId(name), 1) == 1
            assert await store.delete_all(RunId(name)) == 1
            assert len(await store.list_metadata(newest_only=True)) == len(ODD_NAMES) - number - 1

    async def test_part_names_are_taken_as_they_are(self, store: CheckpointStore) -> None:
        parts = {name: f"text of {name}" for name in ODD_NAMES}
        await store.save(checkpoint(1, parts))
        assert dict((await store.latest(RUN)).parts) == parts
        await store.fork(RUN, 1, OTHER)
        for revision, name in enumerate(ODD_NAMES, start=2):
            await store.save(checkpoint(revision, {name: None}))
            await store.keep_last(RUN, 1)
            del parts[name]
            assert dict((await store.latest(RUN)).parts) == parts
        assert set((await store.latest(OTHER)).parts) == set(ODD_NAMES)

    async def test_workflow_names_and_versions_are_taken_as_they_are(self, store: CheckpointStore) -> None:
        for number, name in enumerate(ODD_NAMES):
            one = checkpoint(run_id=f"r{number}")
            await store.save(replace(one, metadata=replace(one.metadata, workflow_id=name, version=name)))
        for number, name in enumerate(ODD_NAMES):
            found = await store.list_metadata(workflow_id=name)
            assert [(one.run_id, one.version) for one in found] == [(f"r{number}", name)]

    async def test_big_heads_and_parts_are_kept_whole(self, store: CheckpointStore) -> None:
        head = f'"{"head 🐍" * (self.big_head_bytes // 9)}"'
        part = f'"{"0123456789" * (self.big_part_bytes // 10)}"'
        await store.save(checkpoint(1, {"big": part}, head=head))
        await store.save(checkpoint(2, {"small": "1"}, head="{}"))
        await store.fork(RUN, 1, OTHER)
        assert (await store.load(RUN, 1)).head == head
        assert (await store.latest(RUN)).parts["big"] == part
        assert (await store.latest(OTHER)).parts["big"] == part

    async def test_many_parts_are_kept_apart(self, store: CheckpointStore) -> None:
        parts = {f"item/{number}": str(number) for number in range(self.part_count)}
        await store.save(checkpoint(1, parts))
        await store.save(checkpoint(2, {"item/7": "changed", "item/8": None}))
        parts["item/7"] = "changed"
        del parts["item/8"]
        assert dict((await store.latest(RUN)).parts) == parts
        await store.keep_last(RUN, 1)
        assert dict((await store.latest(RUN)).parts) == parts

    async def _save_three_runs(self, store: CheckpointStore) -> None:
        """Save two checkpoints of ``a`` and ``b`` in turn, then one of ``c``."""
        moments = (
            ("a", 1, 10.0, "flow", RunStatus.RUNNING),
            ("b", 1, 20.0, "crawl", RunStatus.FAILED),
            ("b", 2, 30.0, "crawl", RunStatus.RUNNING),
            ("a", 2, 40.0, "flow", RunStatus.FAILED),
            ("c", 1, 50.0, "crawl", RunStatus.COMPLETED),
        )
        for run_id, revision, saved_at, workflow_id, status in moments:
            one = checkpoint(revision, {"a": str(revision)}, run_id=run_id)
            facts = replace(one.metadata, saved_at=saved_at, workflow_id=workflow_id, status=status)
            await store.save(replace(one, metadata=facts))
