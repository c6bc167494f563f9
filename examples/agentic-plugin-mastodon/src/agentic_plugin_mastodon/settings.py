"""What an agent of this platform can be told."""

from __future__ import annotations

from typing import Self
from urllib.parse import quote, urlsplit

from agentic.core.http import ApiSettings
from pydantic import Field, model_validator

from agentic_plugin_mastodon.items import Timeline

MAX_STATUSES = 4_000


class MastodonSettings(ApiSettings):
    """The config of an agent: it watches a ``tag``, or an ``account``, or else the public timeline."""

    base_url: str = Field(
        pattern=r"^https?://[^\s/?#@]+/?$", description="URL of the instance: https://mastodon.social."
    )
    tag: str | None = Field(default=None, pattern=r"^[^\s#/?&]+$", description="Tag without #.")
    account: str | None = Field(
        default=None, pattern=r"^[^\s@/?&]+(@[^\s@/?&]+)?$", description="Account: name, or name@host."
    )
    local: bool = Field(default=False, description="Only statuses written on the instance itself.")
    replies: bool = Field(default=True, description="Also read replies of an account.")
    reblogs: bool = Field(default=True, description="Also read boosts of an account.")
    only_new: bool = Field(
        default=True,
        description="Read new statuses only. False reads the newest again, for edits and counts.",
    )
    limit: int = Field(default=200, ge=1, le=MAX_STATUSES, description="Statuses per run, newest first.")
    token: str | None = Field(
        default=None,
        pattern=r"^\$\{secrets\.[A-Za-z_][A-Za-z0-9_-]*\}$",
        description="Token as ${secrets.NAME}, never the token itself; many instances need none.",
    )

    @property
    def instance(self) -> str:
        """Host of the instance."""
        return urlsplit(self.base_url).netloc.lower()

    @property
    def secret(self) -> str | None:
        """Name of the secret that holds the token."""
        return self.token.removeprefix("${secrets.").removesuffix("}") if self.token else None

    def timeline(self) -> Timeline:
        """Return what is to be read."""
        if self.account is not None:
            unwanted = {"exclude_replies": not self.replies, "exclude_reblogs": not self.reblogs}
            place = f"accounts/{self.account.lower()}"
        else:
            unwanted = {"local": self.local}
            place = f"timelines/tag/{quote(self.tag.lower())}" if self.tag else "timelines/public"
        options = {name: "true" for name, is_set in unwanted.items() if is_set}
        return Timeline(
            instance=self.instance, place=place, account=self.account, options=options, limit=self.limit
        )

    @model_validator(mode="after")
    def _watches_one_thing(self) -> Self:
        if self.tag is not None and self.account is not None:
            raise ValueError("give a tag or an account, not both: make an agent for each")
        if self.account is not None and self.local:
            raise ValueError("local is for tags and the public timeline, not for an account")
        if self.account is None and not (self.replies and self.reblogs):
            raise ValueError("replies and reblogs are for an account; a timeline cannot filter them")
        return self
