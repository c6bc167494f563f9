"""Runs a turn: asks the model, calls tools, and adds each step to the thread as it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

from agentic.core.agents.errors import OutputNotMetError, ThreadMisfitError
from agentic.core.agents.guards import reason_of
from agentic.core.agents.journal import EffectJournal, PartJournal, ThreadJournal, kept_form
from agentic.core.agents.limits import DEFAULT_LIMITS, UsageLimits, call_text, limit_of_repeats
from agentic.core.agents.memory.asking import learn
from agentic.core.agents.options import RunOptions
from agentic.core.agents.requests import AgentInput, PendingRequest, RequestAnswer
from agentic.core.agents.responses import AgentChunk, AgentResponse, ChunkKind, Emit
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
from agentic.core.agents.turns.account import TurnAccount
from agentic.core.agents.turns.asking import CHECKED, REFUSED, ModelAsker
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
from agentic.core.agents.turns.prompting import Prompter
from agentic.core.agents.turns.replies import (
    accepting,
    as_heard,
    response_of,
    restore_call,
    store_call,
    why_no_answer,
    with_new_ids,
)
from agentic.core.llm.budget import BudgetExceededError
from agentic.core.llm.messages import ChatMessage, ChatRole, ToolCall, ToolResult
from agentic.core.llm.requests import ModelReply, ModelRequest
from agentic.core.llm.structured import OUTPUT_TOOL
from agentic.core.llm.usage import TokenUsage
from agentic.core.logging import get_logger
from agentic.core.records import unchecked
from agentic.core.types import JSONValue

log = get_logger(__name__)

MAX_REPAIRS = 2
"""How often a model may correct an answer that does not have the output type."""

STOPPED = "stopped"
COMPLETE = "complete"
_ENTRY_FIELDS = set(ThreadEntry.model_fields)


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
    first_entry: int = 0
    limits: UsageLimits = DEFAULT_LIMITS
    journal: EffectJournal = field(default_factory=ThreadJournal)
    output: OutputSpec[Any] | None = None
    tools: dict[str, Tool] = field(default_factory=dict)
    call_ids: set[str] = field(default_factory=set)
    call_counts: dict[str, int] = field(default_factory=dict)
    adding: asyncio.Lock = field(default_factory=asyncio.Lock)
    account: TurnAccount = field(init=False)
    prompter: Prompter = field(init=False)
    asker: ModelAsker = field(init=False)

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
        self.account.follow(self.thread)
        try:
            return await self._take_steps(given)
        finally:
            self.account.leave(self.thread)

    async def _take_steps(self, given: AgentInput) -> AgentResponse[Any]:
        await self._find_tools()
        await self._take_in(given)
        await self.emit(self._chunk(ChunkKind.STARTED))
        while True:
            turn = self._turn
            if turn.ended:
                return self._response(turn)
            has_output = self.output is not None
            step = next_step(turn, self.tools, time.time(), self.options.approval_s, has_output=has_output)
            match step:
                case CallModel():
                    await self._call_model(turn, step.number)
                case SettleCalls():
                    await self._settle(step.results)
                case RunCalls():
                    await self._run_calls(step)
                case AskFor():
                    if not await self._ask(step):
                        return self._response(self._turn)
                case CheckAnswer():
                    await self._check_answer(turn, step.message)
                case never:
                    assert_never(never)

    def _prepare(self) -> None:
        if self.thread.metadata.agent != self.agent.name:
            raise ThreadMisfitError(
                self.thread.id, self.agent.name, f"it belongs to agent {self.thread.metadata.agent!r}"
            )
        self.first_entry = len(self.thread.entries)
        self.journal = self.options.journal or ThreadJournal()
        kind = self.options.output_type or self.agent.output_type
        self.output = None if kind in (None, str) else output_spec(kind)
        self.limits = self.options.limits or self.agent.limits
        self.account = TurnAccount(self.limits, lambda: self._turn.usage, self.options.outer_limit)
        self.prompter = Prompter(self.agent, self.thread, self.options, self.journal, self.output, self._keep)
        self.asker = ModelAsker(
            self.agent, self.thread.id, self.emit, self._piece, has_output=self.output is not None
        )
        self.call_ids = {
            call.id
            for one in self.thread.messages
            if one.role is ChatRole.ASSISTANT
            for call in one.tool_calls
        }

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
        for message in self._turn.messages:
            self._count_calls(message)

    def _count_calls(self, message: ChatMessage) -> None:
        if message.role is ChatRole.ASSISTANT:
            for call in message.tool_calls:
                self.call_ids.add(call.id)
                text = call_text(call)
                self.call_counts[text] = self.call_counts.get(text, 0) + 1

    async def _refusal_of(self, call: ToolCall) -> str | None:
        for guard in self.agent.guards:
            if (reason := await reason_of(guard.check_call(call))) is not None:
                return reason
        return None

    async def _refusal(self, messages: Sequence[ChatMessage]) -> str | None:
        for guard in self.agent.guards:
            if (reason := await reason_of(guard.check_input(messages))) is not None:
                return reason
        return None

    async def _call_model(self, turn: ThreadTurn, number: int) -> None:
        if (reached := self.account.reached()) is not None:
            await self._add(ended=STOPPED, reason=reached)
            return
        request = await self.prompter.request(turn, self.tools)
        try:
            reply = await self._reply_once(f"model.{number}", request)
        except BudgetExceededError as exc:
            await self._add(ended=STOPPED, reason=str(exc))
            return
        usage = reply.usage.of_model(reply.replied_by or self.agent.model.name)
        if (refused := reply.message.meta.get(REFUSED)) is not None:  # its words go nowhere
            await self._add(usage=usage, ended=STOPPED, reason=str(refused))
            return
        message = self._named(reply.message)
        reason = why_no_answer(reply)
        # In one entry: a process that dies between two would take a refusal for an answer.
        ended = STOPPED if reason else COMPLETE if self._is_answer(message) else None
        await self._add(messages=(message,), usage=usage, ended=ended, reason=reason or "")
        if ended == COMPLETE:
            await self._learn_all()

    async def _reply_once(self, key: str, request: ModelRequest) -> ModelReply:
        """Return a reply; in the form that it has in the journal, if it comes from there."""
        if isinstance(self.journal, ThreadJournal):
            return await self.asker.ask(request)
        made: list[ModelReply] = []

        async def effect() -> JSONValue:
            made.append(await self.asker.ask(request))
            return kept_form(self.journal, made[-1].to_json())

        stored = await self.journal.once(key, effect)
        return made[-1] if made else ModelReply.from_json(stored)

    def _named(self, message: ChatMessage) -> ChatMessage:
        """Return a reply with its author, and with ids of calls that are new in the thread."""
        ids = [call.id for call in message.tool_calls]
        if len(set(ids)) < len(ids) or not self.call_ids.isdisjoint(ids):
            message = with_new_ids(message, self.thread.messages)
        named = unchecked(
            ChatMessage,
            {**vars(message), "author_name": self.agent.name},
            message.model_fields_set | {"author_name"},
        )
        self._count_calls(named)
        return named

    async def _keep(self, key: str, effect: Callable[[], Awaitable[JSONValue]]) -> JSONValue:
        notes = self.thread.notes
        if key in notes:
            return notes[key]
        kept = await self.journal.once(f"note.{key}", effect)
        await self._add(notes={key: kept})
        return kept

    async def _run_calls(self, step: RunCalls) -> None:
        paused = self._turn.paused or {}
        new = [call for _, call in step.calls if call.id not in paused]
        reached = self._limit_before(new) if new else None
        if reached is not None:
            await self._add(ended=STOPPED, reason=reached)
            return
        for key, call in step.calls:  # all at once, before any other agent is asked for its limits
            self.account.begin(key, is_first=call.id not in paused)
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

    def _limit_before(self, calls: Collection[ToolCall]) -> str | None:
        """Return the limit that forbids these calls, in words."""
        return self.account.reached(new_calls=len(calls)) or self._limit_of_repeats()

    def _limit_of_repeats(self) -> str | None:
        reply = self._turn.reply
        return limit_of_repeats(self.limits, () if reply is None else reply.tool_calls, self.call_counts)

    async def _run_call(self, key: str, call: ToolCall) -> None:
        kept = (self._turn.paused or {}).get(call.id)
        if kept is None:
            await self.emit(self._chunk(ChunkKind.TOOL_STARTED, tool_call=call))
        whole, usage = await self._result_once(key, call, kept)
        if isinstance(whole, ToolPause):
            next_one = KeptPause(number=kept.number + 1 if kept else 1, pause=whole)
            await self._add(usage=usage, paused={call.id: next_one}, work=key)
            return
        result, notes = cut_result(whole)
        await self._add(messages=(ChatMessage.tool(result),), usage=usage, notes=notes, work=key)
        if notes:
            self._find_reader()
        await self.emit(self._chunk(ChunkKind.TOOL_FINISHED, tool_result=result))

    async def _result_once(
        self, key: str, call: ToolCall, kept: KeptPause | None
    ) -> tuple[ToolResult | ToolPause, TokenUsage]:
        made: list[ToolResult | ToolPause] = []

        async def effect() -> JSONValue:
            reason = await self._refusal_of(call) if self.agent.guards else None
            if reason is not None:
                made.append(failed(call, reason))
            else:
                made.append(await self._call(call, self._context(key, call, self._continued(call, kept))))
            if not is_stored:
                return None
            return kept_form(self.journal, store_call(made[-1], self.account.spent(key)))

        is_stored = not isinstance(self.journal, ThreadJournal)
        stored = await self.journal.once(key, effect)
        return (made[-1], self.account.spent(key)) if made else restore_call(stored)

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

    def _context(self, key: str, call: ToolCall, continued: Continued | None) -> ToolContext:
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
            add_usage=partial(self.account.spend, key),
            journal=PartJournal(self.journal, f"{key}/"),
            limit_reached=self.account.reached,
            continued=continued,
            refusal_of=self._refusal_of,
        )

    async def _settle(self, results: Sequence[ToolResult]) -> None:
        """Add results that needed no call; an answer from outside can be as large as any result."""
        if (reached := self._limit_of_repeats()) is not None:
            await self._add(ended=STOPPED, reason=reached)
            return
        cut = [cut_result(result) for result in results]
        notes = {key: text for _, kept in cut for key, text in kept.items()}
        await self._add(messages=(ChatMessage.tool(*(result for result, _ in cut)),), notes=notes)
        if notes:
            self._find_reader()

    async def _ask(self, step: AskFor) -> bool:
        """Ask, and return whether the turn can continue at once."""
        new = [one.call for one in step.requests if one.call is not None and not one.asked_by]
        reached = self._limit_before(new) if new else None
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
        for guard in () if message.meta.get(CHECKED) else self.agent.guards:
            if (reason := await reason_of(guard.check_answer(message))) is not None:
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
        is_checked = not self.agent.guards or bool(message.meta.get(CHECKED))
        return not message.tool_calls and is_checked and self.output is None

    async def _learn_all(self) -> None:
        for number, provider in enumerate(self.agent.memory):
            learning = partial(learn, provider, self.prompter.scope, self._turn.messages)
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
        work: str | None = None,
    ) -> None:
        """Add an entry to the thread; ``work`` is the key of the call that it ends."""
        facts: dict[str, object] = {
            "turn": self.turn_id,
            "messages": tuple(messages),
            "is_input": is_input,
            "usage": usage,
            "asked": tuple(asked),
            "answers": tuple(answers),
            "ended": ended,
            "reason": reason,
            "notes": notes or {},
            "state": None,
            "paused": paused or {},
        }
        entry = unchecked(ThreadEntry, facts, _ENTRY_FIELDS)
        async with self.adding:  # calls end at the same time, and entries are numbered
            if work is not None:
                self.account.enter(work)
            await self.thread.append(entry)
        for message in () if is_input else entry.messages:
            if message.role is ChatRole.ASSISTANT:
                await self.emit(self._chunk(ChunkKind.MESSAGE, message=message))

    def _response(self, turn: ThreadTurn) -> AgentResponse[Any]:
        added = self.thread.entries[self.first_entry :]
        return response_of(turn, added, self.agent.name, self.thread.id, self.output)

    def _piece(self, kind: ChunkKind, text: str) -> AgentChunk:
        return self._chunk(kind, text=text)

    def _chunk(self, kind: ChunkKind, **facts: Any) -> AgentChunk:  # noqa: ANN401  # fields of the chunk
        return AgentChunk(kind=kind, author_name=self.agent.name, path=self.options.path, **facts)
