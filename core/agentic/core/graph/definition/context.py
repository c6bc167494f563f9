"""The context of a handler: it sends, yields, remembers, asks and reports."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Generic, Literal, Protocol, TypeVar, cast, overload

from typing_extensions import TypeVar as DefaultTypeVar

from agentic.core.graph.codec.codec import describe
from agentic.core.graph.codec.payload import JSONText, Payload, pack_text
from agentic.core.graph.definition.entry import HandlerEntry
from agentic.core.graph.definition.run_services import BaseWorkflow, KeptEffects, SubCall
from agentic.core.graph.errors import (
    HandlerError,
    NoLedgerError,
    NotStoredError,
    RejectedError,
    RequestExpiredError,
)
from agentic.core.graph.model.answers import name_type
from agentic.core.graph.model.events import CustomEvent, EventKind, WorkflowEvent
from agentic.core.graph.model.history import ExecutorHistory
from agentic.core.graph.model.messages import OnCommit, Sent
from agentic.core.graph.model.policies import ApprovalRequest, ApprovalResponse
from agentic.core.graph.model.progress import Asked, FailedAttempt, SubRun, request_id
from agentic.core.graph.model.reducers import reduced
from agentic.core.graph.model.result import RunResult
from agentic.core.graph.model.state import joined
from agentic.core.graph.names import between_colons, is_storable, sub_run_name, sub_run_name_before
from agentic.core.types import ExecutorId, JSONValue, RunId

SendT = DefaultTypeVar("SendT", default=Any)
YieldT = DefaultTypeVar("YieldT", default=Any)
ResponseT = TypeVar("ResponseT")
ValueT = TypeVar("ValueT")

_HISTORY = "ctx.history"  # a key of ctx.once
LogLevel = Literal["debug", "info", "warning", "error"]


class ParkedSignal(asyncio.CancelledError):
    """Ends a handler that waits for answers. It is a cancellation: ``except Exception`` does not catch it."""


class Declares(Protocol):
    """The types that an executor declares for the values its handlers pass to their context."""

    def check_sent(self, message: object) -> None:
        """Raise ``SendTypeError`` if the executor does not declare this type of message."""

    def check_yielded(self, output: object) -> None:
        """Raise ``SendTypeError`` if the executor does not declare this type of output."""


class WorkflowContext(Generic[SendT, YieldT]):
    """The view that an executor has of its run while it handles one message.

    Messages, outputs and writes count only if the handler returns. An entry that fails or parks leaves
    nothing.
    """

    __slots__ = ("_ask_count", "_declared", "_entry", "_once_locks", "_shared", "_sub_run_count")

    def __init__(self, entry: HandlerEntry, declared: Declares, shared: Mapping[str, Payload]) -> None:
        self._entry = entry
        self._declared = declared
        self._shared = shared
        self._ask_count = 0
        self._sub_run_count = 0
        self._once_locks: dict[str, asyncio.Lock] | None = None

    @property
    def run_id(self) -> RunId:
        """The run; a sub-workflow's run is named ``parent/executor.superstep.shard``."""
        return self._entry.services.run_id

    @property
    def superstep(self) -> int:
        """The superstep, from 0."""
        return self._entry.activation.superstep

    @property
    def executor_id(self) -> ExecutorId:
        """The executor that handles the message."""
        return self._entry.activation.executor_id

    @property
    def source_ids(self) -> tuple[ExecutorId, ...]:
        """The senders of the message: several after a fan-in, none for the input of the run."""
        return self._entry.activation.delivery.sources

    @property
    def attempt(self) -> int:
        """The number of this try of the activation, from 1."""
        return len(self._entry.progress.failures) + 1

    @property
    def previous_attempts(self) -> tuple[FailedAttempt, ...]:
        """The tries of this activation that failed, oldest first."""
        return self._entry.progress.failures

    @property
    def previous_errors(self) -> tuple[object, ...]:
        """The earlier errors: first the feedback of validators over retry edges, then the failed tries.

        Failed tries are :class:`FailedAttempt` records. In a sub-workflow, the earlier errors of its node
        come first: every executor in it sees them.
        """
        told = (*self._entry.services.previous_errors, *self._entry.activation.delivery.feedback)
        return (*(payload.copy_value() for payload in told), *self._entry.progress.failures)

    @property
    def deadline(self) -> float | None:
        """The deadline of this try, in seconds since the epoch: by its timeout or the run's."""
        ends = [end for end in (self._entry.timeout_at, self._entry.services.deadline) if end is not None]
        return min(ends, default=None)

    @property
    def idempotency_key(self) -> str:
        """A key for calls to other services. It is the same in every try and entry of this activation."""
        return f"{self.run_id}:{between_colons(self._entry.activation.origin)}"

    @property
    def local(self) -> dict[str, JSONValue]:
        """This executor's own state in this run. Change it in place; it is kept when the handler returns."""
        if self._entry.calls is not None:
            self._entry.check_open("local")
        return self._entry.local

    async def send_message(self, message: SendT, target: str | None = None) -> None:
        """Send ``message`` over the out-edges; it arrives in the next superstep.

        Args:
            message: Copied now if it is mutable.
            target: Send it to this executor only; it must be the target of an out-edge.

        Raises:
            SendTypeError: The handler declares other types of messages.
        """
        if self._entry.calls is not None:
            self._entry.check_open("send_message")
        self._declared.check_sent(message)
        self._entry.sends.append(
            Sent(self._entry.services.pack(message), None if target is None else ExecutorId(target))
        )

    async def yield_output(self, output: YieldT) -> None:
        """Give ``output`` to the caller of the run.

        Raises:
            SendTypeError: The handler declares other types of outputs.
        """
        if self._entry.calls is not None:
            self._entry.check_open("yield_output")
        self._declared.check_yielded(output)
        self._entry.add_output(self._entry.services.pack(output))

    @overload
    def get_state(self, key: str) -> object: ...
    @overload
    def get_state(self, key: str, default: ValueT) -> ValueT: ...
    def get_state(self, key: str, default: object = None) -> object:
        """Return the value of ``key`` in the shared state: from this superstep's start, plus own writes.

        A mutable value is a copy; write it back with :meth:`set_state`. The method assumes that the value
        has the type of ``default``.
        """
        payload = self._shared.get(key)
        return default if payload is None else payload.copy_value()

    def set_state(self, key: str, value: object) -> None:
        """Write ``value`` under ``key``; others see it in the next superstep.

        If the key has a reducer, the reducer adds ``value`` to the current value.
        """
        if self._entry.calls is not None:
            self._entry.check_open("set_state")
        self._check_name("set_state", key)
        written = self._entry.services.pack(value)
        self._entry.writes.append((key, written))
        value_now = reduced(self._entry.services.reducers, self._shared.get(key), key, written)
        self._shared = {**self._shared, key: value_now}

    get_shared_state = get_state
    set_shared_state = set_state

    async def request_info(
        self,
        data: object,
        response_type: type[ResponseT],
        *,
        deadline: timedelta | None = None,
        number: int | None = None,
    ) -> ResponseT:
        """Ask a person or program outside the run, and return the answer.

        Without an answer yet, this call cancels the handler and drops the work of this entry. When all its
        requests are settled, the handler starts again from its top, and this call returns. Use :meth:`once`
        for work that must not be repeated.

        Args:
            data: The data to show to the person who answers.
            response_type: The type of the answer; answers are converted to it if that loses nothing.
            deadline: How long to wait.
            number: Identifies the request within this activation, from 1; the order of the calls decides
                it if omitted. Requests that are made at a time, or not in each entry, need one.

        Raises:
            RequestExpiredError: The deadline passed first.
            NotStoredError: The run is not stored, so no answer could find it.
        """
        if self._entry.calls is not None:
            self._entry.check_open("request_info")
        if number is None:
            self._ask_count += 1
            number = self._ask_count
        wanted = name_type(response_type)
        asked = self._entry.asked.get(number)
        if asked is None:
            asked = self._ask(number, data, wanted, deadline)
        elif asked.response_type != wanted:
            raise HandlerError(
                f"executor {self.executor_id!r} asked for {asked.response_type}, and for {wanted} when it "
                "was entered again: ask for the same in the same order, or decide through ctx.once"
            )
        if asked.has_expired:
            raise RequestExpiredError(request_id(self._entry.services.run_id, asked.name))
        if asked.answer is None:
            raise ParkedSignal(f"waiting for {asked.name}")
        return cast(ResponseT, asked.answer.copy_value())

    async def request_approval(
        self, action: str, details: JSONValue = None, *, deadline: timedelta | None = None
    ) -> ApprovalResponse:
        """Ask a person or program outside the run for approval, and return it; see :meth:`request_info`.

        Args:
            action: The action to approve.
            details: Facts for the decision.
            deadline: How long to wait.

        Raises:
            RejectedError: The action was rejected.
            RequestExpiredError: The deadline passed first.
            NotStoredError: The run is not stored, so no answer could find it.
        """
        asked = ApprovalRequest(action=action, details=details)
        response = await self.request_info(asked, ApprovalResponse, deadline=deadline)
        if not response.approved:
            raise RejectedError(action, response.reason)
        return response

    def _ask(self, number: int, data: object, wanted: str, deadline: timedelta | None) -> Asked:
        if not self._entry.services.is_stored:
            raise NotStoredError(self.executor_id, is_nested="/" in self.run_id)
        now = self._entry.services.clock()
        asked = Asked(
            name=f"{between_colons(self._entry.activation.origin)}.{number}",
            path=joined(self._entry.services.path, self.executor_id),
            question=self._entry.services.pack(data),
            response_type=wanted,
            raised_at=now,
            deadline=None if deadline is None else now + deadline.total_seconds(),
        )
        self._entry.asked[number] = asked
        return asked

    @overload
    async def once(self, key: str, function: Callable[[], Awaitable[ValueT]]) -> ValueT: ...
    @overload
    async def once(self, key: str, function: Callable[[], ValueT]) -> ValueT: ...
    async def once(self, key: str, function: Callable[[], object]) -> object:
        """Return the result of the first time this activation called ``function``, sync or async.

        The result outlives a failed try, the wait for an answer, and the process. A ledger stores it at once,
        a checkpoint store with the next checkpoint.

        Args:
            key: Names the call within the activation.
            function: Called without arguments, at most once unless it fails or the process dies in it.
        """
        if self._entry.calls is not None:
            self._entry.check_open("once")
        self._check_name("once", key)
        with self._entry.calling():
            async with self._once_lock(key):
                kept = self._find_once(key)
                if kept is None:
                    result = function()
                    value: object = await result if inspect.isawaitable(result) else result
                    if type(value) is JSONText:  # its caller has the value
                        await self._keep_once(key, pack_text(value))
                        return value
                    kept = self._entry.services.pack(value)
                    await self._keep_once(key, kept)
        return kept.copy_value()

    def _find_once(self, key: str) -> Payload | None:
        kept, effects = self._entry.kept_once.get(key), self._entry.services.effects
        if kept is not None or effects is None:
            return kept
        return effects.find(f"{self._entry.activation.origin}/{key}")

    async def _keep_once(self, key: str, kept: Payload) -> None:
        services = self._entry.services
        if services.keep_once is not None:
            await services.keep_once(key, kept)
        elif services.effects is not None:
            await services.effects.keep(f"{self._entry.activation.origin}/{key}", kept)
        self._entry.kept_once[key] = kept

    def _effects_of(self, prefix: str) -> KeptEffects | None:
        """Return the effects of a sub-run: this activation keeps them, after a prefix."""
        if not self._entry.services.keeps_effects:
            return None
        return KeptEffects(
            find=lambda key: self._find_once(f"{prefix}{key}"),
            keep=lambda key, kept: self._keep_once(f"{prefix}{key}", kept),
        )

    def _once_lock(self, key: str) -> asyncio.Lock:
        if self._once_locks is None:
            self._once_locks = {}
        return self._once_locks.setdefault(key, asyncio.Lock())

    def on_commit(self, function: OnCommit) -> None:
        """Call ``function`` in the transaction that keeps this activation's result.

        Its writes are stored exactly if the result is: once, however often the activation is tried. It gets
        the transaction's session after the handler has returned; if it raises, the try fails. A barrier may
        still refuse the result, because two executors wrote one key or no executor took a message. That does
        not undo the writes: when the run continues, the executor runs again, and ``function`` with it.

        Args:
            function: Sync and quick: others wait for the transaction. A commit or rollback on its session
                affects only its own writes.

        Raises:
            NoLedgerError: The run has no ledger.
        """
        if self._entry.calls is not None:
            self._entry.check_open("on_commit")
        if not self._entry.services.joins_commit:
            raise NoLedgerError(self.executor_id)
        self._entry.commits = (*self._entry.commits, function)

    async def history(self) -> ExecutorHistory:
        """Return the results of this executor's work in other runs.

        They are an input of this activation: a second call, or a later try or entry, returns the same.
        """
        return await self.once(_HISTORY, self._ask_history)

    async def _ask_history(self) -> ExecutorHistory:
        source = self._entry.services.history
        if source is None:
            return ExecutorHistory()
        return await source.history(self.executor_id)

    async def run_workflow(
        self, workflow: BaseWorkflow, message: object, *, is_kept: bool = True, number: int | None = None
    ) -> RunResult:
        """Run ``workflow`` within this activation and return its result.

        It is a run of its own, named after this activation. Its events appear under this executor's path,
        and this run asks its requests. In a later try or entry it continues where it stopped, if the calls
        come in the same order. Several can run at a time: the activation ends when all have ended.

        Args:
            workflow: Any graph. In a stored run, its messages must be of types that this workflow knows.
            message: Given to its start executors.
            is_kept: Whether it continues where it stopped. If not, it starts from the beginning; its messages
                may be of any type, and it cannot make requests.
            number: Identifies the call within this activation, from 1; the order of the calls decides
                it if omitted. Calls that are made at a time, or not in each entry, need one.

        Raises:
            Exception: The error that failed it.
        """
        if self._entry.calls is not None:
            self._entry.check_open("run_workflow")
        if number is None:
            self._sub_run_count += 1
            number = self._sub_run_count
        before = self._entry.sub_runs.get(number)
        name = self._sub_run_name(number, before)
        prefix = f"{name}/"

        def keep(sub_run: SubRun, events: Sequence[WorkflowEvent]) -> None:
            if is_kept:
                self._entry.sub_runs[number] = sub_run
            self._entry.sub_events.extend(events)

        call = SubCall(
            run_id=RunId(f"{self.run_id}/{name}"),
            path=joined(self._entry.services.path, self.executor_id),
            before=before,
            answers={
                asked.name.removeprefix(prefix): asked
                for asked in self._entry.progress.surfaced
                if asked.name.startswith(prefix) and not asked.is_open
            },
            keeps_inputs=self._entry.keeps_inputs,
            deadline=self.deadline,
            keep=keep,
            is_kept=is_kept,
            previous_errors=(
                *self._entry.services.previous_errors,
                *self._entry.activation.delivery.feedback,
                *map(self._entry.services.pack, self._entry.progress.failures),
            ),
            effects=self._effects_of(prefix) if is_kept else None,
        )
        self._entry.called = (*self._entry.called, prefix)
        with self._entry.calling():
            result, sub_run = await self._entry.services.run_sub(workflow, message, call)
        keep(sub_run, result.events)
        if result.error is not None:
            self._entry.sub_error = result.error
            raise result.error
        if still_open := sub_run.state.open_requests:
            surfaced = [replace(asked, name=prefix + asked.name) for asked in still_open]
            self._entry.surfaced = [*(self._entry.surfaced or ()), *surfaced]
            raise ParkedSignal(f"a sub-workflow of {name} waits for answers")
        return result

    def _sub_run_name(self, number: int, before: SubRun | None) -> str:
        origin = self._entry.activation.origin
        if before is None:
            return sub_run_name(origin, number, self._entry.progress.refused)
        return before.state.run_id.rpartition("/")[2] or sub_run_name_before(origin, number)

    def _check_name(self, call: str, key: str) -> None:
        if not is_storable(key):
            raise HandlerError(
                f"executor {self.executor_id!r}: the key {key!a} of ctx.{call} contains lone surrogates, "
                "which no store accepts; clean the text first, e.g. with "
                "key.encode(errors='replace').decode()"
            )

    @property
    def has_listener(self) -> bool:
        """Whether live events are read: without a listener, an executor can save the work of making them."""
        return self._entry.services.tell is not None

    async def add_event(self, event: CustomEvent) -> None:
        """Emit a custom event at once. It is live: it reports on this attempt, even if the attempt fails."""
        if self._entry.calls is not None:
            self._entry.check_open("add_event")
        if self.has_listener:
            self._entry.report(EventKind.CUSTOM, {"type": event.type, "data": describe(dict(event.data))})

    def report_progress(self, done: int, total: int | None = None, note: str = "") -> None:
        """Report the progress of this activation at once.

        Args:
            done: Pieces of work finished.
            total: Pieces in all, if known.
            note: A few words for people.
        """
        if self._entry.calls is not None:
            self._entry.check_open("report_progress")
        if self.has_listener:
            self._entry.report(EventKind.EXECUTOR_PROGRESS, {"done": done, "total": total, "note": note})

    def log(self, level: LogLevel, message: str, **facts: JSONValue) -> None:
        """Emit a log line at once, as an event of the run."""
        if self._entry.calls is not None:
            self._entry.check_open("log")
        self._entry.report(
            EventKind.EXECUTOR_LOG, {"level": level, "message": message, "facts": describe(facts)}
        )
