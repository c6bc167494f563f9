"""A workflow: an immutable graph that can be run any number of times, also in parallel."""

from __future__ import annotations

import asyncio
import time
import uuid
import warnings
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agentic.core.graph.checkpoints.writer import CheckpointWriter
from agentic.core.graph.codec.codec import Codec
from agentic.core.graph.codec.payload import make_storable_packer
from agentic.core.graph.definition.edges import Graph
from agentic.core.graph.definition.subgraph import WorkflowExecutor
from agentic.core.graph.definition.workflow import WorkflowDefinition, WorkflowSignature
from agentic.core.graph.errors import CheckpointNotFoundError, GraphWarning, UnstorableTypesError
from agentic.core.graph.model.document import Migrate
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.policies import WorkflowConfig
from agentic.core.graph.model.result import RunResult, RunStatus
from agentic.core.graph.names import checked_run_id
from agentic.core.graph.planning.responses import Responses
from agentic.core.graph.running.runner import (
    OnEvent,
    Runner,
    Setup,
    deadline_of,
    new_state,
    raise_for_failure,
)
from agentic.core.graph.versions.type_registry import declared_types, find_unstorable
from agentic.core.ids import new_id
from agentic.core.types import JSONValue, RunId
from agentic.core.views.viz import to_dict, to_mermaid, to_svg

if TYPE_CHECKING:
    from agentic.core.graph.checkpoints.store import CheckpointMetadata, CheckpointStore, StoredCheckpoint
    from agentic.core.views.run_view import RunView


EventQueue = asyncio.Queue[WorkflowEvent | None]

STOP_GRACE_S = 10.0
"""How long closing a stream waits for cancelled handlers before the run ends without them."""


