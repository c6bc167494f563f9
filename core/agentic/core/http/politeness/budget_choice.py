"""The budget that a URL names: of this process, or of all workers."""

from __future__ import annotations

from agentic.core.http.politeness.budget import PROCESS_BUDGET, HostBudget, is_shareable


def open_budget(url: str | None = None) -> HostBudget:
    """Return the budget kept in the server at ``url``, or this process's own if that is no Redis.

    Nothing is connected before the first turn is wanted.

    Args:
        url: ``redis://``, ``rediss://`` or ``unix://``, as Celery's broker URL may be; a Valkey server serves
            as well. Other URLs and None mean this process's own.
    """
    if url is None or not is_shareable(url):
        return PROCESS_BUDGET
    from agentic.core.http.politeness.redis_budget import RedisBudget

    return RedisBudget(url)
