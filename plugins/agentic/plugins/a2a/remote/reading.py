"""Reads the tasks of a remote agent. Pure; nothing that a server sends is trusted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentic.core.agents import PendingRequest, RequestKind
from agentic.core.llm.messages import ChatMessage, DataPart, ToolCall
from agentic.core.llm.usage import TokenUsage
from agentic.core.records import record
from agentic.core.types import JSONValue
from agentic.plugins.a2a.tasks.entries import TaskState
from agentic.plugins.a2a.vocabulary import COUNTS, OUTPUT, SEQUENCE, plain

MAX_CHARS = 4 * 1024 * 1024
"""Of the text of one answer."""

MAX_FILES = 32
MAX_REQUESTS = 32


class RemoteRequest(BaseModel):
    """A request of a remote agent, and the way to answer it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    request: PendingRequest = Field(description="As this side shows it.")
    remote_id: str = Field(default="", description="Its id there; empty if the agent only waits for a text.")


class Outcome(BaseModel):
    """The end of an exchange with a remote agent: it has answered, failed, or asks. It can be stored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    state: TaskState
    task: str = ""
    context: str = ""
    text: str = ""
    data: JSONValue = None
    files: tuple[DataPart, ...] = ()
    requests: tuple[RemoteRequest, ...] = ()
    reason: str = ""
    usage: TokenUsage = TokenUsage()

    def message(self, author: str) -> ChatMessage:
        """Return the answer as a message of an agent."""
        return ChatMessage.assistant(self.text, *self.files, author_name=author)


@record
class Delta:
    """More of the text of an answer.

    Attributes:
        text: The text.
        restarts: Whether all text before it no longer counts.
    """

    text: str
    restarts: bool = False


class AnswerTooLargeError(ValueError):
    """The text of an answer is too large."""


class TaskReader:
    """Adds up the facts that a server sends about a task. Events that come twice count once.

    Args:
        agent: Name of the remote agent, for people.

    Attributes:
        task: Id of the task.
        context: Id of its conversation.
        state: Its state.
        cursor: The last sequence seen, of servers that number their events; else None.
        is_exact: Whether no text can be double. A server without numbers may send words as an event although
            the task that it sent before has them: the task must be read once more.
    """

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self.task = ""
        self.context = ""
        self.state = TaskState.SUBMITTED
        self.cursor: int | None = None
        self.is_exact = True
        self._status: dict[str, Any] = {}
        self._artifacts: dict[str, list[dict[str, Any]]] = {}
        self._history: list[dict[str, Any]] = []
        self._usage = TokenUsage()
        self._shown: list[str] = []
        self._size = 0

    @property
    def is_settled(self) -> bool:
        """Whether the task has ended, or waits for this side."""
        return self.state.is_final or self.state.waits

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to read."""
        return self.is_settled and self.is_exact

    def has_message(self, message_id: str) -> bool:
        """Whether the task's history has a message."""
        return any(message.get("messageId") == message_id for message in self._history)

    def take(self, response: dict[str, Any]) -> Iterator[Delta]:
        """Take an event or a whole task, as JSON, and return the text that it adds.

        Raises:
            AnswerTooLargeError: The answer is too large.
        """
        for kind in ("task", "statusUpdate", "artifactUpdate", "message"):
            body = response.get(kind)
            if isinstance(body, dict):
                yield from self._take(kind, body)

    def _take(self, kind: str, body: dict[str, Any]) -> Iterator[Delta]:
        if kind == "message":
            yield from self._take_message(body)
            return
        name = str(body.get("id" if kind == "task" else "taskId") or "")
        if self.task and name != self.task:
            return  # of another task
        sequence = _sequence_of(body)
        if _is_known(sequence, self.cursor, is_whole=kind == "task"):
            return
        self.task = self.task or name
        self.context = str(body.get("contextId") or "") or self.context
        if kind == "task":
            yield from self._take_task(body)
        elif kind == "statusUpdate":
            self._take_status(body)
        else:
            self.is_exact = self.is_exact and (sequence is not None or not body.get("append"))
            yield from self._take_artifact(body)
        if sequence is not None:
            self.cursor = max(sequence, self.cursor or 0)

    def _take_message(self, body: dict[str, Any]) -> Iterator[Delta]:
        """Take an answer without a task."""
        self.context = str(body.get("contextId") or "") or self.context
        self._artifacts = {"message": _dicts(body.get("parts"))}
        self.state = TaskState.COMPLETED
        yield from self._changed()

    def _take_task(self, body: dict[str, Any]) -> Iterator[Delta]:
        if self.state.is_final and _state_of(body) is not self.state:
            return  # of a server that has not heard of its end
        self._take_status(body)
        self._history = _dicts(body.get("history"))
        artifacts = {
            str(one.get("artifactId") or number): _dicts(one.get("parts"))
            for number, one in enumerate(_dicts(body.get("artifacts")))
        }
        if artifacts or self.is_exact:  # else the server keeps none
            self._artifacts = artifacts
        self.is_exact = True
        yield from self._changed()

    def _take_status(self, body: dict[str, Any]) -> None:
        state = _state_of(body)
        if state is None or self.state.is_final:
            return
        self.state, self._status = state, body["status"]
        facts = _extension(body)
        if isinstance(facts.get("usage"), dict):
            self._usage = _usage(facts["usage"])

    def _take_artifact(self, body: dict[str, Any]) -> Iterator[Delta]:
        artifact = body.get("artifact")
        if not isinstance(artifact, dict):
            return
        name, parts = str(artifact.get("artifactId") or ""), _dicts(artifact.get("parts"))
        known = self._artifacts.get(name)
        if known is None or not body.get("append"):
            self._artifacts[name] = parts
            yield from self._changed()
            return
        is_shown = name == next(reversed(self._artifacts)) and any(part.get("text") for part in known)
        known.extend(parts)
        if is_shown and name != OUTPUT and all(set(part) <= _TEXT for part in parts):
            yield from self._show("".join(str(part.get("text", "")) for part in parts))
        else:
            yield from self._changed()

    def _changed(self) -> Iterator[Delta]:
        text, shown = self._text(), "".join(self._shown)
        if text.startswith(shown):
            yield from self._show(text[len(shown) :])
            return
        self._shown, self._size = [], 0
        yield Delta("", restarts=True)
        yield from self._show(text)

    def _show(self, text: str) -> Iterator[Delta]:
        if not text:
            return
        self._size += len(text)
        if self._size > MAX_CHARS:
            raise AnswerTooLargeError(f"the answer has more than {MAX_CHARS} characters")
        self._shown.append(text)
        yield Delta(text)

    def _text(self) -> str:
        texts = [_text_of(parts) for name, parts in self._artifacts.items() if name != OUTPUT]
        return "\n\n".join(text for text in texts if text)

    def outcome(self) -> Outcome:
        """Return the outcome of a settled task."""
        message = self._status.get("message")
        said = _dicts(message.get("parts")) if isinstance(message, dict) else []
        parts = [part for parts in self._artifacts.values() for part in parts]
        if self.state is TaskState.COMPLETED and not parts:
            parts = said or _last_words(self._history)
        text, data = self._text() or _text_of(parts), _data(parts)
        return Outcome(
            state=self.state,
            task=self.task,
            context=self.context,
            text=json.dumps(data, ensure_ascii=False) if not text and data is not None else text,
            data=data,
            files=tuple(_files(parts)),
            requests=tuple(self._requests(said)) if self.state.waits else (),
            reason=self._reason(said),
            usage=self._usage,
        )

    def _reason(self, said: list[dict[str, Any]]) -> str:
        if not self.state.is_final or self.state is TaskState.COMPLETED:
            return ""
        words = self.state.value.removeprefix("TASK_STATE_").lower()
        return f"the remote agent {self._agent!r} {words} the task: {_text_of(said)[:2_000] or 'no reason'}"

    def _requests(self, said: list[dict[str, Any]]) -> list[RemoteRequest]:
        data = [part["data"] for part in said if isinstance(part.get("data"), dict)]
        listed = [one["requests"] for one in data if isinstance(one.get("requests"), list)]
        given = listed[0][:MAX_REQUESTS] if listed else []
        found = [request for one in given if (request := self._ours(one)) is not None]
        return found or [self._question(_text_of(said))]

    def _ours(self, given: object) -> RemoteRequest | None:
        """Return a request of a server of ours."""
        try:
            request = PendingRequest.model_validate(plain(given))
        except ValidationError:
            return None
        call = request.call or ToolCall(id=request.id, name="question")
        question = request.question or (json.dumps(request.data) if request.data is not None else "")
        changed = {
            "id": self._local(request.id),
            # The person who answers reads whose tool it is.
            "call": call.model_copy(update={"name": f"{self._agent}.{call.name}", "opaque": None}),
            "kind": RequestKind.RESULT if request.kind is RequestKind.INFO else request.kind,
            "question": question,
            "data": None,
        }
        return RemoteRequest(request=request.model_copy(update=changed), remote_id=request.id)

    def _question(self, text: str) -> RemoteRequest:
        """Return the wait of any server for more input."""
        question = text or "the remote agent needs more input"
        if self.state is TaskState.AUTH_REQUIRED:
            question = f"the remote agent needs a login: {question}"
        local = self._local(f"{self._status.get('timestamp', '')}{text}")
        call = ToolCall(id=local, name=f"{self._agent}.question")
        return RemoteRequest(
            request=PendingRequest(
                id=local, kind=RequestKind.RESULT, call=call, question=question, raised_at=0.0
            )
        )

    def _local(self, name: str) -> str:
        """Return an id that no server can choose."""
        return sha256(f"{self._agent}/{self.task}/{name}".encode(errors="replace")).hexdigest()[:32]


