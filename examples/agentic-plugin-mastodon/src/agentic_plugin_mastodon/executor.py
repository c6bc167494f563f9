"""What a run does: read a timeline from its newest status back to where the last run began."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from agentic.core.graph import Executor, RetryPolicy, Workflow, WorkflowBuilder, handler
from agentic.core.http import FetchError, JsonApi
from agentic.executors.api import ApiAgentExecutor
from agentic.executors.base import AgentWork
from agentic.executors.errors import may_pass

from agentic_plugin_mastodon.client import MastodonClient
from agentic_plugin_mastodon.errors import TimelineRefusedError
from agentic_plugin_mastodon.items import Found, Timeline
from agentic_plugin_mastodon.settings import MastodonSettings

if TYPE_CHECKING:
    from agentic.executors.project_http import ProjectHttp

HEADERS = {"accept": "application/json"}
TRIES = RetryPolicy(
    # Limits are counted in windows of five minutes. While one is over, no worker waits for its end.
    max_attempts=5,
    first_delay_s=0.5,
    backoff=4.0,
    max_delay_s=600,
    retry_on=(FetchError,),
)


class ReadTimeline(Executor):
    """Reads a timeline.

    Args:
        client: Of the instance.
        secret: Name of the secret that holds the token, for messages.
    """

    def __init__(self, client: MastodonClient, secret: str | None) -> None:
        super().__init__("read_timeline", retry=TRIES)
        self._client = client
        self._secret = secret

    @handler
    async def read(self, timeline: Timeline) -> Found:
        """Read what is new.

        Raises:
            FetchError: It may well work a little later.
            TimelineRefusedError: It will not.
        """
        try:
            return await self._client.read(timeline)
        except FetchError as exc:
            if may_pass(exc):
                raise
            raise TimelineRefusedError(exc, timeline.instance, self._secret) from exc


def timeline_workflow(client: MastodonClient, secret: str | None) -> Workflow:
    """Return the graph; it takes a :class:`Timeline` and yields :class:`Found`."""
    return WorkflowBuilder("mastodon", version="1").set_start(ReadTimeline(client, secret)).build()


class MastodonExecutor(ApiAgentExecutor):
    """Watches a timeline; config: :class:`MastodonSettings`."""

    def settings(self) -> MastodonSettings:
        """Return the agent's config."""
        return self.read_config(MastodonSettings)

    def account(self) -> str:
        """Return the name of the token: instances count by account, and without one by address."""
        secret = self.settings().secret
        return f"mastodon/{secret}" if secret else ""

    def create_initial_state(self) -> dict[str, object]:
        """Return the agent's name and goals, and what it reads: from where the last run got to."""
        settings = self.settings()
        timeline = settings.timeline()
        if settings.only_new:
            timeline = timeline.model_copy(update={"since_id": self._newest_id(timeline.key)})
        return {
            "agent_name": self.agent.agent_name,
            "goals": self.goals,
            "timeline": timeline.model_dump(mode="json"),
        }

    def graph(self, http: ProjectHttp) -> AgentWork:
        """Return the graph; ``statuses`` are stored, ``warnings`` are told."""
        settings = self.settings()
        api = JsonApi("Mastodon", settings.base_url, lambda: nullcontext(http.fetcher), HEADERS)
        client = MastodonClient(api, settings.secret, http.secrets.secret)
        return AgentWork(
            workflow=timeline_workflow(client, settings.secret),
            message_of=lambda state: Timeline.model_validate(state["timeline"]),
            results_of=lambda found: Found.model_dump(found, mode="json"),
        )

    def _newest_id(self, key: str) -> str | None:
        from agentic_plugin_mastodon.models import MastodonTimelineModel

        known = {"project_id": self.agent.project_id, "timeline": key}
        row = self.db_session.get(MastodonTimelineModel, known)
        return row.newest_id if row is not None else None
