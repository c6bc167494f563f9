"""HTTP for the agents of a project: turns that all workers share, answers and secrets out of its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic.core.http import Fetcher, HttpPolicy, SharedTransport
from agentic.core.http.failures import Verdict, failure_of
from agentic.core.settings import Settings
from agentic.executors.budgets import own_turns, shared_budget
from agentic.mappers.crawl.http_cache import SqlHttpCache
from agentic.mappers.vault.keys import SecretKeys
from agentic.mappers.vault.vault import SqlSecrets

if TYPE_CHECKING:
    from agentic.core.http import ResourceOf
    from agentic.mappers import Database


class ProjectHttp:
    """A fetcher of one project, and what it is made of.

    Attributes:
        keys: What secrets are encrypted with.
        secrets: Of the project.
        fetcher: Keeps to the limits of hosts together with all workers that share the budget.

    Args:
        database: Has what the project keeps.
        project_id: Owns it.
        policy: Manners and limits of requests.
        settings: Of this process.
        account: Who asks, where a service counts by account: a name that is no secret. Without one, limits
            are those of the host.
        verdict: Tells which answers are failures.
        resource_of: Which part of a host a URL is of, where the host keeps a limit for each.
    """

    def __init__(  # noqa: PLR0913 - who asks, and by which rules
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
        self._transport = SharedTransport(policy, secret=self.secrets.secret)
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
        """Close what is open."""
        await self._transport.aclose()
        await self._budget.aclose()