_TEXT = frozenset({"text", "metadata", "mediaType"})


def _state_of(body: dict[str, Any]) -> TaskState | None:
    status = body.get("status")
    try:
        return TaskState(str(status.get("state"))) if isinstance(status, dict) else None
    except ValueError:
        return None  # of a later version


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text_of(parts: Iterable[dict[str, Any]]) -> str:
    return "".join(str(part["text"]) for part in parts if "text" in part)


def _data(parts: Iterable[dict[str, Any]]) -> JSONValue:
    found = [plain(part["data"]) for part in parts if "data" in part]
    return found[0] if len(found) == 1 else found or None


def _files(parts: Iterable[dict[str, Any]]) -> Iterator[DataPart]:
    files = [part for part in parts if "raw" in part or "url" in part]
    for part in files[:MAX_FILES]:
        media_type = str(part.get("mediaType") or "application/octet-stream")
        name = str(part["filename"]) if part.get("filename") else None
        if "raw" in part:
            yield DataPart(media_type=media_type, data=str(part["raw"]), name=name)
        elif str(part["url"]).startswith("https://"):
            yield DataPart(media_type=media_type, url=str(part["url"]), name=name)


def _last_words(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    said = [message for message in history if message.get("role") == "ROLE_AGENT"]
    return _dicts(said[-1].get("parts")) if said else []


def _extension(body: dict[str, Any]) -> dict[str, Any]:
    metadata = body.get("metadata")
    facts = metadata.get(SEQUENCE) if isinstance(metadata, dict) else None
    return facts if isinstance(facts, dict) else {}


def _sequence_of(body: dict[str, Any]) -> int | None:
    number = _extension(body).get("sequence")
    return int(number) if isinstance(number, (int, float)) and 0 <= number < 2**53 else None


def _is_known(sequence: int | None, cursor: int | None, *, is_whole: bool) -> bool:
    """Whether a reader has an event already, or more than a whole task has."""
    if sequence is None or cursor is None:
        return False
    return sequence < cursor or (sequence == cursor and not is_whole)


def _usage(given: dict[str, Any]) -> TokenUsage:
    known = {name: given[name] for name in COUNTS if name in given}
    try:
        return TokenUsage.model_validate(plain(known))
    except ValidationError:
        return TokenUsage()
