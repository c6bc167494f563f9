"""The logs of an agent's tasks, in a bucket.

Each entry is a key of its own, written only if it does not exist: no writer overwrites another one, and a
server that was taken for dead notices that another one has continued its task. The keys of a task begin with
its agent and a digest of its caller, so that no caller can reach the tasks of another one.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from hashlib import sha256

from pydantic import BaseModel

from agentic.core.agents.errors import fault_of
from agentic.core.bus import KeyConflictError, KeyLease, KeyValue, KeyWrite, token
from agentic.core.bus.kv import NOT_THERE
from agentic.core.bus.large import packed, piece_keys, read_large, unpacked
from agentic.core.linear import LinearPattern
from agentic.core.records import record
from agentic.plugins.a2a.errors import A2AError
from agentic.plugins.a2a.tasks.entries import TaskEntry, TaskFacts, TaskView, viewed

BUCKET = "AGENTIC_A2A"

KEPT_S = 7 * 24 * 3_600
"""How long the entries of tasks are kept, from when they are written."""

_TASK_ID = LinearPattern(r"[0-9a-f]{32}")


@record
class TaskKey:
    """Where the keys of a task are.

    Attributes:
        caller: Digest of its caller.
        task: Its id.
    """

    caller: str
    task: str


@record
class OpenTask:
    """A task that a server must work on.

    Attributes:
        key: Its key.
        conversation: Digest of its conversation: the tasks of one are worked on in their order.
        revision: Changes when its caller writes again.
    """

    key: TaskKey
    conversation: str
    revision: int


class TaskChangedError(Exception):
    """Another writer was first: read the task again."""


class TaskFormatError(A2AError, ValueError):
    """A stored task cannot be read."""

    is_retriable = False

    def __init__(self, task: str, fault: str) -> None:
        super().__init__(f"the stored task {task!r} cannot be read: {fault}; its caller must send it again")
        self.task = task
        self.fault = fault


class TaskLog:
    """The tasks of one agent.

    Args:
        bucket: Shared by all servers of the agent.
        agent: Name of the agent.
    """

    def __init__(self, bucket: KeyValue, agent: str) -> None:
        self._bucket = bucket
        self._agent = token(agent)

    def key_of(self, user: str, task_id: str) -> TaskKey | None:
        """Return the key of a caller's task; None if that cannot be the id of a task."""
        return TaskKey(digest(user), task_id) if _TASK_ID.fullmatch(task_id) else None

    async def create(self, facts: TaskFacts, message_id: str, entries: Sequence[TaskEntry]) -> TaskKey:
        """Keep a new task; return its key, or the key of the task that this message has begun already.

        Args:
            facts: Its facts.
            message_id: Of its first message: the same message never begins two tasks.
            entries: Its first entries.
        """
        key = TaskKey(digest(facts.user), facts.id)
        sent = f"sent.{self._agent}.{key.caller}.{digest(message_id)}"
        writes = [
            KeyWrite(key=sent, value=facts.id.encode(), revision=NOT_THERE),
            KeyWrite(key=self._facts(key), value=_stored(facts), revision=NOT_THERE),
            *self._entries(key, 1, entries),
            self._opened(key, facts.context),
        ]
        try:
            await self._bucket.write(writes)
        except KeyConflictError:
            known = await self._bucket.get(sent)
            if known is None:
                raise
            return TaskKey(key.caller, known.value.decode())
        return key

    async def find_sent(self, user: str, message_id: str) -> TaskKey | None:
        """Return the task that a message has begun."""
        caller = digest(user)
        known = await self._bucket.get(f"sent.{self._agent}.{caller}.{digest(message_id)}")
        return None if known is None else TaskKey(caller, known.value.decode())

    async def append(self, view: TaskView, entries: Sequence[TaskEntry], *, opens: bool = False) -> TaskView:
        """Add entries to a view, all or none; return the view with them.

        Args:
            view: The task as its writer knows it.
            entries: The entries.
            opens: Whether a server must work on the task from now on.

        Raises:
            TaskChangedError: The task has other entries meanwhile; nothing was added.
        """
        key = TaskKey(digest(view.facts.user), view.facts.id)
        writes = self._entries(key, view.count + 1, entries)
        if opens:
            writes.append(self._opened(key, view.facts.context))
        try:
            await self._bucket.write(writes)
        except KeyConflictError as exc:
            raise TaskChangedError from exc
        for entry in entries:
            view = view.with_entry(entry)
        return view

    async def read(self, key: TaskKey) -> TaskView | None:
        """Return a task; None if it does not exist, or a part of it is no longer kept.

        Raises:
            TaskFormatError: It cannot be read.
        """
        facts = await self._bucket.get(self._facts(key))
        entries = None if facts is None else await self.entries(key)
        if facts is None or entries is None:
            return None
        with _reading(key.task):
            return viewed(TaskFacts.model_validate(json.loads(facts.value)), entries)

    async def entries(self, key: TaskKey) -> Sequence[TaskEntry] | None:
        """Return all entries of a task; None if some are no longer kept.

        Raises:
            TaskFormatError: One cannot be read.
        """
        numbers = sorted(_number(one) for one in await self._bucket.keys(f"{self._prefix(key)}.entry.*"))
        if numbers != list(range(1, len(numbers) + 1)):
            return None
        wanted = [self._entry_key(key, number) for number in numbers]
        found = await read_large(self._bucket, wanted)
        if len(found) < len(wanted):
            return None
        with _reading(key.task):
            return [_entry(found[one]) for one in wanted]

    async def follow(self, key: TaskKey, after: int = 0) -> AsyncGenerator[tuple[int, TaskEntry], None]:
        """Iterate over the entries after a number, each once and in order, for ever."""
        async with aclosing(self._bucket.watch(f"{self._prefix(key)}.entry.*")) as changes:
            async for change in changes:
                number = _number(change.key)
                if change.value is None or number <= after:
                    continue
                value = await self._whole(change.key, change.value)
                after = number
                with _reading(key.task):
                    entry = _entry(value)
                yield number, entry

    async def tasks_of(self, user: str) -> Sequence[TaskKey]:
        """Return a caller's tasks, the newest first."""
        caller = digest(user)
        keys = await self._bucket.keys(f"task.{self._agent}.{caller}.*.facts")
        return [TaskKey(caller, key.split(".")[3]) for key in reversed(list(keys))]

    async def open_tasks(self) -> Sequence[OpenTask]:
        """Return the tasks that servers must work on, the oldest first."""
        found = await self._bucket.keys(f"open.{self._agent}.*.*.*")
        opened = [(key.split("."), revision) for key, revision in found.items()]
        return [OpenTask(TaskKey(words[2], words[4]), words[3], revision) for words, revision in opened]

    async def close(self, one: OpenTask) -> None:
        """Note that no server must work on a task, unless its caller has written again meanwhile."""
        key = f"open.{self._agent}.{one.key.caller}.{one.conversation}.{one.key.task}"
        with suppress(KeyConflictError):
            await self._bucket.delete(key, revision=one.revision)

    def lease(self, conversation: str, server: str, ttl_s: int) -> KeyLease:
        """Return the lease of a conversation.

        Args:
            conversation: Its digest.
            server: Who holds it.
            ttl_s: Seconds after which it ends, if it is not renewed.
        """
        return KeyLease(self._bucket, f"lease.{self._agent}.{conversation}", server, ttl_s=ttl_s)

    async def put_beside(self, key: TaskKey, name: str, value: bytes) -> None:
        """Keep something else of a task."""
        await self._bucket.put(f"{self._prefix(key)}.{name}", value)

    async def read_beside(self, key: TaskKey, names: str) -> Mapping[str, bytes]:
        """Return the values beside the entries of a task: by the last word of their names."""
        keys = await self._bucket.keys(f"{self._prefix(key)}.{names}")
        found = await self._bucket.get_many(list(keys))
        return {name.rpartition(".")[2]: entry.value for name, entry in found.items()}

    async def delete_beside(self, key: TaskKey, name: str) -> None:
        """Remove what :meth:`put_beside` kept."""
        await self._bucket.delete(f"{self._prefix(key)}.{name}")

    async def _whole(self, key: str, value: bytes) -> bytes:
        pieces = piece_keys(key, value)
        found = await self._bucket.get_many(pieces) if pieces else {}
        return unpacked(key, value, {name: entry.value for name, entry in found.items()})

    def _entries(self, key: TaskKey, number: int, entries: Sequence[TaskEntry]) -> list[KeyWrite]:
        writes: list[KeyWrite] = []
        for offset, entry in enumerate(entries):
            name = self._entry_key(key, number + offset)
            for part, value in packed(name, _stored(entry)).items():
                writes.append(KeyWrite(key=part, value=value, revision=NOT_THERE if part == name else None))
        return writes

    def _opened(self, key: TaskKey, context: str) -> KeyWrite:
        conversation = conversation_of(key.caller, context)
        name = f"open.{self._agent}.{key.caller}.{conversation}.{key.task}"
        return KeyWrite(key=name, value=b"")

    def _entry_key(self, key: TaskKey, number: int) -> str:
        return f"{self._prefix(key)}.entry.{number}"

    def _facts(self, key: TaskKey) -> str:
        return f"{self._prefix(key)}.facts"

    def _prefix(self, key: TaskKey) -> str:
        return f"task.{self._agent}.{key.caller}.{key.task}"


def digest(text: str) -> str:
    """Return a word for keys: equal for equal texts only."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


def conversation_of(caller: str, context: str) -> str:
    """Return the digest of a caller's conversation."""
    return digest(f"{caller}/{context}")


def _stored(model: BaseModel) -> bytes:
    return json.dumps(model.model_dump(mode="json", exclude_defaults=True), separators=(",", ":")).encode()


@contextmanager
def _reading(task: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, RecursionError) as exc:
        raise TaskFormatError(task, fault_of(exc)) from exc


def _number(key: str) -> int:
    return int(key.rpartition(".")[2])


def _entry(value: bytes) -> TaskEntry:
    return TaskEntry.model_validate(json.loads(value))
