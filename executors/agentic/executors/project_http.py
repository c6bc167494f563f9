"""HTTP for a project's agents: turns shared by all workers, stored responses and secrets."""

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
    """A fetcher of one project, and its parts.

    Attributes:
        keys: The encryption keys of the secrets.
        secrets: The project's secrets.
        fetcher: Keeps to the limits of hosts together with all workers that share the budget.

    Args:
        database: Holds the project's data.
        project_id: Owns it.
        policy: Manners and limits of requests.
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
        """Close all open resources."""
        await self._transport.aclose()
        await self._budget.aclose()