class Workflow(WorkflowDefinition):
    """A validated graph that can be run. Made by ``WorkflowBuilder.build()``."""

    def __init__(
        self,
        id: str,
        version: str | None,
        config: WorkflowConfig,
        graph: Graph,
        migrations: Mapping[str | None, Migrate] | None = None,
    ) -> None:
        super().__init__(id, version, config, graph, migrations)
        self._within: WeakKeyDictionary[WorkflowDefinition, Workflow] = WeakKeyDictionary()

    def within(self, around: WorkflowDefinition) -> Workflow:
        """Return this workflow for child runs of ``around``; see :class:`WorkflowDefinition`."""
        made = self._within.get(around)
        if made is None:  # kept, because its signature takes long to make
            version = around.version if self.version is None else self.version
            made = Workflow(self.id, version, self.config, self.graph, self.migrations)
            made.has_lent_version = self.version is None and version is not None
            made.codec = around.codec
            self._within[around] = made
        return made

    @cached_property
    def signature(self) -> WorkflowSignature:
        """The version, shape and code of this workflow, which distinguish it from others."""
        from agentic.core.graph.versions.signature import signature_of

        return signature_of(self.id, self.version, self.graph)

    @cached_property
    def codec(self) -> Codec:
        """Stores the values of the types that the workflow uses."""
        return Codec(declared_types(self.graph))

    def check_storable(self) -> None:
        """Refuse to start a stored run that would certainly fail; see :class:`WorkflowDefinition`."""
        if self._unstorable:
            raise UnstorableTypesError(self.id, self._unstorable)

    @cached_property
    def _unstorable(self) -> tuple[str, ...]:
        return tuple(find_unstorable(self.graph))

    def as_agent(self, name: str, **options: Any) -> Any:  # noqa: ANN401
        """Return a :class:`~agentic.core.agents.WorkflowAsAgent`: this workflow as an agent.

        Args:
            name: The agent's name.
            options: Further arguments of :class:`~agentic.core.agents.WorkflowAsAgent`.
        """
        # By name, also for type checkers, because agents are a room above this one.
        return import_module("agentic.core.agents").WorkflowAsAgent(self, name, **options)

    def as_tool(self, name: str | None = None, **options: Any) -> Any:  # noqa: ANN401
        """Return a :class:`~agentic.core.agents.WorkflowTool`: this workflow as a tool of agents.

        Args:
            name: The tool's name; the workflow's if omitted.
            options: Further arguments of :class:`~agentic.core.agents.WorkflowTool`.
        """
        return import_module("agentic.core.agents").WorkflowTool(self, name or str(self.id), **options)

    async def run(
        self,
        message: object,
        *,
        run_id: str | None = None,
        checkpoints: CheckpointStore | None = None,
        config: WorkflowConfig | None = None,
    ) -> RunResult:
        """Run the workflow until no message is in flight, or until it waits for answers.

        Supersteps follow bulk-synchronous parallel execution (Malewicz et al., Pregel, 2010): the targets of
        a message from superstep *n* see it in superstep *n + 1*.

        Args:
            message: Given to every start executor in superstep 0.
            run_id: Name of the run, without ``/``, unique in its store; a new one is made when omitted.
            checkpoints: Where to keep the run, so that :meth:`resume` can continue it.
            config: Limits of this run instead of the workflow's.

        Returns:
            Status, outputs in planner order, and the durable events.

        Raises:
            MessageTypeError: A start executor does not take ``message``; nothing was started.
            UnstorableTypesError: The run must be stored, but an executor's types never can be; nothing was
                started.
            ConvergenceError: Messages were still in flight after ``max_supersteps``.
            UndeliverableMessageError: No executor took a message, and ``strict`` is on.
            RunTimeoutError: ``run_timeout_s`` passed.
            StateConflictError: Two executors wrote one key of the shared state in one superstep.
            CheckpointError: A checkpoint could not be saved.
            Exception: The first failure, in executor order, of the superstep that failed; the results of its
                siblings are kept. The failed :class:`RunResult` is its attribute ``result``.
        """
        runner = self._start(message, _checked(run_id), checkpoints, config, None)
        return raise_for_failure(await runner.run())

    def run_stream(
        self,
        message: object,
        *,
        run_id: str | None = None,
        checkpoints: CheckpointStore | None = None,
        config: WorkflowConfig | None = None,
    ) -> RunStream:
        """Start a run and return its events as they happen. Takes the arguments of :meth:`run`."""
        events: EventQueue = asyncio.Queue()
        checked = _checked(run_id)
        return RunStream(
            checked, events, self._start(message, checked, checkpoints, config, events.put_nowait)
        )

    async def resume(
        self,
        run_id: str,
        *,
        checkpoints: CheckpointStore,
        checkpoint_id: str | None = None,
        responses: Mapping[str, object] | None = None,
        answered_by: str = "",
        config: WorkflowConfig | None = None,
    ) -> RunResult:
        """Resume a stored run, in this process or another: after a crash, a failure, or with answers.

        Finished work is not run again. A completed run is only read.

        Args:
            run_id: The run.
            checkpoints: Where it is kept.
            checkpoint_id: Resume from this checkpoint, not from the newest one. An older one is forked first:
                the result's ``run_id`` is a new one, and the history of ``run_id`` does not change.
            responses: Answers by request id.
            answered_by: Who gave them, for the record.
            config: Limits from now on instead of the workflow's.

        Raises:
            CheckpointNotFoundError: The store has no such run or checkpoint.
            CheckpointVersionError: The checkpoint is of another version of the workflow.
            CorruptCheckpointError: It is damaged.
            UnknownRequestError: An answer does not belong to an open request; nothing is changed.
            AnswerError: An answer does not have the requested type; nothing is changed.
            RunEndedError: Answers were given to a completed run.
            Exception: As :meth:`run`.
        """
        answers = Responses(responses or {}, answered_by)
        runner = await self._take_up(RunId(run_id), checkpoints, checkpoint_id, answers, config)
        return raise_for_failure(await runner.run())

    def resume_stream(
        self,
        run_id: str,
        *,
        checkpoints: CheckpointStore,
        checkpoint_id: str | None = None,
        responses: Mapping[str, object] | None = None,
        answered_by: str = "",
        config: WorkflowConfig | None = None,
    ) -> RunStream:
        """Resume a stored run and return its events as they happen; see :meth:`resume`."""
        events: EventQueue = asyncio.Queue()
        answers = Responses(responses or {}, answered_by)
        runner = self._take_up(RunId(run_id), checkpoints, checkpoint_id, answers, config, events.put_nowait)
        return RunStream(RunId(run_id), events, runner)

    def as_executor(self, id: str | None = None) -> WorkflowExecutor:
        """Return the workflow as an executor of another one; ``id`` defaults to the workflow's."""
        return WorkflowExecutor(self, id or self.id)

    def to_mermaid(self) -> str:
        """Return the graph as a Mermaid flowchart."""
        return to_mermaid(self.graph)

    def to_svg(self, run: RunView | None = None) -> str:
        """Return the graph as an SVG picture, with the states and times of ``run`` on it, if given."""
        return to_svg(self.graph, run=run)

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the graph's shape as JSON-able data.

        ``send_types`` and ``output_types`` of an executor are the types its handlers pass to their context.
        ``return_types`` are also sent if it has an out-edge, and are outputs otherwise. None is for unknown.
        """
        return {"id": self.id, "version": self.version, **to_dict(self.graph)}

    def _start(
        self,
        message: object,
        run_id: RunId,
        checkpoints: CheckpointStore | None,
        config: WorkflowConfig | None,
        listener: OnEvent | None,
    ) -> Runner:
        """Return a new, started run."""
        config = config or self.config
        setup = Setup(config, listener)
        if checkpoints is not None:
            self.check_storable()
            snapshots = CheckpointWriter(checkpoints, self, run_id, keep=config.keep_checkpoints)
            setup = Setup(config, listener, snapshots, make_storable_packer(self.codec), is_stored=True)
        runner = Runner(self, new_state(run_id, "", time.time(), config), setup)
        runner.begin(message)
        return runner

    async def _take_up(
        self,
        run_id: RunId,
        checkpoints: CheckpointStore,
        checkpoint_id: str | None,
        answers: Responses,
        config: WorkflowConfig | None,
        listener: OnEvent | None = None,
    ) -> Runner:
        """Return a stored run, ready to continue."""
        from agentic.core.graph.checkpoints.restore import restore

        stored = await _find(checkpoints, run_id, checkpoint_id)
        restored = restore(stored, self)
        given = answers.checked(self.codec, restored.state)
        if checkpoint_id is not None and (await checkpoints.latest(run_id)).metadata.id != checkpoint_id:
            stored = await _fork(checkpoints, stored.metadata)
            restored = restore(stored, self)
        config = config or self.config
        state = replace(restored.state, deadline=deadline_of(time.time(), config))
        snapshots = CheckpointWriter(
            checkpoints,
            self,
            state.run_id,
            keep=config.keep_checkpoints,
            saved=restored.saved,
            converted=restored.converted,
        )
        setup = Setup(config, listener, snapshots, make_storable_packer(self.codec), is_stored=True)
        runner = Runner(self, state, setup, outputs=restored.outputs)
        if state.status is not RunStatus.COMPLETED:
            facts: dict[str, object] = {"checkpoint": stored.metadata.id, "changed": list(restored.changed)}
            if stored.metadata.forked_from is not None:
                facts["forked_from"] = stored.metadata.forked_from
            runner.take_up(given, facts)
        return runner


async def _find(store: CheckpointStore, run_id: RunId, checkpoint_id: str | None) -> StoredCheckpoint:
    """Return the checkpoint to resume from."""
    if checkpoint_id is None:
        return await store.latest(run_id)
    origin, _, revision = checkpoint_id.rpartition("@")
    if origin != run_id or not revision.isdecimal():
        raise CheckpointNotFoundError(run_id, checkpoint_id)
    return await store.load(run_id, int(revision))


async def _fork(store: CheckpointStore, origin: CheckpointMetadata) -> StoredCheckpoint:
    """Return a copy of a checkpoint: the first one of a new run."""
    fork_id = RunId(f"{origin.run_id}~{origin.revision}-{uuid.uuid4().hex[:8]}")
    await store.fork(origin.run_id, origin.revision, fork_id)
    return await store.latest(fork_id)


class RunStream:
    """The events of a run, live. The run is cancelled when the stream is closed or left early.

    Attributes:
        run_id: Name of the run; for a fork, the name of its origin until it has started.
    """

    def __init__(self, run_id: RunId, events: EventQueue, runner: Runner | Awaitable[Runner]) -> None:
        self.run_id = run_id
        self._events = events
        self._runner = runner if isinstance(runner, Runner) else None
        self._is_over = asyncio.Event()
        self._task = asyncio.create_task(self._run(runner), name=f"run {run_id}")
        self._task.add_done_callback(self._end)

    async def _run(self, runner: Runner | Awaitable[Runner]) -> RunResult:
        self._runner = runner if isinstance(runner, Runner) else await runner
        self.run_id = self._runner.run_id
        return await self._runner.run()

    def _end(self, task: asyncio.Task[RunResult]) -> None:
        if task.cancelled() and self._runner is not None:
            self._runner.cancel()  # it may have been cancelled before its first step
        self._finish()

    def _finish(self) -> None:
        self._is_over.set()
        self._events.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[WorkflowEvent]:
        try:
            while (event := await self._events.get()) is not None:
                yield event
            self._events.put_nowait(None)  # for a second iteration
        finally:
            await self.aclose()

    async def result(self) -> RunResult:
        """Wait for the end and return the result, like :meth:`Workflow.run`.

        Raises:
            Exception: As :meth:`Workflow.run`. A stream that was left early returns a cancelled result.
            CancelledError: It was left before a stored run was loaded.
        """
        await self._is_over.wait()
        is_left = not self._task.done()
        if (is_left or self._task.cancelled()) and self._runner is not None:
            return self._runner.result()
        return raise_for_failure(self._task.result())

    async def aclose(self) -> None:
        """Cancel the run if it has not ended, and wait until its handlers have ended.

        The wait is limited: a handler that catches the cancellation and continues for more than
        10 seconds is left behind with a :class:`GraphWarning`. The run is then cancelled
        without it, and the handler's later work does not count.
        """
        self._task.cancel()
        ended, _ = await asyncio.wait([self._task], timeout=STOP_GRACE_S)
        if ended or self._runner is None or self._is_over.is_set():
            return
        names = ", ".join(map(repr, self._runner.running_ids)) or "a checkpoint store"
        self._runner.cancel()
        self._finish()
        warnings.warn(
            f"run {self.run_id!r} was cancelled {STOP_GRACE_S:g} s ago and {names} still runs; the run "
            "ends without it: do not catch CancelledError in its handlers",
            GraphWarning,
            stacklevel=2,
        )


def _checked(run_id: str | None) -> RunId:
    return RunId(new_id()) if run_id is None else checked_run_id(run_id)
