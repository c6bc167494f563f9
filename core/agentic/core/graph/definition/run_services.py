"""The services that link an activation to the run around it, and to its sub-runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from agentic.core.graph.codec.payload import Payload, PayloadPacker
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.history import HistorySource
from agentic.core.graph.model.progress import Asked, SubRun
from agentic.core.graph.model.reducers import Reducer
from agentic.core.graph.model.result import RunResult
from agentic.core.records import record
from agentic.core.types import JSONValue, RunId, WorkflowId


class BaseWorkflow:
    """A workflow that an activation passes on to run: each is a ``WorkflowDefinition``.

    Attributes:
        id: Its name.
        version: As given by its author, or None.
    """

    id: WorkflowId
    version: str | None


class SubRunner(Protocol):
    """Runs a workflow as part of another's activation."""

    def __call__(
        self, workflow: BaseWorkflow, message: object, call: SubCall, /
    ) -> Awaitable[tuple[RunResult, SubRun]]:
        """Run ``workflow``, or resume it."""
        ...


@record
class KeptEffects:
    """The results of ``ctx.once`` in a sub-run, which the activation around it keeps in its ledger.

    Attributes:
        find: Returns the result with a key, or None.
        keep: Stores a result, before anything else happens.
    """

    find: Callable[[str], Payload | None]
    keep: Callable[[str, Payload], Awaitable[None]]


@record
class SubCall:
    """One call of ``ctx.run_workflow``.

    Attributes:
        run_id: Name of the sub-run.
        path: Where its events appear.
        before: Its state when the activation ended last time.
        answers: Its answered or expired requests, by name in the sub-run.
        keeps_inputs: Whether the activation may be tried again.
        deadline: The deadline of the activation, in seconds since the epoch.
        keep: Called with the state of the sub-run when it is cancelled.
        is_kept: Whether it can continue where it stopped, in a stored run.
        previous_errors: Errors of the activation's earlier tries; the sub-run's executors see them, too.
        effects: The effects of the sub-run, if the activation's are in a ledger.
    """

    run_id: RunId
    path: str
    before: SubRun | None
    answers: Mapping[str, Asked]
    keeps_inputs: bool
    deadline: float | None
    keep: Callable[[SubRun, Sequence[WorkflowEvent]], None]
    is_kept: bool = True
    previous_errors: tuple[Payload, ...] = ()
    effects: KeptEffects | None = None


@record
class RunServices:
    """The services that a context needs from its run.

    Attributes:
        reducers: The workflow's, by key of the shared state.
        run_id: The run.
        path: The path of a sub-workflow's run.
        clock: Seconds since the epoch.
        tell: Takes live events, if there is a listener.
        run_sub: Runs sub-workflows.
        pack: Makes payloads of sent, yielded or written values.
        deadline: Of the run, seconds since the epoch.
        keeps_inputs: Whether messages are kept unchanged, because the run may be tried again.
        is_stored: Whether a process can resume the run.
        history: Knows other runs.
        keep_once: Stores the result of a ``ctx.once`` call, before anything else happens.
        effects: In a sub-workflow's run: those that the activation around it keeps, by activation and key.
        previous_errors: In a sub-workflow's run: errors of the earlier tries of its activation.
        joins_commit: Whether the result is kept in a transaction that functions of the handler may join.
        is_passing: Whether a try's error is a temporary fault around the run, not the handler's failure: the
            try then does not count.
    """

    reducers: Mapping[str, Reducer]
    run_id: RunId
    path: str
    clock: Callable[[], float]
    tell: Callable[[WorkflowEvent], None] | None
    run_sub: SubRunner
    pack: PayloadPacker
    deadline: float | None = None
    keeps_inputs: bool = False
    is_stored: bool = False
    history: HistorySource | None = None
    keep_once: Callable[[str, Payload], Awaitable[None]] | None = None
    joins_commit: bool = False
    previous_errors: tuple[Payload, ...] = ()
    is_passing: Callable[[Exception], bool] | None = None
    effects: KeptEffects | None = None

    @property
    def keeps_effects(self) -> bool:
        """Whether the results of ``ctx.once`` are in a ledger at once."""
        return self.keep_once is not None or self.effects is not None


@record
class StateView:
    """The run's state, as an activation sees it.

    Attributes:
        shared: The shared state, by key.
        local: The executor's own state.
    """

    shared: Mapping[str, Payload]
    local: Mapping[str, JSONValue]
