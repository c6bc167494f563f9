"""Gives durable runs the history of other runs from the bus, if there is one."""

from __future__ import annotations

from collections.abc import Callable

from agentic.core.bus import Bus, BusError
from agentic.core.bus.projections.buckets import learnt_patterns
from agentic.core.bus.projections.patterns import KvHistory
from agentic.core.graph.model.history import ExecutorHistory
from agentic.core.logging import get_logger
from agentic.core.types import ExecutorId

log = get_logger(__name__)


class ProjectHistory:
    """Looks up past runs of a project; implements :class:`~agentic.core.graph.HistorySource`.

    When the bus is unavailable, no run fails: the history is empty, and the log says so.

    Args:
        bus_of: Returns the bus of a project, or None.
        project: Name of the project.
    """

    def __init__(self, bus_of: Callable[[str], Bus | None], project: str) -> None:
        self._bus_of = bus_of
        self._project = project

    async def history(self, executor_id: ExecutorId) -> ExecutorHistory:
        """Return the known history of an executor, which may be empty."""
        bus = self._bus_of(self._project)
        if bus is None:
            return ExecutorHistory()
        try:
            return await KvHistory(learnt_patterns(bus, self._project)).history(executor_id)
        except BusError as exc:
            log.warning("history.unavailable", executor_id=executor_id, reason=str(exc))
            return ExecutorHistory()
