"""Runs a turn: asks the model, calls tools, and adds each step to the thread as it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

from agentic.core.agents.conversation import well_formed
from agentic.core.agents.errors import OutputNotMetError, ThreadMisfitError
from agentic.core.agents.journal import EffectJournal, PartJournal, ThreadJournal
from agentic.core.agents.limits import UsageLimits, limit_before_model, limit_before_tools
from agentic.core.agents.memory.asking import learn, recall
from agentic.core.agents.memory.provider import MemoryScope
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput, PendingRequest, RequestAnswer
from agentic.core.agents.responses import AgentChunk, AgentResponse, ChunkKind, Emit, ResponseStatus
from agentic.core.agents.setup import AgentSetup
from agentic.core.agents.structured import OutputSpec, output_spec
from agentic.core.agents.threads.entries import ThreadEntry, ThreadTurn
from agentic.core.agents.threads.thread import AgentThread
from agentic.core.agents.tools.calling import call_tool, failed
from agentic.core.agents.tools.large_results import READ_RESULT, ReadResult, cut_result, large_results
from agentic.core.agents.tools.pausing import Continued, KeptPause, ToolPause, answer_in_time
from agentic.core.agents.tools.tool import Tool, ToolContext
from agentic.core.agents.tools.toolset import check_tools
from agentic.core.agents.tracing.observing import current_observer
from agentic.core.agents.turns.deciding import (
    AskFor,
    CallModel,
    CheckAnswer,
    RunCalls,
    SettleCalls,
    next_step,
    questions_of,
)
from agentic.core.agents.turns.inputs import check_input, in_time, key_note, parted, turn_of_key
from agentic.core.agents.turns.replies import (
    accepting,
    as_heard,
    restore_call,
    store_call,
    why_no_answer,
    with_new_ids,
)
from agentic.core.llm.adapter import StructuredMode, opened_stream
from agentic.core.llm.budget import BudgetExceededError
from agentic.core.llm.errors import CutReplyError
from agentic.core.llm.messages import ChatMessage, ChatRole, ToolCall, ToolResult
from agentic.core.llm.requests import ModelReply, ModelRequest
from agentic.core.llm.structured import OUTPUT_TOOL
from agentic.core.llm.usage import TokenUsage
from agentic.core.logging import get_logger
from agentic.core.types import JSONValue

log = get_logger(__name__)

MAX_REPAIRS = 2
"""How often a model may correct an answer that does not have the output type."""

STOPPED = "stopped"
COMPLETE = "complete"
NO_USE = TokenUsage()


@dataclass(slots=True)
class TurnRun:
    """One turn of a chat agent.

    Args:
        agent: The parts of the agent.
        thread: The conversation.
        options: Of this run.
        emit: Takes the pieces.
    """

    agent: AgentSetup
    thread: AgentThread
    options: RunOptions
    emit: Emit
    turn_id: str = ""
    begun: float = 0.0
    first_entry: int = 0
    limits: UsageLimits = field(default_factory=UsageLimits)
    journal: EffectJournal = field(default_factory=ThreadJournal)
    output: OutputSpec[Any] | None = None
    tools: dict[str, Tool] = field(default_factory=dict)
    memory: tuple[ChatMessage, ...] | None = None
    adding: asyncio.Lock = field(default_factory=asyncio.Lock)
    under_way: dict[str, list[TokenUsage]] = field(default_factory=dict)

    async def run(self, given: AgentInput) -> AgentResponse[Any]:
        """Take the turn to its end, or to where it waits for answers."""
        observer = current_observer()
        if observer is None:
            return await self._run(given)
        with observer.agent(self.agent.name, self.thread.id) as work:
            response = await self._run(given)
            work.answered(response)
        return response

    async def _run(self, given: AgentInput) -> AgentResponse[Any]:
        self._prepare()
        await self._find_tools()
        await self._take_in(given)
        await self.emit(self._chunk(ChunkKind.STARTED))
        while True:
            turn = self._turn
            if turn.ended:
                return await self._response(turn)
            has_output = self.output is not None
            step = next_step(turn, self.tools, time.time(), self.options.approval_s, has_output=has_output)
            match step:
                case CallModel():
                    await self._call_model(turn, step.number)
                case SettleCalls():
                    await self._settle(step.results)
                case RunCalls():
                    await self._run_calls(turn, step)
                case AskFor():
                    if not await self._ask(turn, step):
                        return await self._response(self._turn)
                case CheckAnswer():
                    await self._check_answer(turn, step.message)
                case never:
                    assert_never(never)

    def _prepare(self) -> None:
        self.begun = time.monotonic()
        self.first_entry = len(self.thread.entries)
        self.limits = self.options.limits or self.agent.limits
        self.journal = self.options.journal or ThreadJournal()
        kind = self.options.output_type or self.agent.output_type
        self.output = None if kind in (None, str) else output_spec(kind)
        if self.thread.metadata.agent != self.agent.name:
            raise ThreadMisfitError(
                self.thread.id, self.agent.name, f"it belongs to agent {self.thread.metadata.agent!r}"
            )

    async def _find_tools(self) -> None:
        tools = list(self.agent.tools)
        for toolset in self.agent.toolsets:
            tools += await toolset.tools()
        self.tools = {tool.name: tool for tool in check_tools(tools)}
        self._find_reader()

    def _find_reader(self) -> None:
        if found := large_results(self.thread.notes):
            self.tools.setdefault(READ_RESULT, ReadResult(found))

    @property
    def _turn(self) -> ThreadTurn:
        return self.thread.find_turn(self.turn_id) or ThreadTurn(self.turn_id)

    async def _take_in(self, given: AgentInput) -> None:
        """Begin a turn with the input, or continue the open one with answers."""
        messages, answers = parted(given)
        wanted = self.options.idempotency_key
        key = wanted and turn_of_key(self.thread, wanted)
        is_known = key is not None and self.thread.find_turn(key) is not None
        has_turn = self.thread.turn is not None
        self.turn_id = check_input(self.thread, messages, answers, key)
        if is_known:
            messages = ()  # it has them
        if not messages and not answers and not has_turn:
            raise ValueError(
                f"agent {self.agent.name!r} was given nothing to answer: pass a text or messages"
            )
        if messages or answers:
            answers = in_time(answers, self.thread.pending, time.time())
            heard = tuple(as_heard(message, self.agent.name) for message in messages)
            reason = await self._refusal(messages) if messages else None
            # In one entry: a process that dies between two would continue without the guards.
            ended = None if reason is None else STOPPED
            joined = (
                key_note(wanted, self.turn_id) if messages and wanted not in (None, self.turn_id) else None
            )
            await self._add(
                messages=heard,
                answers=answers,
                is_input=True,
                ended=ended,
                reason=reason or "",
                notes=joined,
            )

    async def _refusal_of(self, call: ToolCall) -> str | None:
        for guard in self.agent.guards:
            if (reason := await guard.check_call(call)) is not None:
                return reason
        return None

    async def _refusal(self, messages: Sequence[ChatMessage]) -> str | None:
        for guard in self.agent.guards:
            if (reason := await guard.check_input(messages)) is not None:
                return reason
        return None

    async def _call_model(self, turn: ThreadTurn, number: int) -> None:
        if (reached := self._limit_reached()) is not None:
            await self._add(ended=STOPPED, reason=reached)
            return
        request = await self._request(turn)
        try:
            stored = await self.journal.once(f"model.{number}", partial(self._ask_model, request))
        except BudgetExceededError as exc:
            await self._add(ended=STOPPED, reason=str(exc))
            return
        reply = ModelReply.from_json(stored)
        message = with_new_ids(reply.message, self.thread.messages)
        named = message.model_copy(update={"author_name": self.agent.name})
        reason = why_no_answer(reply)
        # In one entry: a process that dies between two would take a refusal for an answer.
        ended = STOPPED if reason else COMPLETE if self._is_answer(named) else None
        usage = reply.usage.of_model(reply.replied_by or self.agent.model.name)
        await self._add(messages=(named,), usage=usage, ended=ended, reason=reason or "")
        if ended == COMPLETE:
            await self._learn_all()

    def _limit_reached(self, unsettled: TokenUsage = NO_USE) -> str | None:
        """Return the limit that forbids more use of models: of this agent, or of one that called it."""
        under_way = sum((usage for used in self.under_way.values() for usage in used), unsettled)
        worked_s = time.monotonic() - self.begun
        reached = limit_before_model(self.limits, self._turn.usage + under_way, worked_s)
        if reached is not None or (outer_limit := self.options.outer_limit) is None:
            return reached
        outer = outer_limit(under_way)
        return None if outer is None else f"the agent that called it stopped: {outer}"

    async def _ask_model(self, request: ModelRequest) -> JSONValue:
        observer = current_observer()
        if observer is None:
            return (await self._reply_to(request)).to_json()
        with observer.chat(self.agent.name, self.thread.id, self.agent.model.name, request) as work:
            reply = await self._reply_to(request)
            work.replied(reply)
        return reply.to_json()

    async def _reply_to(self, request: ModelRequest) -> ModelReply:
        async with opened_stream(self.agent.model, request) as deltas:
            async for delta in deltas:
                if delta.restarted:
                    await self.emit(self._chunk(ChunkKind.RESTARTED))
                if delta.text:
                    await self.emit(self._chunk(ChunkKind.TEXT, text=delta.text))
                if delta.thinking:
                    await self.emit(self._chunk(ChunkKind.THINKING, text=delta.thinking))
                if delta.reply is not None:
                    return delta.reply
        raise CutReplyError(self.agent.model.name, "its stream ended without a whole reply")

    async def _request(self, turn: ThreadTurn) -> ModelRequest:
        memory = await self._remembered(turn)
        said = self.thread.messages
        before = len(said) - len(turn.messages)
        messages: Sequence[ChatMessage] = well_formed((*said[:before], *memory, *said[before:]))
        if (reducer := self.agent.reducer) and reducer.needs_reduction(messages):
            messages = well_formed(await reducer.reduce(messages, self._keep))
        request = ModelRequest(
            instructions=self.agent.instructions,
            tools=tuple(tool.definition for tool in self.tools.values()),
            messages=tuple(messages),
            settings=self.agent.settings.overlaid(self.options.settings),
        )
        return self.output.bind(request, self._structured) if self.output else request

    async def _keep(self, key: str, effect: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        notes = self.thread.notes
        if key in notes:
            return notes[key]
        kept = await self.journal.once(f"note.{key}", effect)
        await self._add(notes={key: kept})
        return kept

    @property
    def _structured(self) -> StructuredMode:
        return self.agent.structured or self.agent.model.capabilities.structured

    async def _remembered(self, turn: ThreadTurn) -> tuple[ChatMessage, ...]:
        if self.memory is None:
            found: list[ChatMessage] = []
            for number, provider in enumerate(self.agent.memory):
                kept = await self.journal.once(
                    f"memory.{number}.before", partial(recall, provider, self._scope, turn.messages)
                )
                found += [ChatMessage.from_json(one) for one in kept] if isinstance(kept, list) else []
            self.memory = tuple(found)
        return self.memory

    @property
    def _scope(self) -> MemoryScope:
        facts = self.thread.metadata
        return MemoryScope(agent=self.agent.name, user_id=facts.user_id, thread_id=self.thread.id)

    async def _run_calls(self, turn: ThreadTurn, step: RunCalls) -> None:
        new = [call for _, call in step.calls if call.id not in (turn.paused or {})]
        reached = limit_before_tools(self.limits, turn.usage, turn.messages, len(new)) if new else None
        if reached is not None:
            await self._add(ended=STOPPED, reason=reached)
            return
        if len(step.calls) == 1:
            await self._run_call(*step.calls[0])
            return
        # Not a TaskGroup: it hides the cancellation by which a nested agent waits for answers. All calls end
        # first, so that no result is lost.
        ended = await asyncio.gather(
            *(self._run_call(key, call) for key, call in step.calls), return_exceptions=True
        )
        for one in ended:
            if isinstance(one, BaseException):
                raise one

    async def _run_call(self, key: str, call: ToolCall) -> None:
        used = self.under_way[key] = []
        kept = (self._turn.paused or {}).get(call.id)

        async def effect() -> JSONValue:
            if (reason := await self._refusal_of(call)) is not None:
                return store_call(failed(call, reason), used, is_first=kept is None)
            found = await self._call(call, self._context(key, call, used, self._continued(call, kept)))
            return store_call(found, used, is_first=kept is None)

        if kept is None:
            await self.emit(self._chunk(ChunkKind.TOOL_STARTED, tool_call=call))
        whole, usage = restore_call(await self.journal.once(key, effect))
        if isinstance(whole, ToolPause):
            next_one = KeptPause(number=kept.number + 1 if kept else 1, pause=whole)
            await self._add(usage=usage, paused={call.id: next_one})
            del self.under_way[key]
            return
        result, notes = cut_result(whole)
        await self._add(messages=(ChatMessage.tool(result),), usage=usage, notes=notes)
        del self.under_way[key]
        if notes:
            self._find_reader()
        await self.emit(self._chunk(ChunkKind.TOOL_FINISHED, tool_result=result))

    async def _call(self, call: ToolCall, context: ToolContext) -> ToolResult | ToolPause:
        observer = current_observer()
        if observer is None:
            return await call_tool(self.tools[call.name], call, context)
        with observer.tool(self.agent.name, self.thread.id, call) as work:
            result = await call_tool(self.tools[call.name], call, context)
            if not isinstance(result, ToolPause):
                work.returned(result)
        return result

    def _continued(self, call: ToolCall, kept: KeptPause | None) -> Continued | None:
        if kept is None:
            return None
        turn, now = self._turn, time.time()
        asked = questions_of(turn, call, self.tools[call.name], kept, now, self.options.approval_s)
        answers = {key: answer_in_time(one, turn.answers, now) for key, one in asked.items()}
        return Continued(kept.pause, {key: one for key, one in answers.items() if one is not None})

    def _context(
        self, key: str, call: ToolCall, used: list[TokenUsage], continued: Continued | None
    ) -> ToolContext:
        return ToolContext(
            agent=self.agent.name,
            thread_id=self.thread.id,
            user_id=self.thread.metadata.user_id,
            call_id=call.id,
            # Of the call: the key of a continued one has the number of the pause as its fourth part.
            idempotency_key=f"{self.thread.id}:{self.turn_id}:{'.'.join(key.split('.')[:3])}",
            path=(*self.options.path, self.agent.name),
            facts=self.options.facts or {},
            report=self.emit,
            add_usage=used.append,
            journal=PartJournal(self.journal, f"{key}/"),
            limit_reached=self._limit_reached,
            continued=continued,
            refusal_of=self._refusal_of,
        )

    async def _settle(self, results: Sequence[ToolResult]) -> None:
        """Add results that needed no call; an answer from outside can be as large as any result."""
        cut = [cut_result(result) for result in results]
        notes = {key: text for _, kept in cut for key, text in kept.items()}
        await self._add(messages=(ChatMessage.tool(*(result for result, _ in cut)),), notes=notes)
        if notes:
            self._find_reader()

    async def _ask(self, turn: ThreadTurn, step: AskFor) -> bool:
        """Ask, and return whether the turn can continue at once."""
        new = [one for one in step.requests if not one.asked_by]
        reached = limit_before_tools(self.limits, turn.usage, turn.messages, len(new)) if new else None
        if reached is not None:
            await self._add(ended=STOPPED, reason=reached)
            return True
        refused = [one for one in await self._guarded(step.new) if one is not None]
        if refused:
            await self._add(messages=(ChatMessage.tool(*refused),))
            return True
        if step.new:
            await self._add(asked=step.new)
            for request in step.new:
                await self.emit(self._chunk(ChunkKind.REQUEST, request=request))
        answers = await self.journal.ask(step.requests)
        if answers is None:
            return False
        await self._add(answers=tuple(answers))
        return True

    async def _guarded(self, requests: Sequence[PendingRequest]) -> list[ToolResult | None]:
        """Return the results of the calls that a guard refuses: no person is asked for them."""
        if not self.agent.guards:
            return []
        return [await self._guarded_one(request) for request in requests]

    async def _guarded_one(self, request: PendingRequest) -> ToolResult | None:
        call = request.call
        if call is None or request.asked_by:  # a call under way was checked
            return None
        # Kept, because the rest of the turn depends on it.
        reason = await self.journal.once(f"guard.{call.id}", partial(self._refusal_of, call))
        return failed(call, reason) if isinstance(reason, str) else None

    async def _check_answer(self, turn: ThreadTurn, message: ChatMessage) -> None:
        for guard in self.agent.guards:
            if (reason := await guard.check_answer(message)) is not None:
                await self._add(ended=STOPPED, reason=reason)
                return
        if self.output is not None:
            try:
                self.output.read(message)
            except ValueError as exc:
                await self._repair(turn, message, self.output.name, str(exc))
                return
        await self._add(messages=accepting(message), ended=COMPLETE)
        await self._learn_all()

    def _is_answer(self, message: ChatMessage) -> bool:
        """Whether a reply ends the turn as it is: there is nothing to call, and nothing to check."""
        return not message.tool_calls and not self.agent.guards and self.output is None

    async def _learn_all(self) -> None:
        for number, provider in enumerate(self.agent.memory):
            learning = partial(learn, provider, self._scope, self._turn.messages)
            await self.journal.once(f"memory.{number}.after", learning)

    async def _repair(self, turn: ThreadTurn, message: ChatMessage, wanted: str, faults: str) -> None:
        """Tell the model its mistakes, a few times."""
        told = sum(1 for one in turn.messages if one.meta.get("repair"))
        if told >= MAX_REPAIRS:
            reason = f"the reply is not a valid {wanted}: {faults}"
            await self._add(ended=STOPPED, reason=reason)
            raise OutputNotMetError(self.agent.name, wanted, message.text, faults)
        words = f"Your answer does not fit the schema: {faults}. Give the whole answer again, corrected."
        calls = [call for call in message.tool_calls if call.name == OUTPUT_TOOL]
        reply = (
            ChatMessage.tool(*(failed(call, words) for call in calls)) if calls else ChatMessage.user(words)
        )
        await self._add(messages=(reply.model_copy(update={"meta": {"repair": True}}),))

    async def _add(  # noqa: PLR0913  # the fields of an entry
        self,
        *,
        messages: Iterable[ChatMessage] = (),
        usage: TokenUsage | None = None,
        asked: Iterable[Any] = (),
        answers: Iterable[RequestAnswer] = (),
        ended: str | None = None,
        reason: str = "",
        is_input: bool = False,
        notes: dict[str, JSONValue] | None = None,
        paused: dict[str, KeptPause] | None = None,
    ) -> None:
        entry = ThreadEntry(
            turn=self.turn_id,
            messages=tuple(messages),
            is_input=is_input,
            usage=usage,
            asked=tuple(asked),
            answers=tuple(answers),
            ended=ended,
            paused=paused or {},
            notes=notes or {},
            reason=reason,
        )
        async with self.adding:  # calls end at the same time, and entries are numbered
            await self.thread.append(entry)
        for message in entry.messages:
            if message.role is ChatRole.ASSISTANT and not is_input:
                await self.emit(self._chunk(ChunkKind.MESSAGE, message=message))

    async def _response(self, turn: ThreadTurn) -> AgentResponse[Any]:
        added = self.thread.entries[self.first_entry :]
        status = ResponseStatus.NEEDS_INPUT if turn.ended is None else ResponseStatus(turn.ended)
        response: AgentResponse[Any] = AgentResponse(
            agent=self.agent.name,
            thread_id=self.thread.id,
            turn=turn.id,
            status=status,
            messages=tuple(one for entry in added for one in entry.messages if one.role is not ChatRole.USER),
            text=turn.reply.text if turn.reply else "",
            usage=turn.usage,
            pending=turn.pending if turn.ended is None else (),
            reason=turn.reason,
        )
        if self.output is None or status is not ResponseStatus.COMPLETE or turn.reply is None:
            return response
        output, data = self.output.read(turn.reply)
        return response.model_copy(update={"data": data}).with_output(output)

    def _chunk(self, kind: ChunkKind, **facts: Any) -> AgentChunk:  # noqa: ANN401  # fields of the chunk
        return AgentChunk(kind=kind, author_name=self.agent.name, path=self.options.path, **facts)
