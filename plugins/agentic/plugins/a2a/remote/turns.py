"""A turn of a remote agent: exchanges with it, each journalled before the next step."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from agentic.core.agents import (
    AgentChunk,
    AgentInput,
    AgentResponse,
    AgentThread,
    ChunkKind,
    PendingRequest,
    RequestAnswer,
    ResponseStatus,
    RunOptions,
    ThreadEntry,
    ThreadMisfitError,
    UsageLimits,
)
from agentic.core.agents.journal import EffectJournal, ThreadJournal
from agentic.core.agents.limits import limit_before_model
from agentic.core.agents.responses import Emit
from agentic.core.agents.threads.entries import ThreadTurn
from agentic.core.agents.turns.inputs import check_input, in_time, key_note, parted, turn_of_key
from agentic.core.llm.messages import ChatMessage, ChatRole, DataPart, TextPart
from agentic.core.llm.usage import TokenUsage
from agentic.core.logging import get_logger
from agentic.core.records import record
from agentic.core.types import JSONValue
from agentic.plugins.a2a.errors import (
    RemoteAgentError,
    RemoteAgentUnavailableError,
    RemoteTaskTimeoutError,
)
from agentic.plugins.a2a.remote.connecting import (
    Connection,
    Connector,
    NotPossibleError,
    UnknownRemoteTaskError,
)
from agentic.plugins.a2a.remote.reading import AnswerTooLargeError, Outcome, TaskReader
from agentic.plugins.a2a.tasks.entries import TaskState
from agentic.plugins.a2a.vocabulary import COUNTS, clean, cleaned

log = get_logger(__name__)

T = TypeVar("T")

MAX_FAILURES = 6
"""Failures to reach the agent, one after the other, before a turn fails."""

FIRST_PAUSE_S, LAST_PAUSE_S = 0.2, 5.0


@record(kw_only=True)
class RemoteSetup:
    """The parts of a remote agent that its turns need.

    Attributes:
        name: Its name here.
        output_type: The type of the answer's data; None for text.
        limits: Limits of a turn.
        timeout_s: Seconds to wait for a task, each time.
    """

    name: str
    output_type: Any
    limits: UsageLimits
    timeout_s: float


@dataclass(slots=True)
class RemoteTurn:
    """One turn of a remote agent.

    Args:
        agent: The parts of the agent.
        connector: Opens connections to it.
        thread: The conversation.
        options: Of this run.
        emit: Takes the pieces.
    """

    agent: RemoteSetup
    connector: Connector
    thread: AgentThread
    options: RunOptions
    emit: Emit
    turn_id: str = ""
    first_entry: int = 0
    is_continued: bool = False
    journal: EffectJournal = field(default_factory=ThreadJournal)

    @classmethod
    async def cancel(cls, connector: Connector, thread: AgentThread) -> bool:
        """Cancel the task of the open turn."""
        turn = thread.turn
        task = _facts_of(thread).get("task")
        if turn is None or turn.ended or not isinstance(task, str):
            return False
        async with connector.open() as connection:
            try:
                return await connection.cancel(task)
            except UnknownRemoteTaskError:
                return False

    async def run(self, given: AgentInput) -> AgentResponse[Any]:
        """Take the turn to its end, or to where it waits for answers."""
        self.first_entry = len(self.thread.entries)
        self.journal = self.options.journal or ThreadJournal()
        if self.thread.metadata.agent != self.agent.name:
            raise ThreadMisfitError(
                self.thread.id, self.agent.name, f"it belongs to agent {self.thread.metadata.agent!r}"
            )
        await self._take_in(given)
        await self.emit(self._chunk(ChunkKind.STARTED))
        while (turn := self._turn).ended is None:
            if turn.pending:
                answers = await self.journal.ask(turn.pending)
                if answers is None:
                    break
                await self._add(answers=tuple(answers))
            else:
                await self._exchange(turn)
        return self._response(self._turn)

    @property
    def _turn(self) -> ThreadTurn:
        return self.thread.find_turn(self.turn_id) or ThreadTurn(self.turn_id)

    async def _take_in(self, given: AgentInput) -> None:
        messages, answers = parted(given)
        wanted = self.options.idempotency_key
        key = wanted and turn_of_key(self.thread, wanted)
        is_known = key is not None and self.thread.find_turn(key) is not None
        last = self.thread.turn
        self.turn_id = check_input(self.thread, messages, answers, key)
        if is_known:
            messages = ()
        if messages and last is not None and last.ended is None:
            raise RemoteAgentError(
                self.agent.name, "the thread has an open turn: continue it first, with agent.run((), thread)"
            )
        if not messages and not answers and last is None:
            raise ValueError(
                f"agent {self.agent.name!r} was given nothing to answer: pass a text or messages"
            )
        self.is_continued = not messages and not answers
        if not self.is_continued:
            answers = in_time(answers, self.thread.pending, time.time())
            notes = key_note(wanted, self.turn_id) if messages else {}
            await self._add(messages=messages, answers=answers, is_input=True, notes=notes)

    async def _exchange(self, turn: ThreadTurn) -> None:
        """Send a message, unless it was sent, and wait for the outcome."""
        if (reached := self._limit_reached(turn)) is not None:
            await self._add(ended="stopped", reason=reached)
            return
        number = sum(1 for entry in self.thread.entries if entry.turn == self.turn_id and entry.asked)
        sent = await self._sent(turn, number)
        stored = await self.journal.once(f"a2a.{number}.end", lambda: self._outcome(sent))
        await self._apply(Outcome.model_validate(stored))

    def _limit_reached(self, turn: ThreadTurn) -> str | None:
        limits = self.options.limits or self.agent.limits
        reached = limit_before_model(limits, turn.usage, 0.0)
        if reached is not None or self.options.outer_limit is None:
            return reached
        outer = self.options.outer_limit()
        return None if outer is None else f"the agent that called it stopped: {outer}"

    async def _sent(self, turn: ThreadTurn, number: int) -> dict[str, Any]:
        """Return the facts of a sent message: its task, or the answer of an agent without tasks."""
        known = _facts_of(self.thread)
        if known.get("turn") == self.turn_id and known.get("number") == number:
            return known
        is_first = False

        async def begin() -> JSONValue:
            nonlocal is_first
            is_first = True
            return True

        await self.journal.once(f"a2a.{number}.begin", begin)
        message = self._message(turn, number)
        may_be_sent = self.is_continued or not is_first
        found = await self.journal.once(
            f"a2a.{number}.sent", lambda: self._send(message, may_be_sent=may_be_sent)
        )
        sent: dict[str, Any] = found if isinstance(found, dict) else {}
        facts = {**sent, "turn": self.turn_id, "number": number}
        await self._add(state=facts)
        return facts

    async def _send(self, message: dict[str, Any], *, may_be_sent: bool) -> JSONValue:
        """Send a message, again and again under the same id, until it is accepted."""

        async def once() -> dict[str, Any]:
            nonlocal may_be_sent
            async with self.connector.open() as connection:
                found = None
                if may_be_sent and not connection.has_cursor:  # servers of ours know the message by its id
                    found = await self._find(connection, message)
                may_be_sent = True
                return found or await connection.send(message)

        try:
            response = await self._trying(once)
        except (NotPossibleError, UnknownRemoteTaskError) as exc:
            raise RemoteAgentError(self.agent.name, f"it refuses the message: {exc}") from exc
        reader = TaskReader(self.agent.name)
        for _ in reader.take(response):
            pass
        if reader.task:
            return {"task": reader.task, "context": reader.context}
        return {"context": reader.context, "answer": reader.outcome().model_dump(mode="json")}

    async def _trying(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Do something until the agent can be reached; not for ever."""
        failures = 0
        while True:
            try:
                return await attempt()
            except RemoteAgentUnavailableError:
                failures += 1
                if failures >= MAX_FAILURES:
                    raise
            await _pause(failures)

    async def _find(self, connection: Connection, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the task of a message, if it has arrived."""
        try:
            if "taskId" in message:
                tasks = [await connection.task(message["taskId"])]
            else:
                tasks = await connection.tasks(message["contextId"])
        except (NotPossibleError, UnknownRemoteTaskError, RemoteAgentError):
            return None  # the message id tells it apart, if the agent looks at it
        for task in tasks:
            reader = TaskReader(self.agent.name)
            for _ in reader.take(task):
                pass
            if reader.has_message(message["messageId"]):
                return task
        return None

    async def _outcome(self, sent: dict[str, Any]) -> JSONValue:
        if isinstance(sent.get("answer"), dict):
            outcome = Outcome.model_validate(sent["answer"])
            if outcome.text:
                await self.emit(self._chunk(ChunkKind.TEXT, text=outcome.text))
            return outcome.model_dump(mode="json")
        reader = TaskReader(self.agent.name)
        reader.task = str(sent.get("task", ""))
        is_new = sent.get("number") == 0  # else the task has earlier events
        try:
            async with asyncio.timeout(self.agent.timeout_s):
                await self._follow(reader, 0 if is_new else None)
        except TimeoutError as exc:
            raise RemoteTaskTimeoutError(
                self.agent.name,
                f"task {reader.task} did not end within {self.agent.timeout_s:g} s; "
                "agent.run((), thread) waits for it again",
            ) from exc
        except (UnknownRemoteTaskError, AnswerTooLargeError) as exc:
            reason = f"the remote agent {self.agent.name!r}: {str(exc)[:500] or 'it does not know the task'}"
            failed = Outcome(state=TaskState.FAILED, task=reader.task, context=reader.context, reason=reason)
            return failed.model_dump(mode="json")
        return reader.outcome().model_dump(mode="json")

    async def _follow(self, reader: TaskReader, first: int | None) -> None:
        """Read the events of a task until it is settled; after a cut, from where it was cut."""
        failures = 0
        while not reader.is_done:
            seen = reader.cursor
            try:
                async with self.connector.open() as connection:
                    while not reader.is_done:
                        seen = reader.cursor
                        await self._read(connection, reader, first if seen is None else seen)
                        failures = 0
                        if not reader.is_settled:
                            await _pause(1)
            except RemoteAgentUnavailableError as exc:
                failures = 1 if reader.cursor != seen else failures + 1
                if failures >= MAX_FAILURES:
                    if reader.is_settled:
                        return  # with its answer as it came
                    raise
                log.info("a2a.stream_cut", agent=self.agent.name, task=reader.task, error=exc.reason)
                await _pause(failures)

    async def _read(self, connection: Connection, reader: TaskReader, after: int | None) -> None:
        if connection.has_streams and not reader.is_settled:
            await self._read_events(connection, reader, after)
        if reader.is_done:
            return
        try:
            await self._show(reader, await connection.task(reader.task))
        except (NotPossibleError, UnknownRemoteTaskError):
            if not reader.is_settled:
                raise
        reader.is_exact = True  # or it keeps no tasks that have ended, or has an older one

    async def _read_events(self, connection: Connection, reader: TaskReader, after: int | None) -> None:
        try:
            async with aclosing(connection.events(reader.task, after)) as events:
                async for event in events:
                    await self._show(reader, event)
                    if reader.is_settled:
                        return
        except NotPossibleError:
            pass  # it has ended meanwhile

    async def _show(self, reader: TaskReader, event: dict[str, Any]) -> None:
        for delta in reader.take(event):
            kind = ChunkKind.RESTARTED if delta.restarts else ChunkKind.TEXT
            await self.emit(self._chunk(kind, text=delta.text))

    async def _apply(self, outcome: Outcome) -> None:
        """Add an outcome to the thread, in one entry."""
        facts = _facts_of(self.thread)
        if outcome.state.waits:
            asked = tuple(self._bounded(one.request) for one in outcome.requests)
            remote: dict[str, JSONValue] = {one.request.id: one.remote_id for one in outcome.requests}
            await self._add(asked=asked, usage=outcome.usage, state={**facts, "asked": remote})
            for request in asked:
                await self.emit(self._chunk(ChunkKind.REQUEST, request=request))
            return
        message = outcome.message(self.agent.name)
        messages = (message,) if message.parts else ()
        reason = outcome.reason
        if outcome.state is TaskState.COMPLETED:
            reason = self._misfit(outcome)
        ended = "stopped" if reason else "complete"
        # The use is that of the whole task: the turn has some of it already.
        usage = _difference(outcome.usage, self._turn.usage)
        state = {**facts, "data": outcome.data}
        await self._add(messages=messages, usage=usage, ended=ended, reason=reason, state=state)
        for message in messages:
            await self.emit(self._chunk(ChunkKind.MESSAGE, message=message))

    def _bounded(self, request: PendingRequest) -> PendingRequest:
        """Return a request with this side's end for answers, if that is earlier."""
        now = time.time()
        request = request.model_copy(update={"raised_at": now})
        if self.options.approval_s is None:
            return request
        ends = now + self.options.approval_s
        return request.model_copy(update={"expires_at": min(ends, request.expires_at or ends)})

    def _misfit(self, outcome: Outcome) -> str:
        kind = self.options.output_type or self.agent.output_type
        if kind in (None, str):
            return ""
        try:
            _typed(kind, outcome.data, outcome.text)
        except ValidationError as exc:
            fault = exc.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"])) or "it"
            words = f"the answer of the remote agent {self.agent.name!r} is not the wanted output"
            return f"{words}: {place}: {fault['msg']}"
        return ""

    def _message(self, turn: ThreadTurn, number: int) -> dict[str, Any]:
        """Return the message of an exchange. Its id is the same each time that it is made."""
        facts = _facts_of(self.thread)
        context = str(facts.get("context") or "") or _digest("context", self.thread.id)
        body: dict[str, Any] = {
            "messageId": _digest("message", self.thread.id, self.turn_id, str(number)),
            "contextId": context,
            "role": "ROLE_USER",
        }
        if number == 0:
            said = [one for entry in self._inputs() for one in entry.messages]
            return {**body, "parts": _parts(said, self.agent.name)}
        asked = facts.get("asked")
        remote = asked if isinstance(asked, dict) else {}
        answers = [answer for answer in (turn.answers or {}).values() if answer.request_id in remote]
        return {**body, "taskId": str(facts.get("task", "")), "parts": _answer_parts(answers, remote)}

    def _inputs(self) -> list[ThreadEntry]:
        return [entry for entry in self.thread.entries if entry.turn == self.turn_id and entry.is_input]

    async def _add(self, **facts: Any) -> None:  # noqa: ANN401  # the fields of an entry
        await self.thread.append(ThreadEntry(turn=self.turn_id, **facts))

    def _response(self, turn: ThreadTurn) -> AgentResponse[Any]:
        added = self.thread.entries[self.first_entry :]
        status = ResponseStatus.NEEDS_INPUT if turn.ended is None else ResponseStatus(turn.ended)
        is_complete = status is ResponseStatus.COMPLETE
        data = turn.state.get("data") if is_complete and isinstance(turn.state, dict) else None
        text = turn.reply.text if turn.reply else ""
        response: AgentResponse[Any] = AgentResponse(
            agent=self.agent.name,
            thread_id=self.thread.id,
            turn=turn.id,
            status=status,
            messages=tuple(one for entry in added if not entry.is_input for one in entry.messages),
            text=text,
            data=data,
            usage=turn.usage,
            pending=turn.pending if turn.ended is None else (),
            reason=turn.reason,
        )
        kind = self.options.output_type or self.agent.output_type
        if not is_complete or kind in (None, str):
            return response.with_output(data if is_complete else None)
        return response.with_output(_typed(kind, data, text))

    def _chunk(self, kind: ChunkKind, **facts: Any) -> AgentChunk:  # noqa: ANN401  # fields of the chunk
        return AgentChunk(kind=kind, author_name=self.agent.name, path=self.options.path, **facts)


def _facts_of(thread: AgentThread) -> dict[str, Any]:
    """Return the facts of the last exchange: its task and conversation there."""
    for entry in reversed(thread.entries):
        if isinstance(entry.state, dict):
            return entry.state
    return {}


def _typed(kind: Any, data: JSONValue, text: str) -> object:  # noqa: ANN401  # any type
    adapter: TypeAdapter[object] = TypeAdapter(kind)
    return adapter.validate_json(text) if data is None else adapter.validate_python(data)


def _difference(whole: TokenUsage, known: TokenUsage) -> TokenUsage:
    return TokenUsage(**{name: max(getattr(whole, name) - getattr(known, name), 0) for name in COUNTS})


def _parts(messages: list[ChatMessage], agent: str) -> list[dict[str, Any]]:
    """Return messages as the parts of one: in a conversation of several, each says whose words it is."""
    found: list[dict[str, Any]] = []
    for message in messages:
        name = message.author_name or ("" if message.role is ChatRole.USER else message.role.value)
        prefix = f"{name}: " if name and name != agent and len(messages) > 1 else ""
        for part in message.parts:
            if isinstance(part, TextPart):
                found.append({"text": clean(f"{prefix}{part.text}")})
            elif isinstance(part, DataPart):
                found.append(_file_part(part))
    return found or [{"text": ""}]


def _file_part(part: DataPart) -> dict[str, Any]:
    content = {"url": part.url} if part.data is None else {"raw": part.data}
    return {**content, "mediaType": part.media_type, "filename": part.name or ""}


def _answer_parts(answers: list[RequestAnswer], remote: dict[str, Any]) -> list[dict[str, Any]]:
    """Return answers as parts: as data for servers of ours, as text for any other one."""
    listed = [
        answer.model_copy(update={"request_id": str(remote[answer.request_id])})
        for answer in answers
        if remote[answer.request_id]
    ]
    if listed:
        data = [cleaned(answer.model_dump(mode="json", exclude_defaults=True)) for answer in listed]
        return [{"data": {"answers": data}}]
    return [_plain_answer(answer) for answer in answers] or [{"text": ""}]


def _plain_answer(answer: RequestAnswer) -> dict[str, Any]:
    if not answer.approved:
        return {"text": clean(f"refused: {answer.reason or 'no reason'}")}
    if isinstance(answer.result, str):
        return {"text": clean(answer.result)}
    return {"text": "yes"} if answer.result is None else {"data": cleaned(answer.result)}


def _digest(*words: str) -> str:
    return sha256(json.dumps(words).encode()).hexdigest()[:32]


async def _pause(failures: int) -> None:
    await asyncio.sleep(min(FIRST_PAUSE_S * 2 ** max(failures - 1, 0), LAST_PAUSE_S))
