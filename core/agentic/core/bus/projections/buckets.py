"""The buckets that follow from events: what they are called, and how long they keep what."""

from __future__ import annotations

from agentic.core.bus.kv import KeyValue
from agentic.core.bus.port import Bus

_STATE_KEPT_S = 7 * 86_400.0


def live_state(bus: Bus, project: str) -> KeyValue:
    """Return the bucket ``AGENTIC_STATE`` of a project: where its runs stand, for seven days after a change.

    ``agentic reconcile --every`` keeps it, which each worker starts: about half a second behind the events.
    """
    return bus.bucket("AGENTIC_STATE", project=project, ttl_s=_STATE_KEPT_S)


def learnt_patterns(bus: Bus, project: str) -> KeyValue:
    """Return the bucket ``AGENTIC_PATTERNS`` of a project: what is known of its executors over all runs."""
    return bus.bucket("AGENTIC_PATTERNS", project=project)
