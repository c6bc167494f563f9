"""LangGraph's saver over our rows: what all stores have in common."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, Literal, Self, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from agentic.plugins.langgraph.errors import StoredStateError, ThreadNameError
from agentic.plugins.langgraph.savers import rows as work
from agentic.plugins.langgraph.savers.pieces import Blob, cut_up
from agentic.plugins.langgraph.savers.records import CheckpointPlace, CheckpointRecord, WriteRecord
from agentic.plugins.langgraph.savers.rows import NewCheckpoint, SaverRows, StoredTuple
from agentic.plugins.langgraph.savers.serializer import StateType, StrictSerializer

THREAD_ID_LENGTH = 200
NS_LENGTH = 1_500
NAME_LENGTH = 200

FOLLOWS = "__agentic_follows"
"""In a config: whether its run has read the newest checkpoint, and so must not find another one there."""

_KNOWN_CHECKPOINTS = 64
_KNOWN_PIECES = 20_000
"""Of the newest checkpoints that this saver has stored: their pieces need not be sent again."""

_KNOWN_RUNS = 1_024
"""At a time, in threads that they have begun."""

T = TypeVar("T")
Job = Callable[[SaverRows], Awaitable[T]]
Strategy = Literal["keep_latest", "delete"]


class AgenticSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of LangGraph's graphs: threads of one project.

    A checkpoint is stored whole or not at all. Bytes grow with what changed. A run that would continue a
    thread which another one has continued meanwhile gets :class:`ThreadTakenError`; a fork leaves the first
    branch as it is.

    Args:
        types: Types that states may have, besides plain data, messages, and types in the schemas of graphs
            that our nodes run.
    """

    def __init__(self, *, types: Iterable[type | StateType] = ()) -> None:
        super().__init__(serde=StrictSerializer().with_msgpack_allowlist(types))
        self._known: OrderedDict[tuple[CheckpointPlace, str], Mapping[str, frozenset[bytes]]] = OrderedDict()
        self._followed: OrderedDict[tuple[CheckpointPlace, str], None] = OrderedDict()

    @abstractmethod
    async def _do(self, job: Job[T], *, reads: bool = False) -> T:
        """Do a job on the rows, for an event loop; whether it only reads."""

    @abstractmethod
    def _do_now(self, job: Job[T], *, reads: bool = False) -> T:
        """Do a job on the rows, and block this thread; whether it only reads."""

    # LangGraph's loops call either the sync or the async methods: both are the same jobs.

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the newest one."""
        return self._tuple_or_none(config, await self._do(_finding(config), reads=True))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the newest one."""
        return self._tuple_or_none(config, self._do_now(_finding(config), reads=True))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - as LangGraph has it
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, newest first."""
        for one in await self._do(self._listing(config, filter, before, limit), reads=True):
            yield self._tuple(one)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - as LangGraph has it
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first."""
        yield from map(self._tuple, self._do_now(self._listing(config, filter, before, limit), reads=True))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint.

        Raises:
            ThreadTakenError: Another run has continued the thread meanwhile.
        """
        return await self._do(self._adding(config, checkpoint, metadata, new_versions))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; raises as :meth:`aput`."""
        return self._do_now(self._adding(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store writes of a task."""
        await self._do(self._writing(config, writes, task_id, task_path))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store writes of a task."""
        self._do_now(self._writing(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove a thread."""
        await self._do(lambda rows: rows.delete(_thread(thread_id)))

    def delete_thread(self, thread_id: str) -> None:
        """Remove a thread."""
        self._do_now(lambda rows: rows.delete(_thread(thread_id)))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of runs. The others keep their values."""
        await self._do(_removing_runs(run_ids))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of runs. The others keep their values."""
        self._do_now(_removing_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its history.

        Raises:
            ThreadNotCopiedError: The target has checkpoints.
        """
        source, target = _thread(source_thread_id), _thread(target_thread_id)
        await self._do(lambda rows: work.copy(rows, source, target))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy a thread with its history; raises as :meth:`acopy_thread`."""
        source, target = _thread(source_thread_id), _thread(target_thread_id)
        self._do_now(lambda rows: work.copy(rows, source, target))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove all but the newest checkpoint of each history of threads, or all.

        Checkpoints that a delta channel of the newest one needs stay, too.
        """
        await self._do(self._pruning(thread_ids, _strategy(strategy)))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove all but the newest checkpoint of each history of threads, or all; as :meth:`aprune`."""
        self._do_now(self._pruning(thread_ids, _strategy(strategy)))

    def get_next_version(self, current: str | float | None, channel: None) -> str:  # noqa: ARG002 - as LangGraph has it
        """Return a version that no other branch has: two forks may change a channel equally often."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        # Compared as text. 10 ** 10 versions, and 48 random bits, are enough for a channel.
        return f"{number + 1:010}.{random.getrandbits(48):012x}"

    def with_types(self, types: Iterable[type | StateType]) -> Self:
        """Return this saver for states with further types."""
        keys = {(one.__module__, one.__name__) if isinstance(one, type) else one for one in types}
        return cast("Self", self.with_allowlist(keys))

    def _adding(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Job[RunnableConfig]:
        place, parent_id = _place(config), get_checkpoint_id(config) or None
        facts = get_checkpoint_metadata(config, metadata)

        async def add(rows: SaverRows) -> RunnableConfig:
            await rows.lock(place.thread_id)
            parent = await _parent(rows, place, parent_id)
            origins = {} if parent is None else parent.whereabouts
            record, names, pieces = self._cut_checkpoint(
                (place, parent_id), checkpoint, facts, new_versions, origins
            )
            follows = self._follows(config, place, parent_id, metadata)
            # Those of the parent are there: it stays as it is while it is the newest, which is checked.
            kept = self._known.get((place, parent_id), {}) if follows and parent_id else {}
            missing = {
                name: piece
                for name, piece in pieces.items()
                if not any(name in stored for stored in kept.values())
            }
            await rows.add(NewCheckpoint(record=record, pieces=missing, follows=follows))
            unchanged = {name: kept[name] for name in record.origins if name in kept}
            self._remember(record, {**unchanged, **names}, is_followed=follows is not None)
            return _config(place, record.id)

        return add

    def _cut_checkpoint(
        self,
        where: tuple[CheckpointPlace, str | None],
        checkpoint: Checkpoint,
        facts: CheckpointMetadata,
        new_versions: ChannelVersions,
        origins: Mapping[str, str],
    ) -> tuple[CheckpointRecord, dict[str, frozenset[bytes]], dict[bytes, bytes]]:
        """Return a checkpoint as it is stored, the hashes of the channels that it changed, and all pieces.

        Args:
            where: Its history, and its parent there.
            checkpoint, facts, new_versions: LangGraph's.
            origins: The checkpoint that has the value of each channel of its parent.
        """
        place, parent_id = where
        stored = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        current = {
            name: value
            for name, value in checkpoint["channel_values"].items()
            if name in checkpoint["channel_versions"]
        }
        changed = {
            name: self._cut(value)
            for name, value in current.items()
            if name in new_versions or name not in origins
        }
        pieces = {name: piece for _, more in changed.values() for name, piece in more.items()}
        record = CheckpointRecord(
            place=place,
            id=checkpoint["id"],
            number=0,
            parent_id=parent_id,
            run_id=str(facts.get("run_id") or "")[:NAME_LENGTH],
            checkpoint=self._dump(stored, pieces),
            metadata=self._dump(facts, pieces),
            values={name: blob for name, (blob, _) in changed.items()},
            origins={name: origins[name] for name in current if name not in changed},
        )
        return record, {name: frozenset(more) for name, (_, more) in changed.items()}, pieces

    def _follows(
        self,
        config: RunnableConfig,
        place: CheckpointPlace,
        parent_id: str | None,
        metadata: CheckpointMetadata,
    ) -> str | None:
        """Return the checkpoint that must be the newest one, see :class:`NewCheckpoint`."""
        if parent_id is None:
            is_first = metadata.get("source") == "input" and metadata.get("step") == -1
            return "" if is_first else None
        # A run that has begun its thread got no config from us: it follows its own checkpoints.
        known = (place, parent_id) in self._followed
        return parent_id if configurable(config).get(FOLLOWS, known) else None

    def _remember(
        self, record: CheckpointRecord, pieces: Mapping[str, frozenset[bytes]], *, is_followed: bool
    ) -> None:
        if is_followed:
            self._followed[record.place, record.id] = None
            if len(self._followed) > _KNOWN_RUNS:
                self._followed.popitem(last=False)
        if sum(map(len, pieces.values())) <= _KNOWN_PIECES:
            self._known[record.place, record.id] = pieces
        while len(self._known) > _KNOWN_CHECKPOINTS:
            self._known.popitem(last=False)

    def _writing(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Job[None]:
        place, checkpoint_id = _place(config), str(configurable(config)["checkpoint_id"])
        pieces: dict[bytes, bytes] = {}
        records = [
            WriteRecord(
                place=place,
                checkpoint_id=checkpoint_id,
                task_id=_named("task", task_id, NAME_LENGTH),
                slot=WRITES_IDX_MAP.get(channel, index),
                channel=channel,
                path=task_path,
                value=self._dump(value, pieces),
            )
            for index, (channel, value) in enumerate(writes)
        ]

        async def add(rows: SaverRows) -> None:
            await rows.lock(place.thread_id)
            await rows.add_writes(records, pieces)

        return add

    def _listing(
        self,
        config: RunnableConfig | None,
        wanted: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> Job[Sequence[StoredTuple]]:
        named = configurable(config or {})
        thread_id = _thread(named["thread_id"]) if "thread_id" in named else None
        ns, only = named.get("checkpoint_ns"), named.get("checkpoint_id")
        last = get_checkpoint_id(before) if before else None

        async def find(rows: SaverRows) -> Sequence[StoredTuple]:
            records = [
                record
                for record in before_id(await rows.records(thread_id, ns), last)
                if only in (None, "", record.id)
            ]
            found: list[StoredTuple] = []
            for record in records:
                if limit is not None and len(found) >= limit:
                    break
                if not wanted or await self._fits(rows, record, wanted):
                    found += await work.read_tuples(rows, [record])
            return found

        return find

    async def _fits(self, rows: SaverRows, record: CheckpointRecord, wanted: Mapping[str, Any]) -> bool:
        facts = await self._metadata(rows, record)
        return all(name in facts and facts[name] == value for name, value in wanted.items())

    async def _metadata(self, rows: SaverRows, record: CheckpointRecord) -> Mapping[str, Any]:
        ((kind, data),) = await work.whole(rows, record.place.thread_id, [record.metadata])
        return cast("Mapping[str, Any]", self._load(record.place.thread_id, (kind, data)))

    def _pruning(self, thread_ids: Sequence[str], strategy: Strategy) -> Job[None]:
        threads = [_thread(one) for one in thread_ids]

        async def prune(rows: SaverRows) -> None:
            for thread_id in threads:
                if strategy == "delete":
                    await rows.delete(thread_id)
                    continue
                await rows.lock(thread_id)
                records = await rows.records(thread_id)
                newest = {record.place.ns: record for record in reversed(records)}
                deltas = {
                    ns: list((await self._metadata(rows, record)).get("counters_since_delta_snapshot") or ())
                    for ns, record in newest.items()
                }
                await work.retain(rows, thread_id, work.newest_and_needed(records, deltas))

        return prune

    def _cut(self, value: object) -> tuple[Blob, dict[bytes, bytes]]:
        return cut_up(*self.serde.dumps_typed(value))

    def _dump(self, value: object, pieces: dict[bytes, bytes]) -> Blob:
        blob, more = self._cut(value)
        pieces |= more
        return blob

    def _load(self, thread_id: str, stored: tuple[str, bytes]) -> object:
        try:
            return self.serde.loads_typed(stored)
        except (ValueError, NotImplementedError) as exc:
            raise StoredStateError(thread_id, f"{type(exc).__name__}: {exc}") from exc

    def _tuple_or_none(self, config: RunnableConfig, found: StoredTuple | None) -> CheckpointTuple | None:
        return None if found is None else self._tuple(found, is_newest=not get_checkpoint_id(config))

    def _tuple(self, found: StoredTuple, *, is_newest: bool = False) -> CheckpointTuple:
        record, thread_id = found.record, found.record.place.thread_id
        values = {name: self._load(thread_id, stored) for name, stored in found.values.items()}
        checkpoint: Any = self._load(thread_id, found.checkpoint)
        metadata: Any = self._load(thread_id, found.metadata)
        config = _config(record.place, record.id)
        configurable(config)[FOLLOWS] = is_newest
        return CheckpointTuple(
            config=config,
            checkpoint=cast("Checkpoint", {**checkpoint, "channel_values": values}),
            metadata=metadata,
            parent_config=_config(record.place, record.parent_id) if record.parent_id else None,
            pending_writes=[
                (one.task_id, one.channel, self._load(thread_id, stored)) for one, stored in found.writes
            ],
        )


def configurable(config: RunnableConfig) -> dict[str, Any]:
    """Return the part of a config that names a thread and a checkpoint."""
    return config.get("configurable", {})


def before_id(records: Sequence[CheckpointRecord], last: str | None) -> Sequence[CheckpointRecord]:
    """Return the records that are older than one of them; all without one."""
    if not last:
        return records
    ends = {record.place: record.number for record in records if record.id == last}
    # In a history without that checkpoint, its id has the time.
    return [
        record
        for record in records
        if (record.number < ends[record.place] if record.place in ends else record.id < last)
    ]


def _finding(config: RunnableConfig) -> Job[StoredTuple | None]:
    place, wanted = _place(config), get_checkpoint_id(config)

    async def find(rows: SaverRows) -> StoredTuple | None:
        record = (await rows.find(place, [wanted])).get(wanted) if wanted else await rows.newest(place)
        return None if record is None else (await work.read_tuples(rows, [record]))[0]

    return find


def _removing_runs(run_ids: Collection[str]) -> Job[None]:
    named = {str(one)[:NAME_LENGTH] for one in run_ids}

    async def remove(rows: SaverRows) -> None:
        if not named:
            return
        for thread_id in await rows.threads_of_runs(named):
            await rows.lock(thread_id)
            keeps = {
                (one.place.ns, one.id) for one in await rows.records(thread_id) if one.run_id not in named
            }
            await work.retain(rows, thread_id, keeps)

    return remove


async def _parent(rows: SaverRows, place: CheckpointPlace, parent_id: str | None) -> CheckpointRecord | None:
    if parent_id is None:
        return None
    newest = await rows.newest(place)
    if newest is not None and newest.id == parent_id:
        return newest
    return (await rows.find(place, [parent_id])).get(parent_id)


def _strategy(name: str) -> Strategy:
    if name not in ("keep_latest", "delete"):
        raise ValueError(f"unknown strategy {name!r}; use 'keep_latest' or 'delete'")
    return cast("Strategy", name)


def _config(place: CheckpointPlace, checkpoint_id: str) -> RunnableConfig:
    named = {"thread_id": place.thread_id, "checkpoint_ns": place.ns, "checkpoint_id": checkpoint_id}
    return {"configurable": named}


def _place(config: RunnableConfig) -> CheckpointPlace:
    named = configurable(config)
    ns = _named("namespace", named.get("checkpoint_ns") or "", NS_LENGTH)
    return CheckpointPlace(thread_id=_thread(named.get("thread_id", "")), ns=ns)


def _thread(thread_id: object) -> str:
    text = str(thread_id)
    if not text:
        raise ThreadNameError("thread", text, 'it is empty; set config["configurable"]["thread_id"]')
    return _named("thread", text, THREAD_ID_LENGTH)


def _named(what: str, name: str, length: int) -> str:
    """Return a name if every store can keep it.

    Raises:
        ThreadNameError: It is too long, or has characters that databases refuse.
    """
    if len(name) > length:
        raise ThreadNameError(what, name, f"it has {len(name)} characters; {length} are stored")
    if "\x00" in name or any("\ud800" <= one <= "\udfff" for one in name):
        raise ThreadNameError(what, name, "it has NUL characters or lone surrogates")
    return name
