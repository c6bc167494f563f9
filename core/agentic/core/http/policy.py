"""How politely and how cautiously to fetch."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveFloat, PositiveInt, field_validator

from agentic.core.settings import load_settings


class HttpPolicy(BaseModel):
    """Limits and manners of a :class:`~agentic.core.http.Fetcher`.

    Private, loopback, link-local and multicast addresses are refused on every hop, whatever name leads to
    them, unless ``allow_private_hosts`` names the host as it stands in the URL.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    user_agent: str = Field(
        default_factory=lambda: load_settings().user_agent,
        pattern=r"^[\x20-\x7e]+$",
        description="Sent with every request and looked up in robots.txt.",
    )
    timeout_s: PositiveFloat = Field(
        default=30, description="For one fetch over all its redirects, waiting apart."
    )
    max_bytes: PositiveInt = Field(default=10 * 1024 * 1024, description="Largest body, after decompression.")
    max_redirects: NonNegativeInt = 10
    allow_private_hosts: tuple[str, ...] = Field(default=(), description='"host" (any port) or "host:port".')
    obey_robots: bool = True
    requests_per_second: PositiveFloat | None = Field(
        default=None, description="Per host; None: no limit of ours."
    )
    max_connections_per_host: PositiveInt = 16
    max_wait_s: PositiveFloat = Field(
        default=120,
        description="Longest wait a host's Retry-After may ask for; beyond it a fetch fails at once.",
    )

    @field_validator("allow_private_hosts")
    @classmethod
    def _plain_hosts(cls, entries: tuple[str, ...]) -> tuple[str, ...]:
        for entry in entries:
            if not entry or any(mark in entry for mark in "/@?# "):
                raise ValueError(f"{entry!r} is no host; write it as 'localhost' or '127.0.0.1:8000'")
        return tuple(entry.lower() for entry in entries)
