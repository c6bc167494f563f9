"""The entries of a task, and the state that they add up to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt

from agentic.core.records import record

TASK_FORMAT: Literal[1] = 1

Json = dict[str, Any]


class TaskState(StrEnum):
    """The states of a task, as A2A names them."""

    SUBMITTED = "TASK_STATE_SUBMITTED"
    WORKING = "TASK_STATE_WORKING"
    COMPLETED = "TASK_STATE_COMPLETED"
    FAILED = "TASK_STATE_FAILED"
    CANCELED = "TASK_STATE_CANCELED"
    INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
    REJECTED = "TASK_STATE_REJECTED"
    AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"

    @property
    def is_final(self) -> bool:
        """Whether nothing follows it."""
        return self in FINAL

    @property
    def waits(self) -> bool:
        """Whether the task waits for its caller."""
        return self in (TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED)


FINAL = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED})


class TaskFacts(BaseModel):
    """The facts of a task that do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = TASK_FORMAT
    id: str
    context: str = Field(description="Id that its caller gives to the conversation.")
    user: str = Field(description="Name of the caller; empty if callers have no names.")
    created_at: float = Field(description="Seconds since the epoch.")


class EntryKind(StrEnum):
    """The kinds of entries."""

    MESSAGE = "message"
    """Of the caller."""

    BEGUN = "begun"
    """A server has begun to work on the task, for the first time or in place of another one."""

    HANDED = "handed"
    """A server has ended in good order, and leaves the task to another one."""

    STATUS = "status"
    ARTIFACT = "artifact"


class TaskEntry(BaseModel):
    """One step of a task. Its number in the task, from 1, is the cursor of readers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: EntryKind
    at: float = Field(description="Seconds since the epoch.")
    run: NonNegativeInt = Field(default=0, description="Number of the run that wrote it; 0 for callers.")
    body: dict[str, Any] = Field(default_factory=dict, description="The facts of the event.")

    @property
    def is_event(self) -> bool:
        """Whether readers get it."""
        return self.kind in (EntryKind.STATUS, EntryKind.ARTIFACT)

    @property
    def state(self) -> TaskState | None:
        """The state that it brings."""
        return TaskState(self.body["state"]) if self.kind is EntryKind.STATUS else None


@record
class TaskView:
    """A task as far as its log goes.

    Attributes:
        facts: Its facts.
        count: Entries so far.
        state: Its state.
        status: The last status: its body and time.
        artifacts: By id.
        messages: Of the caller.
        unanswered: Messages since the task last waited.
        runs: How many servers have begun to work on it.
        tries: How many of them, one after the other, have begun at the same place: all but the last are dead.
        place: Where the last one began: entries of the agent's thread.
    """

    facts: TaskFacts
    count: int = 0
    state: TaskState = TaskState.SUBMITTED
    status: TaskEntry | None = None
    artifacts: Mapping[str, Json] | None = None
    messages: tuple[Json, ...] = ()
    unanswered: tuple[Json, ...] = ()
    runs: int = 0
    tries: int = 0
    place: int = 0

    @property
    def is_open(self) -> bool:
        """Whether a server must work on it."""
        return not self.state.is_final and not self.state.waits

    @property
    def message_ids(self) -> frozenset[str]:
        """Ids of the caller's messages."""
        return frozenset(str(message["messageId"]) for message in self.messages)

    @property
    def requests(self) -> tuple[Any, ...]:
        """The requests that it waits for, as JSON."""
        if self.state is not TaskState.INPUT_REQUIRED or self.status is None:
            return ()
        return tuple(self.status.body.get("requests", ()))

    def with_entry(self, entry: TaskEntry) -> TaskView:
        """Return the task after one more entry. Nothing changes a task that has ended."""
        state, status, artifacts = self.state, self.status, self.artifacts
        messages, unanswered = self.messages, self.unanswered
        runs, tries, place = self.runs, self.tries, self.place
        if self.state.is_final:
            pass
        elif entry.kind is EntryKind.MESSAGE:
            messages, unanswered = (*messages, entry.body), (*unanswered, entry.body)
        elif entry.kind is EntryKind.BEGUN:
            begins = int(entry.body.get("place", 0))
            runs, tries, place = runs + 1, tries + 1 if begins == place else 1, begins
        elif entry.kind is EntryKind.HANDED:
            tries = 0
        elif entry.kind is EntryKind.STATUS:
            state, status = TaskState(entry.body["state"]), entry
            unanswered, tries = ((), 0) if state.waits else (unanswered, tries)
        else:
            artifacts = _with_artifact(artifacts or {}, entry.body)
        return TaskView(
            self.facts,
            self.count + 1,
            state,
            status,
            artifacts,
            messages,
            unanswered,
            runs,
            tries,
            place,
        )


def _with_artifact(known: Mapping[str, Json], body: Json) -> Mapping[str, Json]:
    name = str(body["id"])
    parts = list(_parts(body))
    if body.get("append") and name in known:
        parts = _joined([*_parts(known[name]), *parts])
    return {**known, name: {**body, "parts": parts}}


def _parts(body: Json) -> list[Json]:
    found = body.get("parts")
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def _joined(parts: Iterable[Json]) -> list[Json]:
    """Return parts with neighbouring texts in one: a streamed text is one part."""
    found: list[Json] = []
    for part in parts:
        if found and set(part) == {"text"} == set(found[-1]):
            found[-1] = {"text": f"{found[-1]['text']}{part['text']}"}
        else:
            found.append(part)
    return found


def viewed(facts: TaskFacts, entries: Iterable[TaskEntry]) -> TaskView:
    """Return the task that a log adds up to."""
    view = TaskView(facts)
    for entry in entries:
        view = view.with_entry(entry)
    return view
