"""The context of a handler: it sends, yields, remembers, asks and reports."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Generic, Literal, Protocol, TypeVar, cast, overload

from typing_extensions import TypeVar as DefaultTypeVar

from agentic.core.graph.codec.codec import describe, from_text, to_text
from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.definition.pending_calls import CLOSED, PendingCalls
from agentic.core.graph.definition.run_services import BaseWorkflow, RunServices, StateView, SubCall
from agentic.core.graph.errors import (
    ContextClosedError,
    HandlerError,
    NoLedgerError,
    NotStoredError,
    RejectedError,
    RequestExpiredError,
)
from agentic.core.graph.model.answers import name_type
from agentic.core.graph.model.events import CustomEvent, EventKind, WorkflowEvent
from agentic.core.graph.model.history import ExecutorHistory
from agentic.core.graph.model.messages import Activation, OnCommit, Sent
from agentic.core.graph.model.policies import ApprovalRequest, ApprovalResponse
from agentic.core.graph.model.progress import Asked, FailedAttempt, Progress, SubRun, request_id
from agentic.core.graph.model.reducers import reduced
from agentic.core.graph.model.result import RunResult
from agentic.core.graph.model.state import joined
from agentic.core.graph.names import between_colons, is_storable, sub_run_name, sub_run_name_before
from agentic.core.masking import masked_data
from agentic.core.records import record
from agentic.core.types import ExecutorId, JSONValue, RunId

SendT = DefaultTypeVar("SendT", default=Any)
YieldT = DefaultTypeVar("YieldT", default=Any)
ResponseT = TypeVar("ResponseT")
ValueT = TypeVar("ValueT")

_NOT_JSON = "executor {0!r}: ctx.local must be JSON ({1}); keep other values with ctx.set_state"
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


@record
class Try:
    """One try of an activation.

    Attributes:
        progress: The progress that earlier tries left.
        timeout_at: The latest end, in seconds since the epoch; None for no limit of its own.
        keeps_inputs: Whether the activation may be tried again.
    """

    progress: Progress
    timeout_at: float | None = None
    keeps_inputs: bool = False


class WorkflowContext(Generic[SendT, YieldT]):
    """The view that an executor has of its run while it handles one message.

    Messages, outputs and writes count only if the handler returns. An entry that fails or parks leaves
    nothing.
    """

    # Private slots: handlers must not touch them. The attempt that made the context reads them.
    __slots__ = (
        "_activation",
        "_ask_count",
        "_asked",
        "_called",
        "_commits",
        "_declared",
        "_keeps_inputs",
        "_live_count",
        "_local",
        "_local_before",
        "_once",
        "_once_locks",
        "_outputs",
        "_progress",
        "_sends",
        "_services",
        "_shared",
        "_sub_error",
        "_sub_events",
        "_sub_run_count",
        "_sub_runs",
        "_surfaced",
        "_timeout_at",
        "_under_way",
        "_writes",
    )  # fmt: skip

    def __init__(
        self,
        activation: Activation,
        declared: Declares,
        services: RunServices,
        view: StateView,
        entry: Try,
    ) -> None:
        self._activation = activation
        self._declared = declared
        self._services = services
        self._shared = view.shared
        self._local_before = view.local
        self._local: dict[str, JSONValue] | None = None
        self._progress = entry.progress
        self._timeout_at = entry.timeout_at
        self._keeps_inputs = entry.keeps_inputs
        self._live_count = 0
        self._ask_count = 0
        self._sub_run_count = 0
        self._asked: dict[int, Asked] | None = None
        self._surfaced: list[Asked] | None = None
        self._called: tuple[str, ...] = ()
        self._commits: list[OnCommit] | None = None
        self._once: dict[str, Payload] | None = None
        self._once_locks: dict[str, asyncio.Lock] | None = None
        self._sub_runs: dict[int, SubRun] | None = None
        self._sends: list[Sent] = []
        self._outputs: list[Payload] = []
        self._writes: list[tuple[str, Payload]] = []
        self._sub_events: list[WorkflowEvent] = []
        self._sub_error: Exception | None = None
        self._under_way: PendingCalls | None = None

    @property
    def run_id(self) -> RunId:
        """The run; a sub-workflow's run is named ``parent/executor.superstep.shard``."""
        return self._services.run_id

    @property
    def superstep(self) -> int:
        """The superstep, from 0."""
        return self._activation.superstep

    @property
    def executor_id(self) -> ExecutorId:
        """The executor that handles the message."""
        return self._activation.executor_id

    @property
    def source_ids(self) -> tuple[ExecutorId, ...]:
        """The senders of the message: several after a fan-in, none for the input of the run."""
        return self._activation.delivery.sources

    @property
    def attempt(self) -> int:
        """The number of this try of the activation, from 1."""
        return len(self._progress.failures) + 1

    @property
    def previous_attempts(self) -> tuple[FailedAttempt, ...]:
        """The tries of this activation that failed, oldest first."""
        return self._progress.failures

    @property
    def previous_errors(self) -> tuple[object, ...]:
        """The earlier errors: first the feedback of validators over retry edges, then the failed tries.

        Failed tries are :class:`FailedAttempt` records. In a sub-workflow, the earlier errors of its node
        come first: every executor in it sees them.
        """
        told = (*self._services.previous_errors, *self._activation.delivery.feedback)
        return (*(payload.copy_value() for payload in told), *self._progress.failures)

    @property
    def deadline(self) -> float | None:
        """The deadline of this try, in seconds since the epoch: by its timeout or the run's."""
        ends = [end for end in (self._timeout_at, self._services.deadline) if end is not None]
        return min(ends, default=None)

    @property
    def idempotency_key(self) -> str:
        """A key for calls to other services. It is the same in every try and entry of this activation."""
        return f"{self.run_id}:{between_colons(self._activation.origin)}"

    @property
    def local(self) -> dict[str, JSONValue]:
        """This executor's own state in this run. Change it in place; it is kept when the handler returns."""
        if self._under_way is not None:
            self._check_open("local")
        if self._local is None:
            self._local = copy.deepcopy(dict(self._local_before))
        return self._local

    async def send_message(self, message: SendT, target: str | None = None) -> None:
        """Send ``message`` over the out-edges; it arrives in the next superstep.

        Args:
            message: Copied now if it is mutable.
            target: Send it to this executor only; it must be the target of an out-edge.

        Raises:
            SendTypeError: The handler declares other types of messages.
        """
        if self._under_way is not None:
            self._check_open("send_message")
        self._declared.check_sent(message)
        self._sends.append(Sent(self._services.pack(message), None if target is None else ExecutorId(target)))

    async def yield_output(self, output: YieldT) -> None:
        """Give ``output`` to the caller of the run.

        Raises:
            SendTypeError: The handler declares other types of outputs.
        """
        if self._under_way is not None:
            self._check_open("yield_output")
        self._declared.check_yielded(output)
        self._yield(self._services.pack(output))

    def _yield(self, output: Payload) -> None:
        """Take an output and report it to the listener at once; it counts when the handler returns."""
        self._outputs.append(output)
        if self._services.tell is not None:
            shown = Payload(output.value, make_data=lambda _: masked_data({"value": output.data})["value"])
            facts = {"type": type(output.value).__name__, "value": shown}
            self._tell_facts(self._services.tell, EventKind.OUTPUT_PROVISIONAL, facts)

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
        if self._under_way is not None:
            self._check_open("set_state")
        self._check_name("set_state", key)
        written = self._services.pack(value)
        self._writes.append((key, written))
        value_now = reduced(self._services.reducers, self._shared.get(key), key, written)
        self._shared = {**self._shared, key: value_now}

    get_shared_state = get_state
    set_shared_state = set_state

    async def request_info(
        self, data: object, response_type: type[ResponseT], *, deadline: timedelta | None = None
    ) -> ResponseT:
        """Ask a person or program outside the run, and return the answer.

        Without an answer yet, this call cancels the handler and drops the work of this entry. When all its
        requests are settled, the handler starts again from its top, and this call returns. Use :meth:`once`
        for work that must not be repeated.

        Args:
            data: The data to show to the person who answers.
            response_type: The type of the answer; answers are converted to it if that loses nothing.
            deadline: How long to wait.

        Raises:
            RequestExpiredError: The deadline passed first.
            NotStoredError: The run is not stored, so no answer could find it.
        """
        if self._under_way is not None:
            self._check_open("request_info")
        self._ask_count += 1
        number = self._ask_count
        wanted = name_type(response_type)
        asked = self._all_asked().get(number)
        if asked is None:
            asked = self._ask(number, data, wanted, deadline)
        elif asked.response_type != wanted:
            raise HandlerError(
                f"executor {self.executor_id!r} asked for {asked.response_type}, and for {wanted} when it "
                "was entered again: ask for the same in the same order, or decide through ctx.once"
            )
        if asked.has_expired:
            raise RequestExpiredError(request_id(self._services.run_id, asked.name))
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

    def _all_asked(self) -> dict[int, Asked]:
        if self._asked is None:
            self._asked = {int(asked.name.rpartition(".")[2]): asked for asked in self._progress.asked}
        return self._asked

    def _ask(self, number: int, data: object, wanted: str, deadline: timedelta | None) -> Asked:
        if not self._services.is_stored:
            raise NotStoredError(self.executor_id, is_nested="/" in self.run_id)
        now = self._services.clock()
        asked = Asked(
            name=f"{between_colons(self._activation.origin)}.{number}",
            path=joined(self._services.path, self.executor_id),
            question=self._services.pack(data),
            response_type=wanted,
            raised_at=now,
            deadline=None if deadline is None else now + deadline.total_seconds(),
        )
        self._all_asked()[number] = asked
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
        if self._under_way is not None:
            self._check_open("once")
        self._check_name("once", key)
        with self._calling():
            async with self._once_lock(key):
                kept = self._kept_once().get(key)
                if kept is None:
                    result = function()
                    kept = self._services.pack(await result if inspect.isawaitable(result) else result)
                    if self._services.keep_once is not None:
                        await self._services.keep_once(key, kept)
                    self._kept_once()[key] = kept
        return kept.copy_value()

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
        if self._under_way is not None:
            self._check_open("on_commit")
        if not self._services.joins_commit:
            raise NoLedgerError(self.executor_id)
        self._commits = [*(self._commits or ()), function]

    async def history(self) -> ExecutorHistory:
        """Return the results of this executor's work in other runs.

        They are an input of this activation: a second call, or a later try or entry, returns the same.
        """
        return await self.once(_HISTORY, self._ask_history)

    async def _ask_history(self) -> ExecutorHistory:
        source = self._services.history
        if source is None:
            return ExecutorHistory()
        return await source.history(self.executor_id)

    def _kept_once(self) -> dict[str, Payload]:
        if self._once is None:
            self._once = dict(self._progress.once)
        return self._once

    async def run_workflow(
        self, workflow: BaseWorkflow, message: object, *, is_kept: bool = True
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

        Raises:
            Exception: The error that failed it.
        """
        if self._under_way is not None:
            self._check_open("run_workflow")
        self._sub_run_count += 1
        number = self._sub_run_count
        before = self._runs().get(number)
        name = self._sub_run_name(number, before)
        prefix = f"{name}/"

        def keep(sub_run: SubRun, events: Sequence[WorkflowEvent]) -> None:
            if is_kept:
                self._runs()[number] = sub_run
            self._sub_events.extend(events)

        call = SubCall(
            run_id=RunId(f"{self.run_id}/{name}"),
            path=joined(self._services.path, self.executor_id),
            before=before,
            answers={
                asked.name.removeprefix(prefix): asked
                for asked in self._progress.surfaced
                if asked.name.startswith(prefix) and not asked.is_open
            },
            keeps_inputs=self._keeps_inputs,
            deadline=self.deadline,
            keep=keep,
            is_kept=is_kept,
            previous_errors=(
                *self._services.previous_errors,
                *self._activation.delivery.feedback,
                *map(self._services.pack, self._progress.failures),
            ),
        )
        self._called = (*self._called, prefix)
        with self._calling():
            result, sub_run = await self._services.run_sub(workflow, message, call)
        keep(sub_run, result.events)
        if result.error is not None:
            self._sub_error = result.error
            raise result.error
        if still_open := sub_run.state.open_requests:
            surfaced = [replace(asked, name=prefix + asked.name) for asked in still_open]
            self._surfaced = [*(self._surfaced or ()), *surfaced]
            raise ParkedSignal(f"a sub-workflow of {name} waits for answers")
        return result

    def _sub_run_name(self, number: int, before: SubRun | None) -> str:
        origin = self._activation.origin
        if before is None:
            return sub_run_name(origin, number, self._progress.refused)
        return before.state.run_id.rpartition("/")[2] or sub_run_name_before(origin, number)

    def _close(self) -> PendingCalls | None:
        """Refuse new calls from now on; return the pending calls, if there ever were any."""
        under_way = self._under_way
        if under_way is None:
            self._under_way = CLOSED
        else:
            under_way.is_closed = True
        return under_way

    def _check_name(self, call: str, key: str) -> None:
        if not is_storable(key):
            raise HandlerError(
                f"executor {self.executor_id!r}: the key {key!a} of ctx.{call} contains lone surrogates, "
                "which no store accepts; clean the text first, e.g. with "
                "key.encode(errors='replace').decode()"
            )

    def _check_open(self, call: str) -> None:
        """Refuse a call after the handler has ended; cancel the caller if its task is being stopped."""
        under_way = self._under_way
        if under_way is None or not under_way.is_closed:
            return
        if under_way.stops(asyncio.current_task()):
            raise asyncio.CancelledError("the handler has ended")
        raise ContextClosedError(self.executor_id, call)

    def _calling(self) -> AbstractContextManager[None]:
        """Treat the block as part of the handler, in any of the handler's tasks."""
        if self._under_way is None:
            self._under_way = PendingCalls()
        return self._under_way.call()

    def _runs(self) -> dict[int, SubRun]:
        if self._sub_runs is None:
            self._sub_runs = dict(self._progress.sub_runs)
        return self._sub_runs

    async def add_event(self, event: CustomEvent) -> None:
        """Emit a custom event at once. It is live: it reports on this attempt, even if the attempt fails."""
        if self._under_way is not None:
            self._check_open("add_event")
        self._tell(EventKind.CUSTOM, {"type": event.type, "data": describe(dict(event.data))})

    def report_progress(self, done: int, total: int | None = None, note: str = "") -> None:
        """Report the progress of this activation at once.

        Args:
            done: Pieces of work finished.
            total: Pieces in all, if known.
            note: A few words for people.
        """
        if self._under_way is not None:
            self._check_open("report_progress")
        if self._services.tell is not None:
            self._tell(EventKind.EXECUTOR_PROGRESS, {"done": done, "total": total, "note": note})

    def log(self, level: LogLevel, message: str, **facts: JSONValue) -> None:
        """Emit a log line at once, as an event of the run."""
        if self._under_way is not None:
            self._check_open("log")
        self._tell(EventKind.EXECUTOR_LOG, {"level": level, "message": message, "facts": describe(facts)})

    @property
    def _waits(self) -> bool:
        """Whether a request of this entry is not settled."""
        if self._asked is None:
            return bool(self._surfaced)
        return bool(self._surfaced) or any(asked.is_open for asked in self._asked.values())

    @property
    def _changed_local(self) -> Mapping[str, JSONValue] | None:
        """The executor's own state, if this entry changed it."""
        if self._local is None or self._local == self._local_before:
            return None
        try:
            is_json = from_text(to_text(self._local)) == self._local
        except (TypeError, ValueError) as exc:
            raise HandlerError(_NOT_JSON.format(self.executor_id, exc)) from exc
        if not is_json:
            raise HandlerError(
                _NOT_JSON.format(self.executor_id, "keys must be text, and tuples must be lists")
            )
        return self._local

    def _kept(self) -> Progress:
        """Return the progress that outlives this entry."""
        before = self._progress
        if not (self._asked or self._once or self._sub_runs or self._surfaced or before.surfaced):
            return before
        return replace(
            before,
            origin=self._activation.origin,
            asked=before.asked if self._asked is None else tuple(self._asked[n] for n in sorted(self._asked)),
            surfaced=tuple(self._still_surfaced()),
            once=before.once if self._once is None else self._once,
            sub_runs=before.sub_runs if self._sub_runs is None else self._sub_runs,
        )

    def _still_surfaced(self) -> Iterator[Asked]:
        """Yield the open requests of sub-workflows, and the answers that this entry did not pass on."""
        for asked in self._progress.surfaced:
            if not asked.name.startswith(self._called):
                yield asked
        yield from self._surfaced or ()

    def _tell(self, kind: EventKind, data: Mapping[str, JSONValue]) -> None:
        if self._services.tell is not None:
            self._tell_facts(self._services.tell, kind, masked_data(data))

    def _tell_facts(
        self, tell: Callable[[WorkflowEvent], None], kind: EventKind, data: Mapping[str, object]
    ) -> None:
        self._live_count += 1
        tell(
            WorkflowEvent(
                kind,
                self.run_id,
                self._services.clock(),
                superstep=self.superstep,
                path=joined(self._services.path, self.executor_id),
                attempt=self.attempt,
                shard=self._activation.shard,
                data=data,
                live_number=self._live_count,
            )
        )
