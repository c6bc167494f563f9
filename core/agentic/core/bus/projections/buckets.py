"""The buckets derived from events: their names, and how long they keep values."""

from __future__ import annotations

from agentic.core.bus.kv import KeyValue
from agentic.core.bus.port import Bus

_STATE_KEPT_S = 7 * 86_400.0


def live_state(bus: Bus, project: str) -> KeyValue:
    """Return the bucket ``AGENTIC_STATE`` of a project: the state of its runs, for seven days after a change.

    ``agentic reconcile --every`` updates it, about half a second after the events; each worker starts it.
    """
    return bus.bucket("AGENTIC_STATE", project=project, ttl_s=_STATE_KEPT_S)


def learnt_patterns(bus: Bus, project: str) -> KeyValue:
    """Return the bucket ``AGENTIC_PATTERNS`` of a project: knowledge about its executors over all runs."""
    return bus.bucket("AGENTIC_PATTERNS", project=project)
