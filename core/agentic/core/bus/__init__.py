"""Carries what happens to whoever wants to know: one interface, in this process or over NATS.

The stream ``AGENTIC_EVENTS`` keeps every event. Publishing never holds a run up: :class:`EventPublisher`
queues, a task of its own stores. ``NatsBus`` is in :mod:`agentic.core.bus.nats_bus`, which loads the client
library; :func:`open_bus` does so only when a server is configured.
"""

from agentic.core.bus.envelope import PublishedEvent
from agentic.core.bus.errors import (
    BusError,
    BusUnavailableError,
    MessageTooLargeError,
    NatsNotConfiguredError,
)
from agentic.core.bus.memory import MemoryBus
from agentic.core.bus.opening import open_bus
from agentic.core.bus.port import BusMessage, EventBus, StoredMessage, StreamState
from agentic.core.bus.publisher import EventPublisher
from agentic.core.bus.reader import EventFilter, read_events, tail_events
from agentic.core.bus.subjects import parse_token, subject_for, token

__all__ = [
    "BusError",
    "BusMessage",
    "BusUnavailableError",
    "EventBus",
    "EventFilter",
    "EventPublisher",
    "MemoryBus",
    "MessageTooLargeError",
    "NatsNotConfiguredError",
    "PublishedEvent",
    "StoredMessage",
    "StreamState",
    "open_bus",
    "parse_token",
    "read_events",
    "subject_for",
    "tail_events",
    "token",
]
