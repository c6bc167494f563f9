"""What the API says, typed, and what is asked of it.

https://docs.joinmastodon.org/entities/Status describes it. Other servers speak it, too, and leave things out:
only what makes a row one is demanded.
"""

from __future__ import annotations

from urllib.parse import urlencode

from agentic.core.types import JSONValue
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

Answer = dict[str, JSONValue]
"""A status as it came. Whether it is one shows when it is stored: a bad one costs no other."""


class Timeline(BaseModel):
    """What a run reads.

    Attributes:
        instance: Host that is asked.
        place: Path below ``/api/v1``; of an account, with its name in place of the id.
        account: Set if it is an account's.
        options: Sent along with each request.
        limit: No more are read.
        since_id: Only what is newer; ids are made so that newer ones are greater.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    instance: str
    place: str
    account: str | None = None
    options: dict[str, str] = Field(default_factory=dict)
    limit: int
    since_id: str | None = None

    @property
    def key(self) -> str:
        """A name under which it is remembered how far it was read."""
        query = f"?{urlencode(sorted(self.options.items()))}" if self.options else ""
        return f"{self.instance}/{self.place}{query}"


class Found(BaseModel):
    """What was read, newest first.

    Attributes:
        timeline: Key of the timeline.
        instance: Host that was asked.
        newest_id: How far it is read now; None if nothing was ever there.
        statuses: As they came.
        warnings: A sentence for each thing that was not read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeline: str
    instance: str
    newest_id: str | None = None
    statuses: tuple[Answer, ...] = ()
    warnings: tuple[str, ...] = ()


class _Said(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Account(_Said):
    """Whose a status is; ``acct`` is a bare name for accounts of the instance itself."""

    acct: str


class Tag(_Said):
    """A tag of a status."""

    name: str


class Status(_Said):
    """A status; with ``reblog``, a boost of another one."""

    id: str = Field(min_length=1)
    uri: str = Field(min_length=1)
    account: Account
    created_at: AwareDatetime
    edited_at: AwareDatetime | None = None
    content: str | None = None
    spoiler_text: str | None = None
    sensitive: bool | None = None
    language: str | None = None
    visibility: str | None = None
    url: str | None = None
    in_reply_to_id: str | None = None
    replies_count: int | None = None
    reblogs_count: int | None = None
    favourites_count: int | None = None
    tags: list[Tag] | None = None
    reblog: Status | None = None


def order(status_id: str) -> tuple[int, str]:
    """Return what ids are compared by: they are numbers, or words of one length that sort as they are."""
    return len(status_id), status_id
