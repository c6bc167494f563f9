"""What ties an activation to the run around it, and to the sub-runs within it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from agentic.core.graph.codec.payload import Packer, Parcel
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.history import HistorySource
from agentic.core.graph.model.progress import Asked, SubRun
from agentic.core.graph.model.reducers import Reducer
from agentic.core.graph.model.result import RunResult
from agentic.core.records import record
from agentic.core.types import JSONValue, RunId


class BaseWorkflow:
    """A workflow as an activation hands it on to be run: each is a ``WorkflowDefinition``.

    Attributes:
        id: Its name.
        version: As given by its author, or None.
    """

    id: str
    version: str | None


class SubRunner(Protocol):
    """Runs a workflow as part of another's activation."""

    def __call__(
        self, workflow: BaseWorkflow, message: object, call: SubCall, /
    ) -> Awaitable[tuple[RunResult, SubRun]]:
        """Run ``workflow``, or go on with it."""
        ...


@record
class SubCall:
    """One call of ``ctx.run_workflow``.

    Attributes:
        run_id: Name of the sub-run.
        path: Where its events appear.
        before: Where it stood when the activation ended last time.
        answers: What was answered or expired of what it asked, by name in the sub-run.
        keeps_inputs: Whether the activation may be tried again.
        deadline: When the activation must be done, in seconds since the epoch.
        keep: Told where the sub-run stands when it is cancelled.
        is_kept: Whether it can go on where it stood, in a run that is stored.
        previous_errors: What the activation knows of earlier tries; the sub-run's executors see it, too.
    """

    run_id: RunId
    path: str
    before: SubRun | None
    answers: Mapping[str, Asked]
    keeps_inputs: bool
    deadline: float | None
    keep: Callable[[SubRun, Sequence[WorkflowEvent]], None]
    is_kept: bool = True
    previous_errors: tuple[Parcel, ...] = ()


@record
class RunLink:
    """What a context needs of the run around it.

    Attributes:
        reducers: The workflow's, by key of the shared state.
        run_id: The run.
        path: Where it lives when it is a sub-workflow's.
        clock: Seconds since the epoch.
        tell: Takes live events, if anybody listens.
        run_sub: Runs sub-workflows.
        pack: Makes parcels of what is sent, yielded or written.
        deadline: Of the run, seconds since the epoch.
        keeps_inputs: Whether messages are kept as they were sent, since the run may be tried again.
        is_stored: Whether somebody can go on with the run.
        history: Knows other runs.
        keep_once: Stores what a call of ``ctx.once`` came to, before anything else happens.
        previous_errors: What the activation around a sub-workflow's run knew of earlier tries.
        joins_commit: Whether the result is kept in a transaction that functions of the handler may join.
        is_passing: Whether what a try raised is the trouble of a moment around the run, and not the handler's
            failure: the try is as if it had not been.
    """

    reducers: Mapping[str, Reducer]
    run_id: RunId
    path: str
    clock: Callable[[], float]
    tell: Callable[[WorkflowEvent], None] | None
    run_sub: SubRunner
    pack: Packer
    deadline: float | None = None
    keeps_inputs: bool = False
    is_stored: bool = False
    history: HistorySource | None = None
    keep_once: Callable[[str, Parcel], Awaitable[None]] | None = None
    joins_commit: bool = False
    previous_errors: tuple[Parcel, ...] = ()
    is_passing: Callable[[Exception], bool] | None = None


@record
class Seen:
    """What an activation sees of the run's state.

    Attributes:
        shared: The shared state, by key.
        local: The executor's own state.
    """

    shared: Mapping[str, Parcel]
    local: Mapping[str, JSONValue]
