"""HTTP for a project's agents: turns shared by all workers, stored responses and secrets."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from agentic.core.http import AccountBudget, Fetcher, HostBudget, HttpPolicy, SharedTransport, open_budget
from agentic.core.http.exits.pool import Exits
from agentic.core.http.failures import Verdict, failure_of
from agentic.core.http.politeness.budget import is_shareable
from agentic.core.logging import get_logger
from agentic.core.settings import Settings, safe_url
from agentic.executors.workers.celery_config import broker_in_use
from agentic.mappers.crawl.http_cache import SqlHttpCache
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import SqlSecrets

if TYPE_CHECKING:
    from agentic.core.http import ResourceOf
    from agentic.mappers import Database


class ProjectHttp:
    """A fetcher of one project, and its parts.

    Attributes:
        keys: The encryption keys of the secrets.
        secrets: The project's secrets.
        fetcher: Keeps to the limits of hosts together with all workers that share the budget.

    Args:
        database: Holds the project's data.
        project_id: Owns it.
        policy: Politeness and limits of requests.
        settings: The settings of this process.
        account: Who asks, where a service counts by account: a name, not a secret. Without one, the limits
            of the host apply.
        verdict: Decides which responses are failures.
        resource_of: Returns a URL's part of the host, where each part has its own limit.
    """

    def __init__(  # noqa: PLR0913 - the client, and its rules
        self,
        database: Database,
        project_id: str,
        policy: HttpPolicy,
        settings: Settings,
        *,
        account: str = "",
        verdict: Verdict = failure_of,
        resource_of: ResourceOf | None = None,
    ) -> None:
        self.keys = SecretKeys.configured(settings)
        self.secrets = SqlSecrets(database, project_id, self.keys)
        self._transport = (
            Exits(policy, secret=self.secrets.secret)
            if policy.proxies
            else SharedTransport(policy, secret=self.secrets.secret)
        )
        self._budget = shared_budget(settings)
        self.fetcher = Fetcher(
            policy,
            self._transport,
            budget=own_turns(self._budget, project_id, policy, account),
            cache=SqlHttpCache(database, project_id=project_id),
            verdict=verdict,
            resource_of=resource_of,
        )

    async def aclose(self) -> None:
        """Close all open resources."""
        await self._transport.aclose()
        await self._budget.aclose()


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
        policy: May name proxies.
        account: The account, where a service counts by account; else "".
    """
    if account:
        return AccountBudget(budget, f"{project_id}/{account}")
    return AccountBudget(budget, project_id) if policy.proxy or policy.proxies else budget


@lru_cache
def _tell_unshared(url: str) -> None:
    log.warning("budget.unshared", url=url, advice="set AGENTIC_BUDGET_URL to a Redis or Valkey server")
