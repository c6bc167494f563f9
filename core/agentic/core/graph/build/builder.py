"""Builds workflows, fluently."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from typing_extensions import TypeIs

from agentic.core.graph.build.validation import find_faults, find_warnings
from agentic.core.graph.build.workflow import Workflow
from agentic.core.graph.definition.context import WorkflowContext
from agentic.core.graph.definition.edges import (
    Condition,
    DirectEdge,
    Edge,
    FanInEdge,
    FanOutEdge,
    Graph,
    JoinMode,
    MapEdge,
    On,
    OnItemError,
    RetryEdge,
    RetryPayload,
    Selector,
    StateKey,
    SwitchCase,
    SwitchEdge,
)
from agentic.core.graph.definition.executor import Executor
from agentic.core.graph.definition.function import FunctionExecutor, name_of
from agentic.core.graph.errors import GraphWarning, InvalidGraphError
from agentic.core.graph.model.document import Migrate
from agentic.core.graph.model.policies import WorkflowConfig
from agentic.core.graph.model.reducers import Reducer
from agentic.core.graph.names import is_storable
from agentic.core.types import ExecutorId

Function = Callable[[Any], object] | Callable[[Any, WorkflowContext[Any, Any]], Awaitable[object]]
"""A function ``(message)`` or, if async, ``(message, ctx)``; as a node it has its own name as id."""


class ExecutorSource(Protocol):
    """Something that makes an executor of itself, such as an agent."""

    def as_executor(self) -> Executor:
        """Return a new executor."""
        ...


Node = Executor | Workflow | ExecutorSource | Function | str
"""An executor, a workflow, an agent, a function, or the id of a node that is added elsewhere."""


@dataclass(frozen=True, slots=True)
class Case:
    """A way out of a switch: taken when ``predicate(message)``, sync or async, is the first that holds."""

    predicate: Condition
    target: Node
    description: str = ""


@dataclass(frozen=True, slots=True)
class Default:
    """The way out of a switch that is taken when no case holds."""

    target: Node


class WorkflowBuilder:
    """Collects executors and edges; :meth:`build` checks them all at once.

    Edges accept executors or ids, and add the executors they are given.

    Args:
        id: Name of the workflow.
        version: Decides which checkpoints fit; without one, any change of shape or code makes them unfit.
        config: Limits of its runs.
    """

    def __init__(self, id: str, version: str | None = None, config: WorkflowConfig | None = None) -> None:
        self._id = id
        self._version = version
        self._config = config or WorkflowConfig()
        self._executors: dict[ExecutorId, Executor] = {}
        self._functions: dict[Function, FunctionExecutor] = {}
        self._sources: dict[ExecutorSource, Executor] = {}
        self._edges: list[Edge] = []
        self._starts: list[ExecutorId] = []
        self._state_keys: dict[str, StateKey] = {}
        self._migrations: dict[str | None, Migrate] = {}
        self._faults: list[str] = []

    def set_start(self, *nodes: Node) -> Self:
        """Set the executors that get the input of a run; each gets the same."""
        self._starts = [self._add(node) for node in nodes]
        return self

    def add_executor(self, *nodes: Executor | Workflow | ExecutorSource | Function) -> Self:
        """Add executors; a function becomes one with its name as id."""
        for node in nodes:
            self._add(node)
        return self

    def add_edge(
        self,
        source: Node,
        target: Node,
        condition: Condition | None = None,
        *,
        on: On = "success",
        description: str = "",
    ) -> Self:
        """Carry messages from ``source`` to ``target``, always or when ``condition(message)`` holds.

        Args:
            source: The sender.
            target: The receiver.
            condition: Sync or async; called with the message.
            on: ``failure`` carries an :class:`ExecutorFailure` after the final failure of ``source``, instead
                of its messages; ``always`` carries both.
            description: For pictures.
        """
        return self._connect(
            DirectEdge(
                source=self._add(source),
                target=self._add(target),
                condition=condition,
                description=description,
                on=on,
            )
        )

    def add_conditional_edge(
        self, source: Node, target: Node, condition: Condition, description: str = "", *, on: On = "success"
    ) -> Self:
        """Send messages to ``target`` if the condition, sync or async, holds for them."""
        return self.add_edge(source, target, condition, on=on, description=description)

    def add_switch_edge(self, source: Node, cases: Sequence[Case | Default], *, on: On = "success") -> Self:
        """Send to the target of the first case that holds, or to the target of the only :class:`Default`."""
        defaults = [case for case in cases if isinstance(case, Default)]
        source_id = self._add(source)
        if len(defaults) != 1:
            self._faults.append(
                f"the switch from {source_id!r} has {len(defaults)} defaults; give it exactly one"
            )
        return self._connect(
            SwitchEdge(
                source=source_id,
                cases=tuple(
                    SwitchCase(
                        condition=case.predicate, target=self._add(case.target), description=case.description
                    )
                    for case in cases
                    if isinstance(case, Case)
                ),
                default=self._add((defaults or cases)[0].target) if cases else source_id,
                on=on,
            )
        )

    def add_fan_out_edge(
        self, source: Node, targets: Sequence[Node], *, select: Selector | None = None, on: On = "success"
    ) -> Self:
        """Send to all ``targets`` at once, or to the targets that ``select(message, target_ids)`` names."""
        ends = self._add_all(targets)
        return self._connect(FanOutEdge(source=self._add(source), targets=ends, select=select, on=on))

    def add_fan_in_edge(
        self, sources: Sequence[Node], target: Node, *, mode: JoinMode = "all", on: On = "success"
    ) -> Self:
        """Give ``target`` one list, in declared source order.

        Args:
            sources: At least two.
            target: Takes ``list[T]``.
            mode: ``all`` waits until every source has sent, and delivers all messages. ``latest`` delivers
                the newest value of each source, once each has one, and again for each new message.
                ``available`` delivers the present messages as soon as nothing in progress can bring more.
            on: Whether it takes messages, failures of the sources, or both.
        """
        ends = self._add_all(sources)
        return self._connect(FanInEdge(sources=ends, target=self._add(target), mode=mode, on=on))

    def add_retry_edge(
        self,
        validator: Node,
        worker: Node,
        *,
        when: Condition,
        max_passes: int = 3,
        exhausted: Node | None = None,
        payload: RetryPayload = "input",
    ) -> Self:
        """Deliver the worker's input again when the validator's message asks for it.

        The worker finds the validator's messages in ``ctx.previous_errors``.

        Args:
            validator: Judges the worker's result, directly or further downstream.
            worker: Runs again.
            when: Whether the validator's message asks for another pass.
            max_passes: Passes after the first, for each input of the worker.
            exhausted: Gets the validator's message when no pass is left; without it the run fails.
            payload: ``message`` delivers the validator's message in place of the input.
        """
        return self._connect(
            RetryEdge(
                source=self._add(validator),
                target=self._add(worker),
                when=when,
                max_passes=max_passes,
                exhausted=None if exhausted is None else self._add(exhausted),
                payload=payload,
            )
        )

    def add_state(self, key: str, *, reducer: Reducer) -> Self:
        """Declare how to join values that several executors write under ``key`` in one superstep.

        Args:
            key: Of the shared state.
            reducer: ``reducer(value so far, written)`` returns the new value; sync and pure.
        """
        if key in self._state_keys:
            self._faults.append(f"state key {key!r} has two reducers; keep one")
        self._state_keys[key] = StateKey(name=key, reducer=reducer)
        return self

    def add_map_edge(
        self,
        source: Node,
        body: Node,
        join: Node,
        *,
        max_parallel: int = 16,
        window: int = 1000,
        on_item_error: OnItemError = "collect",
    ) -> Self:
        """Process the list that ``source`` sends; ``join`` gets ``list[ItemResult]`` in item order.

        Args:
            source: Sends lists.
            body: Handles one item at a time.
            join: Gets the results, also of an empty list.
            max_parallel: Items handled at the same time.
            window: Items handed out in one superstep.
            on_item_error: ``collect`` gives the join a result with an error, ``skip`` leaves it out, ``fail``
                fails the run.
        """
        return self._connect(
            MapEdge(
                source=self._add(source),
                body=self._add(body),
                join=self._add(join),
                max_parallel=max_parallel,
                window=window,
                on_item_error=on_item_error,
            )
        )

    def add_migration(self, from_version: str | None, convert: Migrate) -> Self:
        """Add a function that converts a checkpoint of another version to this version.

        Args:
            from_version: Of the checkpoint; None for workflows without a version.
            convert: ``convert(document)`` returns the document with new names and values.
        """
        if from_version in self._migrations:
            self._faults.append(f"version {from_version!r} has two migrations; keep one")
        self._migrations[from_version] = convert
        return self

    def build(self) -> Workflow:
        """Return the workflow.

        Raises:
            InvalidGraphError: It cannot run; the error lists every fault.
        """
        faults = [
            *self._faults,
            *self._unstorable_names(),
            *find_faults(self._executors, self._edges, self._starts),
        ]
        if faults:
            raise InvalidGraphError(self._id, faults)
        for warning in find_warnings(self._executors, self._edges, self._starts):
            warnings.warn(f"workflow {self._id!r}: {warning}", GraphWarning, stacklevel=2)
        graph = Graph(self._executors, self._edges, self._starts, list(self._state_keys.values()))
        return Workflow(self._id, self._version, self._config, graph, self._migrations)

    def _unstorable_names(self) -> Iterator[str]:
        names = [
            ("the workflow's id", self._id),
            ("the workflow's version", self._version),
            *(("the state's key", key) for key in self._state_keys),
            *((f"the queue of {name!r}", node.queue) for name, node in self._executors.items()),
        ]
        for what, name in names:
            if name is not None and not is_storable(name):
                yield f"{what}, {name!a}, contains lone surrogates, which no store accepts; clean the text"

    def _add_all(self, nodes: Sequence[Node]) -> tuple[ExecutorId, ...]:
        if isinstance(nodes, str):  # a string is a sequence of strings, too
            self._faults.append(f"{nodes!r} is a single id where a list is needed; give a list of ids")
            return (ExecutorId(nodes),)
        return tuple(map(self._add, nodes))

    def _connect(self, edge: Edge) -> Self:
        self._edges.append(edge)
        return self

    def _made(self, node: ExecutorSource | Function) -> Executor:
        if not _makes_executors(node):
            return self._function(node)
        if node not in self._sources:  # named twice, it is one node
            self._sources[node] = node.as_executor()
        return self._sources[node]

    def _function(self, function: Function) -> FunctionExecutor:
        """Return the executor of a function: always the same one."""
        name = name_of(function)
        known = self._functions.get(function)
        if known is None:
            known = self._functions[function] = FunctionExecutor(function, name)
        return known

    def _add(self, node: Node) -> ExecutorId:
        if isinstance(node, str):
            return ExecutorId(node)
        if not isinstance(node, (Executor, Workflow)):
            node = self._made(node)
        known = self._executors.get(ExecutorId(node.id))
        if isinstance(node, Workflow):
            # One workflow named twice is one node, like one executor.
            same = isinstance(known, Executor) and getattr(known, "workflow", None) is node
            node = known if same and known is not None else node.as_executor()
        if known is not None and known is not node:
            self._faults.append(f"two executors have the id {node.id!r}; rename one")
        self._executors.setdefault(node.id, node)
        return node.id


def _makes_executors(node: ExecutorSource | Function) -> TypeIs[ExecutorSource]:
    return hasattr(node, "as_executor")
