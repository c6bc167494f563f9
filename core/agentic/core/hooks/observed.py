"""The data for observers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from agentic.core.types import SaveCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedExecution:
    """An execution of an agent at the time of the call to its observers.

    Attributes:
        id: Of the execution, and of its run.
        project: Name of the project.
        agent: Name of the agent.
        platform: Of the agent.
        status: ``queued``, ``running``, ``succeeded``, ``partial``, ``failed`` or ``cancelled``.
        started_at: When a worker began it; None before that.
        finished_at: When it ended; None before that.
        counts: Rows inserted, updated, unchanged and rejected.
        error: Why it failed, in a line, without secrets.
        warnings: Problems with parts of the results, a sentence each.
    """

    id: str
    project: str
    agent: str
    platform: str
    status: str
    started_at: datetime | None = None
    finished_at: datetime | None = None
    counts: SaveCounts = field(default_factory=SaveCounts)
    error: str | None = None
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Observer:
    """A plugin's implementation of a hook that observes.

    Attributes:
        plugin: Its name.
        hook: Name of the hook.
    """

    plugin: str
    hook: str
    function: Callable[..., object]
    argument_names: Sequence[str]

    def tell(self, arguments: Mapping[str, object]) -> None:
        """Call it with the ``arguments`` that it declares; its exceptions are raised.

        Raises:
            TypeError: It is a coroutine function, which would never be awaited.
        """
        said = self.function(*(arguments[name] for name in self.argument_names))
        if inspect.iscoroutine(said):
            said.close()
            raise TypeError(f"{self.hook} is called without an event loop; make it a plain def")
