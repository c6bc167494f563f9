"""The service of an agent: accepts messages, and works on tasks together with the agent's other servers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

from agentic.core.agents import Agent, KeyValueThreadStore
from agentic.core.agents.threads.keyvalue import BUCKET as THREADS
from agentic.core.bus import Bus, BusError, KeyLease
from agentic.core.errors import line_of
from agentic.core.ids import new_id
from agentic.core.logging import get_logger
from agentic.plugins.a2a.errors import A2AError
from agentic.plugins.a2a.serving.inputs import UnclearAnswerError, read_answers
from agentic.plugins.a2a.serving.narrating import status
from agentic.plugins.a2a.serving.pushing import PushNotifications
from agentic.plugins.a2a.serving.running import TaskRunner, requests_of
from agentic.plugins.a2a.tasks.entries import EntryKind, Json, TaskEntry, TaskFacts, TaskState, TaskView
from agentic.plugins.a2a.tasks.log import BUCKET, KEPT_S, OpenTask, TaskChangedError, TaskKey, TaskLog

log = get_logger(__name__)

MAX_ID_CHARS = 256
"""Of the ids of messages and contexts."""

MAX_MESSAGE_BYTES = 512 * 1024
"""Of one message, as JSON."""

LEASE_S = 10
"""Seconds after which the task of a dead server goes to another one."""

SWEEP_S = 2.0
MAX_TASKS = 100
MAX_OWN = 10_000
_TRIES = 20


class RefusedMessageError(A2AError, ValueError):
    """A message cannot be accepted."""


class UnknownTaskError(A2AError, LookupError):
    """The caller has no task of that id."""

    def __init__(self, task_id: str) -> None:
        super().__init__(f"no task has the id {task_id[:64]!r}")


class TaskStateError(A2AError):
    """The state of a task does not allow it."""


class AgentService:
    """One server of an agent.

    All state is on the bus: servers of an agent with the same bus share its tasks, over every protocol. The
    tasks of a server that has died go to another one, which continues the agent's turn from its thread.

    Args:
        agent: The agent. Its threads must be in a store that all servers reach; an agent without one gets the
            threads of the bus.
        bus: Keeps the tasks.
        name: Names its tasks; the agent's name if omitted.
        project: The project that owns them.
        max_tasks: How many tasks this server works on at a time; others wait.
        lease_s: Seconds after which the task of a dead server goes to another one.
        sweep_s: Seconds between two looks for tasks without a server.
        kept_s: Seconds to keep tasks, if the bucket does not exist yet.
        push_to: Hosts that may get push notifications although they are not public.
    """

    def __init__(  # noqa: PLR0913  # limits of a server, all optional
        self,
        agent: Agent[Any],
        bus: Bus,
        *,
        name: str | None = None,
        project: str = "default",
        max_tasks: int = MAX_TASKS,
        lease_s: int = LEASE_S,
        sweep_s: float = SWEEP_S,
        kept_s: float = KEPT_S,
        push_to: Sequence[str] = (),
    ) -> None:
        self.agent = agent
        self.bus = bus
        self.project = project
        self.server = new_id()
        self.name = name or agent.name
        self.tasks = TaskLog(bus.bucket(BUCKET, project=project, ttl_s=kept_s), self.name)
        self.pushes = PushNotifications(self.tasks, allow_private_hosts=push_to)
        store = agent.store or KeyValueThreadStore(bus.bucket(THREADS, project=project))
        self._runner = TaskRunner(agent, self.name, self.tasks, store, self.pushes)
        self._max_tasks = max_tasks
        self._lease_s = lease_s
        self._sweep_s = sweep_s
        self._news = asyncio.Event()
        self._work: dict[str, asyncio.Task[None]] = {}
        self._leases: dict[str, KeyLease] = {}
        self._not_before: dict[str, float] = {}
        self._own: set[str] = set()
        self._seen: dict[str, float] = {}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Self, None]:
        """Work on tasks until the block ends; then its tasks go to other servers at once."""
        sweeping = asyncio.create_task(self._sweep_always(), name=f"a2a-sweep-{self.agent.name}")
        try:
            yield self
        finally:
            working = list(self._work.values())
            for task in (sweeping, *working):
                task.cancel()
            await asyncio.wait([sweeping, *working])

    async def accept(self, body: Json, user: str, *, push: Json | None = None) -> TaskKey:
        """Take a message; return its task. The same message id again is the same message.

        Args:
            body: The message, in the JSON of A2A.
            user: Name of the caller.
            push: The facts of a target for push notifications of the task.

        Raises:
            RefusedMessageError: It is too large, or lacks something.
            UnknownTaskError: It is for a task that the caller does not have.
            TaskStateError: Its task does not wait for a message.
            PushTargetError: The target cannot get notifications.
        """
        body = _checked(body)
        if push is not None:
            self.pushes.target(push, 0)
        if task_id := str(body.get("taskId") or ""):
            key = await self._continue(body, user, task_id)
        else:
            key = await self._begin(body, user)
        if push is not None:
            await self.pushes.keep(key, self.pushes.target(push, 0))
        self._take(key.task)
        return key

    async def view(self, user: str, task_id: str) -> tuple[TaskKey, TaskView]:
        """Return a task of a caller.

        Raises:
            UnknownTaskError: The caller has no such task.
        """
        key = self.tasks.key_of(user, task_id)
        found = None if key is None else await self.tasks.read(key)
        if key is None or found is None:
            raise UnknownTaskError(task_id)
        return key, found

    async def cancel(self, user: str, task_id: str) -> TaskView:
        """Cancel a task, wherever it runs.

        Raises:
            UnknownTaskError: The caller has no such task.
            TaskStateError: It has ended.
        """
        for _ in range(_TRIES):
            _, view = await self.view(user, task_id)
            if view.state.is_final:
                raise TaskStateError(f"task {task_id} has ended: {_words(view.state)}")
            told = status(TaskState.CANCELED, "cancelled by its caller")
            entry = TaskEntry(kind=EntryKind.STATUS, at=time.time(), body=told.body)
            try:
                view = await self.tasks.append(view, [entry], opens=True)  # a server tells the targets
            except TaskChangedError:
                continue
            self._take(task_id)
            return view
        raise TaskStateError(f"task {task_id} changes too fast; cancel it again")

    def _take(self, task_id: str) -> None:
        """Work on a task at once: its caller has written here. Other servers leave it for a moment."""
        if len(self._own) > MAX_OWN:
            self._own.clear()
        self._own.add(task_id)
        self._news.set()

    async def _begin(self, body: Json, user: str) -> TaskKey:
        message_id = str(body["messageId"])
        known = await self.tasks.find_sent(user, message_id)
        if known is not None:
            return known
        now = time.time()
        context = str(body.get("contextId") or new_id(now))
        facts = TaskFacts(id=new_id(now), context=context, user=user, created_at=now)
        entries = [
            TaskEntry(kind=EntryKind.MESSAGE, at=now, body=body),
            TaskEntry(kind=EntryKind.STATUS, at=now, body=status(TaskState.SUBMITTED).body),
        ]
        return await self.tasks.create(facts, message_id, entries)

    async def _continue(self, body: Json, user: str, task_id: str) -> TaskKey:
        for _ in range(_TRIES):
            key, view = await self.view(user, task_id)
            if str(body["messageId"]) in view.message_ids:
                return key
            if body.get("contextId") not in (None, "", view.facts.context):
                raise RefusedMessageError(
                    f"context {body['contextId']!r} is not the context of task {task_id}: leave one out"
                )
            if view.state is not TaskState.INPUT_REQUIRED:
                raise TaskStateError(_not_waiting(view))
            try:
                await self.tasks.append(view, _answering(view, body, user), opens=True)
            except TaskChangedError:
                continue
            return key
        raise TaskStateError(f"task {task_id} changes too fast; send the message again")

    async def _sweep_always(self) -> None:
        while True:
            self._news.clear()
            try:
                await self._sweep()
            except BusError as exc:
                log.warning("a2a.bus_lost", agent=self.agent.name, error=line_of(exc))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._sweep_s):
                    await self._news.wait()

    async def _sweep(self) -> None:
        """Begin to work on the open tasks of conversations that no server has."""
        opened = await self.tasks.open_tasks()
        waiting = {one.conversation for one in opened} | self._work.keys()
        self._leases = {name: lease for name, lease in self._leases.items() if name in waiting}
        self._not_before = {name: at for name, at in self._not_before.items() if name in waiting}
        now = time.monotonic()
        self._seen = {one.key.task: self._seen.get(one.key.task, now) for one in opened}
        first: dict[str, OpenTask] = {}
        for one in opened:
            first.setdefault(one.conversation, one)
        for name, one in first.items():
            if len(self._work) >= self._max_tasks:
                return
            is_due = one.key.task in self._own or now - self._seen[one.key.task] >= self._sweep_s / 2
            if is_due and name not in self._work and self._not_before.get(name, 0.0) <= now:
                await self._try(name, one)

    async def _try(self, name: str, one: OpenTask) -> None:
        lease = self._leases.setdefault(name, self.tasks.lease(name, self.server, self._lease_s))
        if await lease.hold():
            self._not_before.pop(name, None)
            self._work[name] = asyncio.create_task(self._hold(name, one, lease), name=f"a2a-{one.key.task}")
        else:  # each try is a write
            self._not_before[name] = time.monotonic() + self._lease_s / 4

    async def _hold(self, name: str, one: OpenTask, lease: KeyLease) -> None:
        """Work on a task while this server has its conversation."""
        working = asyncio.create_task(self._runner.run(one), name=f"a2a-run-{one.key.task}")
        renewed = time.monotonic()
        try:
            while not working.done():
                await asyncio.wait({working}, timeout=self._lease_s / 4)
                try:
                    if not await lease.hold():
                        break
                    renewed = time.monotonic()
                except BusError:
                    if time.monotonic() - renewed > self._lease_s / 2:
                        break  # another server may take it soon
        finally:
            is_over = working.done()
            working.cancel()
            await asyncio.wait({working})
            with suppress(BusError, TaskChangedError):
                if not is_over:
                    await self._runner.hand_over(one.key)
                await lease.release()
            del self._work[name]
            self._own.discard(one.key.task)
            self._news.set()
        if is_over and (fault := working.exception()) is not None:
            log.warning("a2a.task_left", task=one.key.task, error=line_of(fault))
            self._not_before[name] = time.monotonic() + self._lease_s / 2


def _checked(body: Json) -> Json:
    if not body.get("messageId"):
        raise RefusedMessageError("the message has no id: give it a messageId of its own")
    for name in ("messageId", "contextId"):
        if len(str(body.get(name) or "")) > MAX_ID_CHARS:
            raise RefusedMessageError(f"{name} has more than {MAX_ID_CHARS} characters")
    if not body.get("parts"):
        raise RefusedMessageError("the message has no parts: give it a text")
    size = len(json.dumps(body))
    if size > MAX_MESSAGE_BYTES:
        raise RefusedMessageError(f"the message has {size} bytes, {MAX_MESSAGE_BYTES} is the most")
    return {key: value for key, value in body.items() if key != "answers"}


def _answering(view: TaskView, body: Json, user: str) -> list[TaskEntry]:
    """Return the entries of a message to a task that waits: it is asked again if the message is unclear."""
    now = time.time()
    try:
        answers = read_answers(body, requests_of(view), user)
    except UnclearAnswerError as exc:
        again = status(TaskState.INPUT_REQUIRED, str(exc), requests=list(view.requests))
        return [
            TaskEntry(kind=EntryKind.MESSAGE, at=now, body=body),
            TaskEntry(kind=EntryKind.STATUS, at=now, body=again.body),
        ]
    given = [answer.model_dump(mode="json", exclude_defaults=True) for answer in answers]
    return [
        TaskEntry(kind=EntryKind.MESSAGE, at=now, body={**body, "answers": given}),
        # In the same write: a reader would take the request for an open one.
        TaskEntry(kind=EntryKind.STATUS, at=now, body=status(TaskState.SUBMITTED).body),
    ]


def _not_waiting(view: TaskView) -> str:
    if view.state.is_final:
        return (
            f"task {view.facts.id} has ended ({_words(view.state)}): send the message without a task, to "
            f"continue context {view.facts.context}"
        )
    return f"task {view.facts.id} works on an earlier message; wait until it needs input"


def _words(state: TaskState) -> str:
    return state.value.removeprefix("TASK_STATE_").lower().replace("_", " ")
