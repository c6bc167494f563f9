"""The pieces of an agent's answer as events of a task. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentic.core.agents import AgentChunk, AgentResponse, ChunkKind, ContinuationToken, ResponseStatus
from agentic.core.records import record
from agentic.core.types import JSONValue
from agentic.plugins.a2a.tasks.entries import EntryKind, Json, TaskState
from agentic.plugins.a2a.vocabulary import ANSWER, COUNTS, OUTPUT, cleaned

MAX_CHARS = 16 * 1024
"""Of the text in one event."""


@record
class Told:
    """An event of a task, before it has a time and a number.

    Attributes:
        kind: ``STATUS`` or ``ARTIFACT``.
        body: Its facts.
    """

    kind: EntryKind
    body: Json


def status(state: TaskState, text: str = "", **facts: JSONValue) -> Told:
    """Return a change of state.

    Args:
        state: The new state.
        text: For the caller.
        facts: ``requests``, ``tool``, ``usage``.
    """
    body: dict[str, JSONValue] = {"state": state.value, "text": text, **facts}
    return Told(EntryKind.STATUS, {key: cleaned(value) for key, value in body.items() if value})


class Narration:
    """Makes the events of one run of an agent.

    The artifact ``answer`` has the text of the reply that is being made. A reply that begins again, or ends
    in calls of tools, is replaced by the next one: at the end the artifact is the answer.

    Attributes:
        token: Of the last piece of a background run.
    """

    def __init__(self) -> None:
        self.token: ContinuationToken | None = None
        self._waiting = ""
        self._sent = ""
        self._is_new = True
        self._has_text = False  # the artifact, also of a reply that does not count

    @property
    def has_text(self) -> bool:
        """Whether text waits to be sent."""
        return bool(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether enough text waits for one event."""
        return len(self._waiting) >= MAX_CHARS

    def take(self, piece: AgentChunk) -> Iterator[Told]:
        """Take a piece that is not the last one, and return its events. Text waits for :meth:`flush`."""
        if piece.path:
            return  # of an agent inside: its caller's answer counts
        if piece.kind is ChunkKind.TEXT:
            self._waiting += piece.text
        elif piece.kind is ChunkKind.RESTARTED:
            self._restart()
        elif piece.kind is ChunkKind.TOOL_STARTED and piece.tool_call is not None:
            yield from self.flush()
            self._restart()
            yield status(TaskState.WORKING, tool=piece.tool_call.name)

    def flush(self, *, is_last: bool = False) -> Iterator[Told]:
        """Return events with the text that waits."""
        while self._waiting:
            text, self._waiting = self._waiting[:MAX_CHARS], self._waiting[MAX_CHARS:]
            yield self._text(text, is_last=is_last and not self._waiting)

    def end(self, response: AgentResponse[Any]) -> Iterator[Told]:
        """Return the last events of a run."""
        if response.status in (ResponseStatus.COMPLETE, ResponseStatus.STOPPED):
            yield from self._rest_of(response.text)
        usage = response.usage.model_dump(exclude_defaults=True, include=set(COUNTS))
        match response.status:
            case ResponseStatus.COMPLETE:
                if response.data is not None:
                    yield _artifact(OUTPUT, {"data": cleaned(response.data)}, is_last=True)
                yield status(TaskState.COMPLETED, usage=usage)
            case ResponseStatus.NEEDS_INPUT:
                yield from self.flush()
                requests: list[JSONValue] = [
                    one.model_dump(mode="json", exclude_defaults=True) for one in response.pending
                ]
                yield status(TaskState.INPUT_REQUIRED, requests=requests, usage=usage)
            case _:
                yield status(TaskState.FAILED, f"stopped: {response.reason}", usage=usage)

    def _rest_of(self, text: str) -> Iterator[Told]:
        """Return events after which the artifact has exactly this text."""
        known = self._sent + self._waiting
        if text.startswith(known):
            self._waiting += text[len(known) :]
        else:
            self._restart()
            self._waiting = text
        if not text and self._has_text:
            yield _artifact(ANSWER, {"text": ""}, is_last=True)
        yield from self.flush(is_last=True)

    def _restart(self) -> None:
        self._waiting = self._sent = ""
        self._is_new = True

    def _text(self, text: str, *, is_last: bool) -> Told:
        told = _artifact(ANSWER, {"text": cleaned(text)}, appends=not self._is_new, is_last=is_last)
        self._sent += text
        self._is_new, self._has_text = False, True
        return told


def _artifact(name: str, part: Json, *, appends: bool = False, is_last: bool = False) -> Told:
    body: Json = {"id": name, "parts": [part]}
    return Told(
        EntryKind.ARTIFACT, body | ({"append": True} if appends else {}) | ({"last": True} if is_last else {})
    )
