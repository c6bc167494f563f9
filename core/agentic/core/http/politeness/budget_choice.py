"""Opens the budget for a URL: of this process, or of all workers."""

from __future__ import annotations

from agentic.core.http.politeness.budget import PROCESS_BUDGET, HostBudget, is_shareable


def open_budget(url: str | None = None) -> HostBudget:
    """Return the budget kept in the server at ``url``, or this process's own if that is not Redis.

    It connects at the first turn.

    Args:
        url: ``redis://``, ``rediss://`` or ``unix://``, such as Celery's broker URL; a Valkey server works,
            too. Other URLs and None mean this process's own.
    """
    if url is None or not is_shareable(url):
        return PROCESS_BUDGET
    from agentic.core.http.politeness.redis_budget import RedisBudget

    return RedisBudget(url)
