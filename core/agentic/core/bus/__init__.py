"""Carries events to their readers: one interface, in this process or over NATS.

The stream ``AGENTIC_EVENTS`` keeps every event, ``AGENTIC_AUDIT`` every decision. Publishing never delays a
run: :class:`EventPublisher` queues events, and its own task stores them. ``NatsBus`` is in
:mod:`agentic.core.bus.nats.bus`, which loads the client library; :func:`open_bus` does so only when a server
is configured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.lazily import loaded

if TYPE_CHECKING:
    from agentic.core.bus.decisions import PublishedDecision
    from agentic.core.bus.envelope import PublishedEvent
    from agentic.core.bus.errors import (
        AnswerRefusedError,
        BusAccessError,
        BusDeniedError,
        BusError,
        BusUnavailableError,
        CorruptValueError,
        IllegalKeyError,
        KeyConflictError,
        MessageTooLargeError,
        NatsNotConfiguredError,
        NoAnswerError,
        NobodyListensError,
        StreamFullError,
    )
    from agentic.core.bus.kv import KeyChange, KeyEntry, KeyValue, KeyWrite
    from agentic.core.bus.leases import KeyLease
    from agentic.core.bus.listening import Listener, Message
    from agentic.core.bus.memory.bus import MemoryBus
    from agentic.core.bus.memory.kv import MemoryKeyValue
    from agentic.core.bus.nats.access import NatsAccess
    from agentic.core.bus.opening import Buses, open_bus, open_buses
    from agentic.core.bus.port import Bus, BusMessage, EventBus, StoredMessage, StreamState
    from agentic.core.bus.projections.buckets import learnt_patterns, live_state
    from agentic.core.bus.publisher import EventPublisher
    from agentic.core.bus.questions import OpenQuestion, Question, ask, open_questions
    from agentic.core.bus.reader import EventFilter, read_events, tail_events
    from agentic.core.bus.requests import request
    from agentic.core.bus.subjects import parse_token, subject_for, token

__all__ = [
    "AnswerRefusedError",
    "Bus",
    "BusAccessError",
    "BusDeniedError",
    "BusError",
    "BusMessage",
    "BusUnavailableError",
    "Buses",
    "CorruptValueError",
    "EventBus",
    "EventFilter",
    "EventPublisher",
    "IllegalKeyError",
    "KeyChange",
    "KeyConflictError",
    "KeyEntry",
    "KeyLease",
    "KeyValue",
    "KeyWrite",
    "Listener",
    "MemoryBus",
    "MemoryKeyValue",
    "Message",
    "MessageTooLargeError",
    "NatsAccess",
    "NatsNotConfiguredError",
    "NoAnswerError",
    "NobodyListensError",
    "OpenQuestion",
    "PublishedDecision",
    "PublishedEvent",
    "Question",
    "StoredMessage",
    "StreamFullError",
    "StreamState",
    "ask",
    "learnt_patterns",
    "live_state",
    "open_bus",
    "open_buses",
    "open_questions",
    "parse_token",
    "read_events",
    "request",
    "subject_for",
    "tail_events",
    "token",
]

_HOMES = {
    "AnswerRefusedError": "errors",
    "Bus": "port",
    "BusAccessError": "errors",
    "BusDeniedError": "errors",
    "BusError": "errors",
    "BusMessage": "port",
    "BusUnavailableError": "errors",
    "Buses": "opening",
    "CorruptValueError": "errors",
    "EventBus": "port",
    "EventFilter": "reader",
    "EventPublisher": "publisher",
    "IllegalKeyError": "errors",
    "KeyChange": "kv",
    "KeyConflictError": "errors",
    "KeyEntry": "kv",
    "KeyValue": "kv",
    "KeyWrite": "kv",
    "KeyLease": "leases",
    "Listener": "listening",
    "MemoryBus": "memory.bus",
    "MemoryKeyValue": "memory.kv",
    "Message": "listening",
    "MessageTooLargeError": "errors",
    "NatsAccess": "nats.access",
    "NatsNotConfiguredError": "errors",
    "NoAnswerError": "errors",
    "NobodyListensError": "errors",
    "OpenQuestion": "questions",
    "PublishedDecision": "decisions",
    "PublishedEvent": "envelope",
    "Question": "questions",
    "StoredMessage": "port",
    "StreamFullError": "errors",
    "StreamState": "port",
    "ask": "questions",
    "learnt_patterns": "projections.buckets",
    "live_state": "projections.buckets",
    "open_bus": "opening",
    "open_buses": "opening",
    "open_questions": "questions",
    "parse_token": "subjects",
    "read_events": "reader",
    "request": "requests",
    "subject_for": "subjects",
    "tail_events": "reader",
    "token": "subjects",
}


def __getattr__(name: str) -> object:
    # Loaded at the first use of a name: loading all modules would delay every command.
    return loaded(__name__, _HOMES, name)
