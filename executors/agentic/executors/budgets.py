"""The shared budget of hosts, so that all workers together keep to the limit of a single one."""

from __future__ import annotations

from functools import lru_cache

from agentic.core.http import AccountBudget, HostBudget, HttpPolicy, open_budget
from agentic.core.http.politeness.budget import is_shareable
from agentic.core.logging import get_logger
from agentic.core.settings import Settings, safe_url
from agentic.executors.workers.celery_config import broker_in_use

log = get_logger(__name__)


def shared_budget(settings: Settings) -> HostBudget:
    """Return the budget that all workers share: at its own URL, else at the broker's.

    If neither is a Redis or Valkey server, it is this process's own, which is logged once.
    """
    url = settings.budget or broker_in_use(settings)
    if url and not is_shareable(url):
        _tell_unshared(safe_url(url))
    return open_budget(url)


def own_turns(budget: HostBudget, project_id: str, policy: HttpPolicy, account: str) -> HostBudget:
    """Return the turns of a project: its own where a service or a proxy decides, else the shared ones.

    Args:
        budget: The budget that all workers share.
        project_id: The project that sends requests.
        policy: May name a proxy.
        account: The account, where a service counts by account; else "".
    """
    if account:
        return AccountBudget(budget, f"{project_id}/{account}")
    return AccountBudget(budget, project_id) if policy.proxy else budget


@lru_cache
def _tell_unshared(url: str) -> None:
    log.warning("budget.unshared", url=url, advice="set AGENTIC_BUDGET_URL to a Redis or Valkey server")
