"""The workflows of durable runs by name, and the hooks around them."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping
from threading import Lock
from typing import Any, cast
from weakref import WeakValueDictionary

from agentic.core.errors import AgenticError, line_of, text_of
from agentic.core.graph.build.workflow import Workflow
from agentic.core.graph.definition.subgraph import WorkflowExecutor
from agentic.core.graph.definition.workflow import WorkflowDefinition
from agentic.core.graph.model.events import WorkflowEvent
from agentic.core.graph.model.state import RunState
from agentic.core.hooks.offers import clash_over
from agentic.core.ledger.records import DEFAULT_QUEUE
from agentic.core.masking import KnownSecrets
from agentic.core.records import record
from agentic.core.types import ExecutorId, RunId
from agentic.executors.durable.errors import UnknownWorkflowError

OnceKept = Callable[[], object]
"""Called after the commit: once, by the process that wrote."""

OnRest = Callable[[Any, RunState], OnceKept | None]
"""Called in the transaction that starts, rests or continues a run, with its session and the run's state."""


def _as_it_is(event: WorkflowEvent) -> WorkflowEvent:
    return event


def _nothing(_: RunId) -> Mapping[str, str]:
    return {}


@record
class RunHooks:
    """Hooks of a workflow's durable runs.

    Attributes:
        clean: Removes secrets from an event before it is kept or sent.
        on_rest: Writes changes when a run starts, rests or continues; returns what to do after the commit.
        context: Returns the log context of a run's handlers, by the run's id.
        secrets: Learns the secrets that handlers read or receive.
    """

    clean: Callable[[WorkflowEvent], WorkflowEvent] = _as_it_is
    on_rest: OnRest | None = None
    context: Callable[[RunId], Mapping[str, str]] = _nothing
    secrets: KnownSecrets | None = None


NO_HOOKS = RunHooks()


def hooks_within(hooks: RunHooks) -> RunHooks:
    """Return a workflow's hooks for the runs of one of its nodes."""
    return RunHooks(clean=hooks.clean, context=hooks.context, secrets=hooks.secrets)


Factory = Callable[[], Workflow]
Builder = Callable[[str], "RegisteredWorkflow"]
Close = Callable[[], Awaitable[None]]

NODE_MARK = "#"
"""Separates the name of a workflow from the executor that is a nested workflow."""


@record
class RegisteredWorkflow:
    """A workflow as its runs need it.

    Attributes:
        workflow: The workflow.
        hooks: The hooks of its runs.
        queue: Queue of its work, unless an executor names another one.
        close: Closes all that its executors have opened in this process.
    """

    workflow: WorkflowDefinition
    hooks: RunHooks = NO_HOOKS
    queue: str = DEFAULT_QUEUE
    close: Close | None = None


