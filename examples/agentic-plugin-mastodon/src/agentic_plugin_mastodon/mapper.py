"""Stores statuses, and how far their timeline was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentic.mappers import ResultMapper, upsert, value_or_cleared

from agentic_plugin_mastodon.items import Account, Found, Status
from agentic_plugin_mastodon.models import MastodonStatusModel, MastodonTimelineModel

VOLATILE = ("instance", "id", "in_reply_to_id", "replies", "reblogs", "favourites")
"""What differs between instances, and what goes up all the time: no status is another one for it."""


class MastodonMapper(ResultMapper):
    """Upserts by uri: what an answer leaves out stays as it was stored.

    How far a timeline was read is written in the same transaction, so that nothing is lost between two runs.
    """

    def save_results(self, results: Mapping[str, object]) -> bool:
        """Store the statuses; a bad one is a warning, as is each of ``warnings``."""
        if not self.save_agent_result(results):
            return False
        found = Found.model_validate({name: results[name] for name in Found.model_fields})
        for sentence in found.warnings:
            self.warn(sentence)
        statuses = self.accepted(Status, found.statuses, "status")
        rows = (row for status in statuses for row in rows_of(status, found.instance))
        self.save_rows(MastodonStatusModel, rows, volatile=VOLATILE)
        if found.newest_id is not None:
            self._save_timeline(found.timeline, found.newest_id)
        return True

    def _save_timeline(self, timeline: str, newest_id: str) -> None:
        """Store it past ``save_rows``: it is no row that anybody counts."""
        row = {
            "project_id": self.agent.project_id,
            "agent_id": self.agent.id,
            "execution_id": self.execution_id,
            "timeline": timeline,
            "newest_id": newest_id,
        }
        upsert(
            self.db_session,
            MastodonTimelineModel,
            [row],
            key=("project_id", "timeline"),
            warn=self.warn,
        )


def rows_of(status: Status, instance: str) -> Iterator[dict[str, object]]:
    """Yield the row of a status; of a boost, that of what is boosted, too."""
    yield row_of(status, instance)
    if status.reblog is not None:
        yield row_of(status.reblog, instance)


def row_of(status: Status, instance: str) -> dict[str, object]:
    """Return the columns that a status fills; None stands for what the instance did not say."""
    return {
        "uri": status.uri,
        "instance": instance,
        "id": status.id,
        "account": _address(status.account, instance),
        "created_at": status.created_at,
        "edited_at": status.edited_at,
        "content": status.content,
        "spoiler_text": status.spoiler_text,
        "sensitive": status.sensitive,
        "language": value_or_cleared(status, "language", status.language),
        "visibility": status.visibility,
        "url": value_or_cleared(status, "url", status.url),
        "in_reply_to_id": status.in_reply_to_id,
        "reblog_of_uri": status.reblog.uri if status.reblog else None,
        "tags": None if status.tags is None else [tag.name for tag in status.tags],
        "replies": status.replies_count,
        "reblogs": status.reblogs_count,
        "favourites": status.favourites_count,
        "raw": status.model_dump(mode="json", exclude_unset=True, exclude={"reblog"}),
    }


def _address(account: Account, instance: str) -> str:
    return account.acct if "@" in account.acct else f"{account.acct}@{instance}"
