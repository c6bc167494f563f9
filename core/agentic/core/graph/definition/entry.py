"""One entry of a handler: its limits, what earlier entries left, and its effects so far."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

from agentic.core.graph.codec.codec import from_text, to_text
from agentic.core.graph.codec.payload import Payload
from agentic.core.graph.definition.pending_calls import CLOSED, PendingCalls
from agentic.core.graph.definition.run_services import RunServices
from agentic.core.graph.errors import ContextClosedError, HandlerError
from agentic.core.graph.model.events import EventKind, WorkflowEvent
from agentic.core.graph.model.messages import Activation, OnCommit, Sent
from agentic.core.graph.model.progress import Asked, Progress, SubRun
from agentic.core.graph.model.state import joined
from agentic.core.masking import masked_data
from agentic.core.types import JSONValue

_NOT_JSON = "executor {0!r}: ctx.local must be JSON ({1}); keep other values with ctx.set_state"


class HandlerEntry:
    """One entry of a handler. The handler's context records its effects here; the attempt reads them.

    The effects count only if the handler returns.

    Args:
        activation: The message and its executor.
        services: Link the activation to its run.
        local_before: The executor's own state.
        progress: The progress that earlier entries left.
        timeout_at: The latest end of this try, in seconds since the epoch; None for no limit of its own.
        keeps_inputs: Whether the activation may be tried again.

    Attributes:
        sends: Messages over the out-edges.
        outputs: Outputs of the run.
        writes: Writes to the shared state, in order.
        commits: Called in the transaction that keeps the result.
        sub_events: Durable events of sub-workflows.
        sub_error: The error that failed a sub-workflow.
        called: Names of sub-workflows that were called, as prefixes of their requests.
        surfaced: Open requests of sub-workflows.
        once: Results of ``ctx.once``, if a call was made.
        calls: The pending calls, if there ever were any.
    """

    __slots__ = (
        "_asked",
        "_live_count",
        "_local",
        "_local_before",
        "_sub_runs",
        "activation",
        "called",
        "calls",
        "commits",
        "keeps_inputs",
        "once",
        "outputs",
        "progress",
        "sends",
        "services",
        "sub_error",
        "sub_events",
        "surfaced",
        "timeout_at",
        "writes",
    )  # fmt: skip

    def __init__(
        self,
        activation: Activation,
        services: RunServices,
        local_before: Mapping[str, JSONValue],
        progress: Progress,
        timeout_at: float | None = None,
        keeps_inputs: bool = False,
    ) -> None:
        self.activation = activation
        self.services = services
        self.progress = progress
        self.timeout_at = timeout_at
        self.keeps_inputs = keeps_inputs
        self.sends: list[Sent] = []
        self.outputs: list[Payload] = []
        self.writes: list[tuple[str, Payload]] = []
        self.commits: tuple[OnCommit, ...] = ()
        self.sub_events: list[WorkflowEvent] = []
        self.sub_error: Exception | None = None
        self.called: tuple[str, ...] = ()
        self.surfaced: list[Asked] | None = None
        self.once: dict[str, Payload] | None = None
        self.calls: PendingCalls | None = None
        self._asked: dict[int, Asked] | None = None
        self._sub_runs: dict[int, SubRun] | None = None
        self._local: dict[str, JSONValue] | None = None
        self._local_before = local_before
        self._live_count = 0

    @property
    def local(self) -> dict[str, JSONValue]:
        """The executor's own state, with the changes of this entry."""
        if self._local is None:
            self._local = copy.deepcopy(dict(self._local_before))
        return self._local

    @property
    def changed_local(self) -> Mapping[str, JSONValue] | None:
        """The executor's own state, if this entry changed it.

        Raises:
            HandlerError: It is not JSON.
        """
        if self._local is None or self._local == self._local_before:
            return None
        executor_id = self.activation.executor_id
        try:
            is_json = from_text(to_text(self._local)) == self._local
        except (TypeError, ValueError) as exc:
            raise HandlerError(_NOT_JSON.format(executor_id, exc)) from exc
        if not is_json:
            raise HandlerError(_NOT_JSON.format(executor_id, "keys must be text, and tuples must be lists"))
        return self._local

    @property
    def asked(self) -> dict[int, Asked]:
        """Its requests, by number."""
        if self._asked is None:
            self._asked = {int(asked.name.rpartition(".")[2]): asked for asked in self.progress.asked}
        return self._asked

    @property
    def kept_once(self) -> dict[str, Payload]:
        """Results of ``ctx.once``, by key."""
        if self.once is None:
            self.once = dict(self.progress.once)
        return self.once

    @property
    def sub_runs(self) -> dict[int, SubRun]:
        """Its sub-runs, by number."""
        if self._sub_runs is None:
            self._sub_runs = dict(self.progress.sub_runs)
        return self._sub_runs

    @property
    def waits(self) -> bool:
        """Whether a request is not settled."""
        if self._asked is None:
            return bool(self.surfaced)
        return bool(self.surfaced) or any(asked.is_open for asked in self._asked.values())

    def add_output(self, output: Payload) -> None:
        """Take an output and report it to the listener at once; it counts when the handler returns."""
        self.outputs.append(output)
        if self.services.tell is not None:
            shown = Payload(output.value, make_data=lambda _: masked_data({"value": output.data})["value"])
            facts = {"type": type(output.value).__name__, "value": shown}
            self._tell(self.services.tell, EventKind.OUTPUT_PROVISIONAL, facts)

    def report(self, kind: EventKind, data: Mapping[str, JSONValue]) -> None:
        """Report a live event to the listener, if there is one, with secrets masked."""
        if self.services.tell is not None:
            self._tell(self.services.tell, kind, masked_data(data))

    def _tell(
        self, tell: Callable[[WorkflowEvent], None], kind: EventKind, data: Mapping[str, object]
    ) -> None:
        self._live_count += 1
        activation, services = self.activation, self.services
        tell(
            WorkflowEvent(
                kind,
                services.run_id,
                services.clock(),
                superstep=activation.superstep,
                path=joined(services.path, activation.executor_id),
                attempt=len(self.progress.failures) + 1,
                shard=activation.shard,
                data=data,
                live_number=self._live_count,
            )
        )

    def calling(self) -> AbstractContextManager[None]:
        """Treat the block as part of the handler, in any of the handler's tasks."""
        if self.calls is None:
            self.calls = PendingCalls()
        return self.calls.call()

    def check_open(self, call: str) -> None:
        """Refuse a call after the handler has ended; cancel the caller if its task is being stopped.

        Raises:
            ContextClosedError: The handler has ended.
            CancelledError: The same, and the handler had started the task.
        """
        calls = self.calls
        if calls is None or not calls.is_closed:
            return
        if calls.stops(asyncio.current_task()):
            raise asyncio.CancelledError("the handler has ended")
        raise ContextClosedError(self.activation.executor_id, call)

    def close(self) -> PendingCalls | None:
        """Refuse new calls from now on; return the pending calls, if there ever were any."""
        calls = self.calls
        if calls is None:
            self.calls = CLOSED
        else:
            calls.is_closed = True
        return calls

    def kept(self) -> Progress:
        """Return the progress that outlives this entry."""
        before = self.progress
        if not (self._asked or self.once or self._sub_runs or self.surfaced or before.surfaced):
            return before
        return replace(
            before,
            origin=self.activation.origin,
            asked=before.asked if self._asked is None else tuple(self._asked.values()),  # old ones first
            surfaced=tuple(self._still_surfaced()),
            once=before.once if self.once is None else self.once,
            sub_runs=before.sub_runs if self._sub_runs is None else self._sub_runs,
        )

    def _still_surfaced(self) -> Iterator[Asked]:
        """Yield the open requests of sub-workflows, and the answers that this entry did not pass on."""
        for asked in self.progress.surfaced:
            if not asked.name.startswith(self.called):
                yield asked
        yield from self.surfaced or ()