class WorkflowCatalog:
    """Builds workflows by name, and keeps the ones used last.

    A name is the name of a registered factory; or ``kind:rest``, if there is a builder for that kind; or
    ``package.module:factory``, if the package is trusted. For a nested workflow, ``#executor`` follows
    one of these, once for each level.

    Args:
        factories: Name -> factory of the workflow.
        trusted: Packages and modules that names may lead to.
        builders: Kind -> builder of a workflow from the rest of its name.
        size: How many workflows to keep.
    """

    def __init__(
        self,
        factories: Mapping[str, Factory],
        trusted: Collection[str] = (),
        builders: Mapping[str, Builder] | None = None,
        *,
        size: int = 256,
    ) -> None:
        self._factories = factories
        self._trusted = tuple(trusted)
        self._builders = dict(builders or {})
        self._size = size
        self._built: OrderedDict[str, RegisteredWorkflow] = OrderedDict()
        self._lock = Lock()
        self._building: WeakValueDictionary[str, Lock] = WeakValueDictionary()

    def get(self, name: str) -> RegisteredWorkflow:
        """Return a workflow, built by one thread at a time. May block: builders may read a database.

        Any thread may call it.

        Raises:
            UnknownWorkflowError: No workflow has that name, or its package is not trusted.
        """
        if (registered := self.built(name)) is not None:
            return registered
        with self._lock:
            building = self._building.setdefault(name, Lock())
        with building:  # the name of a nested workflow waits for the one around it, never the other way
            return self.built(name) or self._keep(name, self._build(name))

    def built(self, name: str) -> RegisteredWorkflow | None:
        """Return a workflow if it is built and kept; never blocks."""
        with self._lock:
            registered = self._built.get(name)
            if registered is not None:
                self._built.move_to_end(name)
            return registered

    async def aclose(self) -> None:
        """Close all that the workflows have opened in this process."""
        for registered in self._built.values():
            if registered.close is not None:
                await registered.close()

    def _keep(self, name: str, registered: RegisteredWorkflow) -> RegisteredWorkflow:
        with self._lock:
            self._built[name] = registered
            if len(self._built) > self._size:
                self._built.popitem(last=False)
            return registered

    def _build(self, name: str) -> RegisteredWorkflow:
        outer, mark, node = name.rpartition(NODE_MARK)
        if mark:
            around = self.get(outer)
            executor = around.workflow.graph.executors.get(ExecutorId(node))
            if not isinstance(executor, WorkflowExecutor):
                raise UnknownWorkflowError(name, f"{outer!r} has no workflow as its node {node!r}")
            inner = executor.workflow.within(around.workflow)
            return RegisteredWorkflow(inner, hooks_within(around.hooks), around.queue)
        kind, _, rest = name.partition(":")
        if rest and kind in self._builders:
            return _built(name, self._builders[kind], rest)
        built = _called(name, self._factory(name))
        if not isinstance(built, Workflow):
            raise UnknownWorkflowError(name, f"its factory returned {type(built).__name__}, not a Workflow")
        return RegisteredWorkflow(built)

    def _factory(self, name: str) -> Factory:
        if name in self._factories:
            return self._factories[name]
        module, colon, attribute = name.partition(":")
        if not colon:
            if clash := clash_over(name, self._factories):
                raise UnknownWorkflowError(name, str(clash)) from clash
            known = ", ".join(sorted(self._factories)) or "none"
            raise UnknownWorkflowError(
                name,
                f"no plugin has a workflow of this name (known: {known}); check that its plugin is installed",
            )
        if not any(module == trusted or module.startswith(f"{trusted}.") for trusted in self._trusted):
            raise UnknownWorkflowError(
                name, f"the module {module!r} is not trusted; add its package to AGENTIC_WORKFLOW_MODULES"
            )
        found = _imported(name, module, attribute)
        if isinstance(found, Workflow):
            return lambda: found
        if not callable(found):
            reason = f"it is a {type(found).__name__}, but must be a Workflow or a function that returns one"
            raise UnknownWorkflowError(name, reason)
        return cast(Factory, found)


def _imported(name: str, module: str, attribute: str) -> object:
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as exc:
        raise UnknownWorkflowError(name, text_of(exc)) from exc
    except BaseException as exc:  # a module that ends the process when it is imported must not end ours
        raise UnknownWorkflowError(name, f"importing {module!r} raised {line_of(exc)}") from exc


def _built(name: str, builder: Builder, rest: str) -> RegisteredWorkflow:
    try:
        return builder(rest)
    except Exception:  # explains itself, also when the database is unavailable
        raise
    except BaseException as exc:  # a plugin's code, like below
        raise UnknownWorkflowError(name, f"building it raised {line_of(exc)}") from exc


def _called(name: str, factory: Factory) -> object:
    try:
        return factory()
    except AgenticError:  # explains itself
        raise
    except BaseException as exc:  # if the process died of it, its cause would be lost
        raise UnknownWorkflowError(name, f"its factory raised {line_of(exc)}") from exc
