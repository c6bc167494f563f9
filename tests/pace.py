"""Times that are as long for a busy machine as others are for a quiet one."""

from __future__ import annotations

import os


def slowed(seconds: float) -> float:
    """Return a time multiplied by the number of processes that have waited for each core in the last minute.

    For leases: a worker that a busy machine holds up for longer loses its claims, which a test may not want.
    """
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def short_leases(seconds: float, sweep_s: float = 0.3) -> dict[str, str]:
    """Return settings of a worker: how long claims outlive it, and how often it looks for such claims."""
    return {"AGENTIC_LEASE_S": f"{slowed(seconds):g}", "AGENTIC_SWEEP_S": f"{sweep_s:g}"}
