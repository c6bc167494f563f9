"""Finds workflows by the names under which runs keep them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping

from agentic.core.graph.subgraph import WorkflowExecutor
from agentic.core.graph.workflow import Workflow
from agentic.core.types import ExecutorId
from agentic.executors.durable.errors import UnknownWorkflowError

Factory = Callable[[], Workflow]

NODE_MARK = "#"
"""Between the name of a workflow and the executor that is a workflow itself."""


class WorkflowCatalog:
    """Builds workflows by name, each once.

    A name is that of a registered factory; or ``package.module:factory``, if the package is trusted; or one
    of these with ``#executor`` behind it, once for each level, for a workflow that is a node of another one.

    Args:
        factories: Name -> what builds the workflow.
        trusted: Packages and modules that names may lead to.
    """

    def __init__(self, factories: Mapping[str, Factory], trusted: Collection[str] = ()) -> None:
        self._factories = dict(factories)
        self._trusted = tuple(trusted)
        self._built: dict[str, Workflow] = {}

    def get(self, name: str) -> Workflow:
        """Return a workflow.

        Raises:
            UnknownWorkflowError: Nothing has that name, or it leads where names may not lead.
        """
        built = self._built.get(name)
        if built is None:
            built = self._built[name] = self._build(name)
        return built

    def _build(self, name: str) -> Workflow:
        outer, mark, node = name.rpartition(NODE_MARK)
        if mark:
            executor = self.get(outer).graph.executors.get(ExecutorId(node))
            if not isinstance(executor, WorkflowExecutor):
                raise UnknownWorkflowError(name, f"{outer!r} has no workflow as its node {node!r}")
            return executor.workflow
        built = self._factory(name)()
        if not isinstance(built, Workflow):
            raise UnknownWorkflowError(name, f"its factory returned {type(built).__name__}, no Workflow")
        return built

    def _factory(self, name: str) -> Factory:
        if name in self._factories:
            return self._factories[name]
        module, colon, attribute = name.partition(":")
        if not colon:
            known = ", ".join(sorted(self._factories)) or "none"
            raise UnknownWorkflowError(
                name, f"no plugin has a workflow of this name (there are: {known}); is the plugin installed?"
            )
        if not any(module == trusted or module.startswith(f"{trusted}.") for trusted in self._trusted):
            raise UnknownWorkflowError(
                name, f"the module {module!r} is not trusted; add its package to AGENTIC_WORKFLOW_MODULES"
            )
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as exc:
            raise UnknownWorkflowError(name, str(exc)) from exc
        return lambda: found if isinstance(found, Workflow) else found()
