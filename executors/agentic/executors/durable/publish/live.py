"""Publishes events that are not stored, such as progress and log lines: at once, or not at all."""

from __future__ import annotations

from collections.abc import Callable

from agentic.core.bus import EventBus, EventPublisher
from agentic.core.graph.model.events import WorkflowEvent


class LiveEvents:
    """Publishes the live events of this process, project by project; durable ones go through the outbox.

    Args:
        bus_of: Returns the bus for the events of a project; it stays open.
        grace_s: How long closing waits for unsent events.
    """

    def __init__(self, bus_of: Callable[[str], EventBus], grace_s: float = 3.0) -> None:
        self._bus_of = bus_of
        self._grace_s = grace_s
        self._publishers: dict[str, EventPublisher] = {}

    def tell(self, project: str, event: WorkflowEvent) -> None:
        """Publish an event if it is live; called on the event loop."""
        if event.sequence is not None:
            return
        publisher = self._publishers.get(project)
        if publisher is None:
            publisher = self._publishers[project] = EventPublisher(self._bus_of(project), project)
        publisher.offer(event)

    async def aclose(self) -> None:
        """Send the waiting events."""
        for publisher in self._publishers.values():
            await publisher.close(self._grace_s)
